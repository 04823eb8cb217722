"""The rules once more, slow and obvious: a bottle is 16 rows of 8 cells, each `None` or a colour and a kind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from pac.envs import episode_seed

Cell = tuple[int, str]
Place = tuple[int, int, int]
Pill = tuple[int, int]

TABLE = [69 - 2 * index for index in range(25)]
TABLE += [19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 9, 8, 8, 7, 7, 6, 6]
TABLE += [5] * 12 + [4] * 5 + [3] * 5 + [2] * 5 + [1] * 10 + [0]
BASE = {"low": 15, "med": 25, "hi": 31}
SCORE = {"low": 100, "med": 200, "hi": 300}
CHOICES = [
    arrows | press
    for arrows in (set(), {"left"}, {"right"}, {"down"}, {"down", "left"}, {"down", "right"})
    for press in (set(), {"A"}, {"B"})
]
"""What each of the 18 frame actions holds."""


def halves(place: Place) -> list[tuple[int, int]]:
    """The cells of the first and of the second half; turn 0 lies, each further one is a quarter counter-clockwise."""
    row, column, turn = place
    if turn == 0:
        return [(row, column), (row, column + 1)]
    if turn == 1:
        return [(row, column), (row - 1, column)]
    if turn == 2:
        return [(row, column + 1), (row, column)]
    return [(row - 1, column), (row, column)]


def action_of(place: Place) -> int | None:
    """The placement's number, or nothing if its first half is above the rim."""
    (row, column), (other_row, other_column) = halves(place)
    if row < 0:
        return None
    beside = {(0, 1): 0, (1, 0): 1, (0, -1): 2, (-1, 0): 3}
    return beside[other_row - row, other_column - column] * 128 + row * 8 + column


class Register:
    """The console's random numbers: 16 bits, shifted right, the new one being the difference of two."""

    def __init__(self, seed: int) -> None:
        bits = seed % 65536
        self.bits = 0x8988 if bits in {0, 1} else bits

    def next(self) -> tuple[int, int]:
        """The next two bytes."""
        high, low = divmod(self.bits, 256)
        new = (high // 2 + low // 2) % 2
        self.bits = self.bits // 2 + 32768 * new
        return divmod(self.bits, 256)


@dataclass
class Hand:
    """A pill under control and the controller."""

    place: Place = (0, 3, 0)
    gravity: int = 0
    charge: int = 0
    held: frozenset[str] = frozenset()
    clock: int = 0


@dataclass
class Bottle:
    """A game in progress."""

    level: int = 0
    speed: str = "low"
    cells: list[list[Cell | None]] = field(default_factory=lambda: [[None] * 8 for _ in range(16)])
    pills: list[Pill] = field(default_factory=list)
    placed: int = 0
    speed_ups: int = 0
    score: int = 0
    chain: int = 0
    clock: int = 0
    hand: Hand | None = field(default_factory=Hand)
    held: frozenset[str] = frozenset()
    charge: int = 0
    outcome: str = ""
    script: Iterator[None] = field(default_factory=lambda: iter(()))

    @classmethod
    def new(cls, level: int, speed: str, run_seed: int, env: int, episode: int) -> Bottle:
        """Deal an episode."""
        bottle = cls(level, speed)
        register = Register(episode_seed(run_seed, env, episode))
        pill = 0
        for _ in range(128):
            pill = (pill + register.next()[0] % 16) % 9
            bottle.pills.insert(0, (pill // 3, pill % 3))
        bottle.deal_viruses(register)
        return bottle

    def deal_viruses(self, register: Register) -> None:
        """Place viruses one by one."""
        highest = 12 if self.level >= 19 else 11 if self.level >= 17 else 10 if self.level >= 15 else 9
        table = [0, 1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0, 1, 2, 1]
        remaining = 4 * (self.level + 1)
        while remaining:
            height, column = register.next()
            if height % 16 > highest:
                continue
            cell = (15 - height % 16) * 8 + column % 8
            color = remaining % 4
            if color == 3:
                color = table[register.next()[1] % 16]
            while cell < 128:
                row, column = divmod(cell, 8)
                near = [(row - 2, column), (row + 2, column), (row, column - 2), (row, column + 2)]
                taken = {self.at(*place)[0] for place in near if self.at(*place)}  # type: ignore[index]
                if self.cells[row][column] is None and taken != {0, 1, 2}:
                    while color in taken:
                        color = (color - 1) % 3
                    self.cells[row][column] = (color, "virus")
                    remaining -= 1
                    break
                cell += 1

    def at(self, row: int, column: int) -> Cell | None:
        """What is in a cell; nothing outside."""
        return self.cells[row][column] if 0 <= row < 16 and 0 <= column < 8 else None

    def fits(self, place: Place) -> bool:
        """Whether the pill has room there; the space above the rim is free, that beside and below the bottle is not."""
        return all(
            0 <= column < 8 and row < 16 and (row < 0 or self.cells[row][column] is None)
            for row, column in halves(place)
        )

    @property
    def viruses(self) -> int:
        """Viruses left."""
        return sum(cell is not None and cell[1] == "virus" for row in self.cells for cell in row)

    @property
    def pill(self) -> Pill:
        """The pill in hand."""
        return self.pills[self.placed % 128]

    @property
    def hang(self) -> int:
        """Frames per row, less one."""
        return TABLE[BASE[self.speed] + self.speed_ups]

    def move(self, hand: Hand, buttons: frozenset[str] | set[str]) -> tuple[Hand, bool]:
        """The hand after a frame, and whether its pill locked."""
        hand = replace(hand)
        pressed = buttons - hand.held
        hand.held = frozenset(buttons)
        arrows = buttons & {"left", "right", "down"}
        hand.gravity += 1
        hand.clock += 1
        row, column, turn = hand.place
        if hand.gravity > self.hang or (hand.clock % 2 == 0 and arrows == {"down"}):
            hand.gravity = 0
            if not self.fits((row + 1, column, turn)):
                return hand, True
            row += 1
        side = -1 if "left" in buttons else 1 if "right" in buttons else 0
        if side:
            hand.charge = 0 if pressed & {"left", "right"} else hand.charge + 1
            if hand.charge in {0, 16}:
                if self.fits((row, column + side, turn)):
                    hand.charge = 10 if hand.charge else 0
                    column += side
                else:
                    hand.charge = 15
        if pressed & {"A", "B"}:
            after = (turn + (-1 if "A" in pressed else 1)) % 4
            flat = after in {0, 2}
            if self.fits((row, column, after)):
                turn = after
                if flat and side == -1 and self.fits((row, column - 1, after)):
                    column -= 1
            elif flat and self.fits((row, column - 1, after)):
                turn, column = after, column - 1
        hand.place = row, column, turn
        return hand, False

    def placements(self) -> set[Place]:
        """Where the pill can lock, by trying all buttons in all states that differ in what is ever read."""
        assert self.hand
        found: set[Place] = set()
        seen = set()
        todo = [replace(self.hand, clock=self.clock)]
        while todo:
            hand = todo.pop()
            for buttons in CHOICES:
                after, locked = self.move(hand, buttons)
                if locked:
                    found.add(hand.place)
                    continue
                sides = after.held & {"left", "right"}
                presses = after.held & {"A", "B"}
                state = (after.place, after.gravity, after.charge if sides else 0, sides, presses, after.clock % 2)
                if state not in seen:
                    seen.add(state)
                    todo.append(after)
        return found

    def lock(self, place: Place) -> None:
        """Leave the pill where it is."""
        kinds = {0: ("left", "right"), 1: ("bottom", "top"), 2: ("right", "left"), 3: ("top", "bottom")}[place[2]]
        cells = list(zip(halves(place), self.pill, kinds, strict=True))
        inside = [item for item in cells if item[0][0] >= 0]
        for (row, column), color, kind in inside:
            self.cells[row][column] = (color, kind if len(inside) == 2 else "single")
        self.placed += 1
        self.chain = 0
        self.hand = None

    def drop(self) -> bool:
        """Let what hangs fall by one row, the lowest first; whether anything fell."""
        fell = False
        for row in range(14, -1, -1):
            for column in range(8):
                cell = self.cells[row][column]
                if cell is None or cell[1] in {"virus", "right"}:
                    continue
                columns = [column, column + 1] if cell[1] == "left" else [column]
                if all(self.cells[row + 1][each] is None for each in columns):
                    fell = True
                    for each in columns:
                        self.cells[row + 1][each], self.cells[row][each] = self.cells[row][each], None
        return fell

    def lines(self) -> set[tuple[int, int]]:
        """The cells of all lines of at least four of a colour."""
        hit = set()
        for row in range(16):
            for column in range(8):
                for down, right in ((0, 1), (1, 0)):
                    line = [(row + down * step, column + right * step) for step in range(4)]
                    colors = {cell[0] if (cell := self.at(*place)) else None for place in line}
                    if len(colors) == 1 and None not in colors:
                        hit |= set(line)
        return hit

    def vanish(self, hit: set[tuple[int, int]]) -> None:
        """Empty the cells; their partners become singles."""
        partner = {"left": (0, 1), "right": (0, -1), "top": (1, 0), "bottom": (-1, 0)}
        for row, column in hit:
            cell = self.cells[row][column]
            assert cell
            if cell[1] == "virus":
                self.score += SCORE[self.speed] * 2 ** min(self.chain, 5)
                self.chain += 1
            if cell[1] in partner:
                down, right = partner[cell[1]]
                other = self.cells[row + down][column + right]
                if other:
                    self.cells[row + down][column + right] = (other[0], "single")
            self.cells[row][column] = None

    def settle(self) -> Iterator[None]:
        """Everything without control; every `yield` is a frame that ends."""
        while True:
            yield from (None for _ in range(15))
            while self.drop():
                yield from (None for _ in range(16))
            yield
            yield
            yield
            hit = self.lines()
            if not hit:
                break
            self.vanish(hit)
            self.outcome = "" if self.viruses else "cleared"
            yield
        if self.placed % 10 == 0:
            self.speed_ups = min(self.speed_ups + 1, 49)
        yield from (None for _ in range(24))
        yield from self.appear()

    def appear(self) -> Iterator[None]:
        """Bring the next pill under control, if there is room and time."""
        limit = 8000 if self.level < 5 else 12000 if self.level < 10 else 14000 if self.level < 15 else 16000
        if not self.fits((0, 3, 0)):
            self.outcome = "topped out"
        elif self.clock >= limit:
            self.outcome = "out of time"
        else:
            self.hand = Hand(charge=self.charge)
        yield

    def frame(self, buttons: frozenset[str] | set[str]) -> None:
        """Play a frame."""
        if self.hand:
            after, locked = self.move(replace(self.hand, held=self.held, clock=self.clock), buttons)
            self.charge = after.charge
            if locked:
                self.lock(self.hand.place)
                self.script = self.settle()
            else:
                self.hand = after
        else:
            next(self.script)
        self.held = frozenset(buttons)
        self.clock += 1
