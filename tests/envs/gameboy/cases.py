"""Single-step cases of the processor: registers and 64 KiB of RAM before and after an instruction, and its accesses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from pac.envs.gameboy import layout as at
from pac.envs.gameboy.layout import Machine, block_bytes
from pac.envs.gameboy.operations import TABLES
from pac.envs.gameboy.processor import run

LOG = 16
UNTIMED = {0x10, 0x76}
"""Codes whose accesses are not compared: STOP and HALT."""


class FlatConsole:
    """A console whose memory is 64 KiB of RAM that logs its accesses."""

    def __init__(self) -> None:
        self.words = np.zeros(block_bytes(0) // 8, np.int64)
        self.memory = np.zeros(0x10008 + 16 * LOG, np.uint8)
        self.count = self.memory[0x10000:0x10008].view(np.int64)
        self.log = self.memory[0x10008:].view(np.int64).reshape(-1, 2)
        self.tables = TABLES.copy()
        self.tables[:256] = at.ELSEWHERE
        base = self.words.ctypes.data
        self.machine = Machine(base, self.memory.ctypes.data, self.tables.ctypes.data, at.FLAT, 3, 0, 0, 0, 0)

    def run(self, registers: np.ndarray, ram: np.ndarray) -> tuple[int, ...]:
        """Run an instruction and return the registers after it, in the order of the cases."""
        a, b, c, d, e, f, h, low, pc, sp, ime, _ = (int(value) for value in registers)
        self.words[:] = self.count[0] = 0
        self.words[[at.RELOAD, at.SERIAL_END, at.DMA_AT]] = at.FAR
        self.words[at.REGISTERS] = np.array([a, f, low, h, e, d, c, b], np.uint8).view(np.int64)[0]
        self.words[[at.PC, at.SP, at.INTERRUPTS_ON, at.STOP]] = pc, sp, ime, 1
        for address, value in ram:
            if address >= 0:
                self.memory[address] = value
        run(self.machine)
        a, f, low, h, e, d, c, b = self.words[at.REGISTERS : at.REGISTERS + 1].view(np.uint8).tolist()
        pc, sp, ime, enabling = self.words[[at.PC, at.SP, at.INTERRUPTS_ON, at.ENABLING]].tolist()
        return a, b, c, d, e, f, h, low, pc, sp, ime, int(enabling > 0)

    def accesses(self) -> list[tuple[int, int]]:
        """Return time and entry of all accesses."""
        return [tuple(entry) for entry in self.log[: self.count[0]].tolist()]


def failures(path: Path, every: int) -> Iterator[str]:
    """Yield what differs in every so-many-th case of a file."""
    cases, console = np.load(path), FlatConsole()
    parts = {name: cases[name] for name in cases.files}
    for index in range(0, len(parts["op"]), every):
        op, bus = int(parts["op"][index]), parts["bus"][index].tolist()
        found = console.run(parts["init"][index], parts["ram_init"][index])
        expected = [
            (4 * (cycle + 1), address | value << 16 | kind << 24)
            for cycle, (address, value, kind) in enumerate(bus)
            if kind in {0, 1}
        ]
        cycles = sum(kind >= 0 for _, _, kind in bus)
        timed = op in UNTIMED or (console.accesses() == expected and console.words[at.CLOCK] == 4 * cycles)
        memory = all(console.memory[address] == value for address, value in parts["ram_final"][index] if address >= 0)
        if found != tuple(parts["final"][index].tolist()) or not memory or not timed:
            yield f"case {index}, operation {op:X}"
