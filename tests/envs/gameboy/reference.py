"""The processor by its definition, an instruction at a time: flags from sums of digits, a machine cycle per access."""

from __future__ import annotations

from typing import Any

Number = Any  # an integer, or an array of them


def alu(which: int, a: Number, b: Number, carry: Number) -> tuple[Number, ...]:
    """Return the result of ADD, ADC, SUB, SBC, AND, XOR, OR or CP, and Z, N, H and C."""
    carried = carry if which in {1, 3} else 0
    if which < 2:
        found, half, over = a + b + carried, (a & 15) + (b & 15) + carried > 15, a + b + carried > 255
    elif which in {2, 3, 7}:
        found, half, over = a - b - carried, (a & 15) < (b & 15) + carried, a < b + carried
    else:
        found, half, over = (a & b, a ^ b, a | b)[which - 4], which == 4, False
    return found % 256, found % 256 == 0, which in {2, 3, 7}, half, over


def shift(which: int, value: int, carry: int) -> tuple[int, int]:
    """Return the result of RLC, RRC, RL, RR, SLA, SRA, SWAP or SRL, and the bit that falls out."""
    bits = f"{value:08b}"
    into = {0: bits[0], 1: bits[7], 2: str(carry), 3: str(carry), 4: "0", 5: bits[0], 7: "0"}
    if which == 6:
        return int(bits[4:] + bits[:4], 2), 0
    if which in {0, 2, 4}:
        return int(bits[1:] + into[which], 2), int(bits[0])
    return int(into[which] + bits[:7], 2), int(bits[7])


class Processor:
    """A processor with 64 KiB of RAM.

    Attributes:
        r: The registers by name; the flags are `Z`, `N`, `H` and `C`.
        log: Time, address, value and whether it was written, of each access.
        time: T-cycles since the instruction began.
    """

    def __init__(self, registers: dict[str, int], memory: Any) -> None:
        self.r, self.memory = dict(registers), memory
        self.log: list[tuple[int, int, int, int]] = []
        self.time = 0

    def idle(self) -> None:
        """Let a machine cycle pass."""
        self.time += 4

    def read(self, address: int) -> int:
        """Read in a machine cycle."""
        self.idle()
        self.log.append((self.time, address, int(self.memory[address]), 0))
        return int(self.memory[address])

    def write(self, address: int, value: int) -> None:
        """Write in a machine cycle."""
        self.idle()
        self.log.append((self.time, address, value, 1))
        self.memory[address] = value

    def byte(self) -> int:
        """Read the next byte of the code."""
        value = self.read(self.r["pc"])
        self.r["pc"] = (self.r["pc"] + 1) % 65536
        return value

    def word(self) -> int:
        """Read the next two bytes of the code."""
        return self.byte() + 256 * self.byte()

    def pair(self, name: str) -> int:
        """Return SP or two registers as one number."""
        if name == "af":
            return 256 * self.r["a"] + sum(self.r[flag] << 7 - place for place, flag in enumerate("ZNHC"))
        return self.r["sp"] if name == "sp" else 256 * self.r[name[0]] + self.r[name[1]]

    def set_pair(self, name: str, value: int) -> None:
        """Set SP or two registers."""
        high, low = divmod(value % 65536, 256)
        if name == "sp":
            self.r["sp"] = value % 65536
        elif name == "af":
            self.r |= {"a": high} | {flag: low >> 7 - place & 1 for place, flag in enumerate("ZNHC")}
        else:
            self.r[name[0]], self.r[name[1]] = high, low

    def get(self, number: int) -> int:
        """Return a register, or the byte at HL."""
        return self.read(self.pair("hl")) if number == 6 else self.r["bcdehl?a"[number]]

    def put(self, number: int, value: int) -> None:
        """Set a register, or the byte at HL."""
        if number == 6:
            self.write(self.pair("hl"), value)
        else:
            self.r["bcdehl?a"[number]] = value

    def flags(self, *, z: Any = None, n: Any = None, h: Any = None, c: Any = None) -> None:
        """Set the flags that are given."""
        for name, value in (("Z", z), ("N", n), ("H", h), ("C", c)):
            if value is not None:
                self.r[name] = int(value)

    def push(self, value: int) -> None:
        """Push two bytes, the high one first."""
        for part in divmod(value, 256):
            self.r["sp"] = (self.r["sp"] - 1) % 65536
            self.write(self.r["sp"], part)

    def pop(self) -> int:
        """Pop two bytes."""
        found = 0
        for factor in (1, 256):
            found += factor * self.read(self.r["sp"])
            self.r["sp"] = (self.r["sp"] + 1) % 65536
        return found

    def run(self) -> None:
        """Run an instruction."""
        code = self.byte()
        x, y, z = code >> 6, (code >> 3) & 7, code & 7
        if code == 0xCB:
            self.prefixed(self.byte())
        elif x == 1:
            self.put(y, self.get(z))
        elif x == 2 or (x == 3 and z == 6):
            self.calculate(y, self.get(z) if x == 2 else self.byte())
        elif x == 0:
            self.low(code, y, z)
        else:
            self.high(code, y, z)

    def calculate(self, which: int, b: int) -> None:
        """Run ADD, ADC, SUB, SBC, AND, XOR, OR or CP."""
        found, z, n, h, c = alu(which, self.r["a"], b, self.r["C"])
        self.flags(z=z, n=n, h=h, c=c)
        self.r["a"] = self.r["a"] if which == 7 else found

    def prefixed(self, code: int) -> None:
        """Run an operation after the prefix CB."""
        kind, number, place = code >> 6, (code >> 3) & 7, code & 7
        value = self.get(place)
        if kind == 0:
            found, out = shift(number, value, self.r["C"])
            self.flags(z=found == 0, n=0, h=0, c=out)
            self.put(place, found)
        elif kind == 1:
            self.flags(z=value // 2**number % 2 == 0, n=0, h=1)
        else:
            without = value - value // 2**number % 2 * 2**number
            self.put(place, without if kind == 2 else without + 2**number)

    def low(self, code: int, y: int, z: int) -> None:
        """Run a code below 40."""
        pair = ("bc", "de", "hl", "sp")[y // 2]
        if z == 0 and y >= 3:
            offset = self.byte()
            if y == 3 or self.holds(y - 4):
                self.idle()
                self.r["pc"] = (self.r["pc"] + offset - 256 * (offset > 127)) % 65536
        elif code == 0x08:
            at, sp = self.word(), self.r["sp"]
            self.write(at, sp % 256)
            self.write((at + 1) % 65536, sp // 256)
        elif z == 1 and y % 2 == 0:
            self.set_pair(pair, self.word())
        elif z == 1:
            self.idle()
            a, b = self.pair("hl"), self.pair(pair)
            self.flags(n=0, h=a % 4096 + b % 4096 > 4095, c=a + b > 65535)
            self.set_pair("hl", a + b)
        elif z == 2:
            at = self.pair(("bc", "de", "hl", "hl")[y // 2])
            if y % 2:
                self.r["a"] = self.read(at)
            else:
                self.write(at, self.r["a"])
            if y >= 4:
                self.set_pair("hl", at + (1 if y < 6 else -1))
        elif z == 3:
            self.idle()
            self.set_pair(pair, self.pair(pair) + (-1 if y % 2 else 1))
        elif z in {4, 5}:
            found, zero, n, h, _ = alu(0 if z == 4 else 2, self.get(y), 1, 0)
            self.flags(z=zero, n=n, h=h)
            self.put(y, found)
        elif z == 6:
            self.put(y, self.byte())
        elif z == 7:
            self.special(y)

    def special(self, which: int) -> None:
        """Run RLCA, RRCA, RLA, RRA, DAA, CPL, SCF or CCF."""
        a, carry = self.r["a"], self.r["C"]
        if which < 4:
            self.r["a"], out = shift(which, a, carry)
            self.flags(z=0, n=0, h=0, c=out)
        elif which == 4:
            six = self.r["H"] or (not self.r["N"] and a % 16 > 9)
            sixty = carry or (not self.r["N"] and a > 0x99)
            self.r["a"] = (a + (6 * six + 0x60 * sixty) * (-1 if self.r["N"] else 1)) % 256
            self.flags(z=self.r["a"] == 0, h=0, c=sixty)
        elif which == 5:
            self.r["a"] = 255 - a
            self.flags(n=1, h=1)
        else:
            self.flags(n=0, h=0, c=1 if which == 6 else 1 - carry)

    def holds(self, which: int) -> bool:
        """Return whether NZ, Z, NC or C holds."""
        return bool(self.r["Z" if which < 2 else "C"]) == bool(which % 2)

    def high(self, code: int, y: int, z: int) -> None:
        """Run a code from C0 on that is no arithmetic with a byte."""
        if z == 0 and y < 4:
            self.idle()
            if self.holds(y):
                self.jump(self.pop())
        elif code in {0xC9, 0xD9}:
            self.jump(self.pop())
            self.r["ime"] |= code == 0xD9
        elif code == 0xC3 or (z == 2 and y < 4):
            target = self.word()
            if code == 0xC3 or self.holds(y):
                self.jump(target)
        elif code == 0xCD or z == 4:
            target = self.word()
            if code == 0xCD or self.holds(y):
                self.call(target)
        elif z == 7:
            self.call(8 * y)
        elif z == 1 and y % 2 == 0:
            self.set_pair(("bc", "de", "hl", "af")[y // 2], self.pop())
        elif z == 5:
            self.idle()
            self.push(self.pair(("bc", "de", "hl", "af")[y // 2]))
        elif z in {0, 2} and code not in {0xE8, 0xF8}:
            at = self.word() if y % 2 else 0xFF00 + (self.byte() if z == 0 else self.r["c"])
            if code < 0xF0:
                self.write(at, self.r["a"])
            else:
                self.r["a"] = self.read(at)
        elif z == 0:
            self.add_to_sp("sp" if code == 0xE8 else "hl")
        elif code == 0xE9:
            self.r["pc"] = self.pair("hl")
        elif code == 0xF9:
            self.idle()
            self.r["sp"] = self.pair("hl")
        else:
            self.r["enabling"] = int(code == 0xFB)
            self.r["ime"] *= code == 0xFB

    def jump(self, target: int) -> None:
        """Go on at an address, a machine cycle later."""
        self.idle()
        self.r["pc"] = target

    def call(self, target: int) -> None:
        """Push the address of the next instruction and go on at another."""
        self.idle()
        self.push(self.r["pc"])
        self.r["pc"] = target

    def add_to_sp(self, to: str) -> None:
        """Run ADD SP or LD HL, SP + a signed byte: the flags are those of the sum of the low bytes."""
        offset, sp = self.byte(), self.r["sp"]
        self.flags(z=0, n=0, h=sp % 16 + offset % 16 > 15, c=sp % 256 + offset > 255)
        self.idle()
        if to == "sp":
            self.idle()
        self.set_pair(to, sp + offset - 256 * (offset > 127))
