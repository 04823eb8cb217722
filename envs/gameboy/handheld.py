"""A console that a person plays: frame by frame, with its code, its memory and a search.

The last instructions that led to a state are found by running its last frame again, and noting them. An interrupt
counts as the first instruction of its handler.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import PacError
from ..fields import Array
from ..files import create_next, write_whole
from ..native import compiled
from ..packed import pack_pixels
from ..task import Task
from .cartridge import Cartridge, cartridge_for
from .console import Console
from .games import BUTTONS, MOST_VALUES, OWN_GAMES, Value
from .inspector import draw_code, draw_instruction, draw_memory, draw_registers, draw_sprites
from .layout import (
    CLOCK,
    ENABLING,
    FRAME_CYCLES,
    HALTED,
    HIDDEN,
    IN_TIME,
    INTERRUPTS_ON,
    LOCKED,
    PC,
    STOP,
    STUCK,
    Machine,
)
from .looks import COLUMNS, LAST_LINES, MEMORY_COLUMNS, REGISTER_LINES, SPRITE_LINES, looks
from .memory import set_word, word
from .processor import pending, run
from .search import MemorySearch
from .snapshots import picture_bytes, snapshot_bytes
from .starts import played

NOTHING = -1
"""Instead of an address, where there was no instruction."""


@compiled
def next_address(m: Machine) -> int:
    """Return the address of the instruction that runs next, or `NOTHING` if the processor waits."""
    found = pending(m)
    if found and (word(m, INTERRUPTS_ON) or word(m, ENABLING) == 1):
        address = 0x40
        while not found & 1:
            found >>= 1
            address += 8
        return address
    return word(m, PC) if found or not word(m, HALTED) else NOTHING


@compiled
def run_traced(m: Machine, until: int, last: Array) -> int:
    """Run as `run` does, to a time, and note the addresses of the last instructions, the newest one at the end."""
    why = IN_TIME
    while why == IN_TIME and word(m, CLOCK) < until:
        address = next_address(m)
        if address != NOTHING:
            for index in range(last.shape[0] - 1):
                last[index] = last[index + 1]
            last[-1] = address
        set_word(m, STOP, word(m, CLOCK) + 1)
        why = run(m)
    return why


def no_instructions() -> NDArray[np.int64]:
    """Return what `run_traced` notes before any instruction, `(LAST_LINES,)`."""
    return np.full(LAST_LINES, NOTHING, np.int64)


def draw_last(console: Console, last: NDArray[np.int64], code: Array) -> None:
    """Draw the noted instructions in the first lines of the board of code, with the banks that are mapped now."""
    texts = looks()
    for line, address in enumerate(last.tolist()):
        code[line] = ord(" ")
        if address != NOTHING:
            draw_instruction(console.machine, texts, address, code[line])


def trace_step(task: Task, before: Array, actions: Array, boards: Mapping[str, Array]) -> None:
    """Draw the last instructions of a step into the board of code of the state after it; see `Task.trace`."""
    found = played(task.values["rom"], task.values["game"])
    game, console, last = found.game, Console(found.cartridge, HIDDEN), no_instructions()
    console.load(before)
    for frame in range(game.frames):
        if frame in {0, game.press}:
            console.press(game.actions[int(actions[0])] if frame == 0 else 0)
        if frame == game.frames - 1:
            run_traced(console.machine, console.clock + FRAME_CYCLES, last)
        elif console.run_frames(1) == STUCK:
            break
    draw_last(console, last, boards["code"])


STEPS = 500


class UnwritableFile(PacError):
    """A file cannot be written."""

    title = "Not saved"


class GameFiles:
    """The files of one task, numbered, beside the ROM; of a built-in cartridge, in the working directory.

    Args:
        rom: Its file; empty for a built-in cartridge, whose file is written beside the first snapshot.
        name: The beginning of the files' names.

    Attributes:
        snapshot: The last snapshot, or None.
        goals: The goal pictures, in the order of the stages.
        values: Numbers in memory that the task is to show.
        game: The game's file that was written last, or None.
    """

    def __init__(self, cartridge: Cartridge, rom: str, name: str) -> None:
        self._cartridge, self._name = cartridge, name
        self._folder = Path(rom).parent if rom else Path()
        self._rom = Path(rom) if rom else None
        self.snapshot: Path | None = None
        self.goals: list[Path] = []
        self.values: list[Value] = []
        self.game: Path | None = None

    def save_snapshot(self, state: NDArray[np.int64]) -> Path:
        """Write a start state.

        Raises:
            UnwritableFile: It cannot be written.
        """
        self.snapshot = self._create(".snapshot", snapshot_bytes(self._cartridge, state))
        return self.snapshot

    def save_goal(self, frame: NDArray[np.uint8]) -> Path:
        """Write the picture of the next stage, a packed frame.

        Raises:
            UnwritableFile: It cannot be written.
        """
        self.goals.append(self._create(".pgm", picture_bytes(frame)))
        return self.goals[-1]

    def save_game(self, buttons: Sequence[str]) -> Path:
        """Write the game's file; its actions are nothing and each of the buttons.

        Raises:
            UnwritableFile: It cannot be written.
        """
        self.game = self._create(".yaml", self.text(buttons).encode())
        return self.game

    def text(self, buttons: Sequence[str]) -> str:
        actions = ", ".join(['""', *(button for button in BUTTONS if button in buttons)])
        start = f"snapshot: {self.snapshot.name}" if self.snapshot else "start: [{frames: 60}]   # from power on"
        values = "".join(
            f"  - {{name: {value.name}, address: 0x{value.address:04X}, reward: {value.reward:g}}}\n"
            for value in self.values
        )
        return (
            f"title: {self._name}\n{start}\n"
            "frames: 24         # frames of a step\n"
            "press: 8           # frames for which the buttons of an action are held\n"
            f"actions: [{actions}]\n"
            f"steps: {STEPS}         # an episode is truncated after these steps\n"
            + (f"values:            # reward is for each by which the number grows\n{values}" if values else "")
            + (f"goals: [{', '.join(goal.name for goal in self.goals)}]\n" if self.goals else "")
        )

    @property
    def spec(self) -> str:
        """The task of the game's file that was written last."""
        assert self.game is not None
        return f"gameboy:rom={self._rom or self._folder / f'{self._name}.gb'},game={self.game.stem}"

    def _create(self, suffix: str, data: bytes) -> Path:
        try:
            if self._rom is None:
                file = self._folder / f"{self._name}.gb"
                if not file.exists():
                    write_whole(file, self._cartridge.rom.tobytes())
            return create_next(self._folder, self._name, suffix, data)
        except OSError as error:
            raise UnwritableFile(
                f"{self._folder} cannot be written to: {error.strerror or error}; copy the ROM to a folder of yours"
            ) from error


CODE_LINES, MEMORY_LINES = 16, 14
WORK_RAM = 0xC000


class Handheld:
    """A console with a cartridge, and what a player does with it.

    Args:
        rom: File of a cartridge; empty for a built-in one.
        name: Name of the game.

    Attributes:
        title: The cartridge's title, or else its file's name.
        console: The console, which draws whole frames.
        search: The search for addresses.
        files: The files that the player makes.
        used: The buttons that were pressed.
        address: The first address of the memory that is shown.
        boards: Registers, code, memory and sprites as text.

    Raises:
        UnreadableFile: The ROM cannot be read.
        BadCartridge: It is not a ROM, or one that is not supported.
        BadParameter: There is no ROM for the game.
    """

    def __init__(self, rom: str, name: str) -> None:
        self.cartridge: Cartridge = cartridge_for(rom, name)
        stem = Path(rom).stem if rom else name or OWN_GAMES[0]
        self.title = self.cartridge.title if self.cartridge.title.isprintable() and self.cartridge.title else stem
        self.files = GameFiles(self.cartridge, rom, stem)
        self.used: set[str] = set()
        self.address = WORK_RAM
        self._looks = looks()
        self._last = no_instructions()
        self.boards = {
            "registers": np.zeros((REGISTER_LINES, COLUMNS), np.uint8),
            "code": np.zeros((CODE_LINES, COLUMNS), np.uint8),
            "memory": np.zeros((MEMORY_LINES, MEMORY_COLUMNS), np.uint8),
            "sprites": np.zeros((SPRITE_LINES, COLUMNS), np.uint8),
        }
        self._switch_on()

    def _switch_on(self) -> None:
        self.console = Console(self.cartridge)
        self.search = MemorySearch(self.console)
        self._begun = self.console.words.copy()

    def restart(self) -> None:
        """Begin as after power on."""
        self._switch_on()
        self._last.fill(NOTHING)

    @property
    def locked(self) -> bool:
        """Whether an illegal instruction has stopped the processor."""
        return bool(self.console.words[LOCKED])

    def frame(self, buttons: Sequence[str]) -> None:
        self.used |= set(buttons)
        self.console.press(sum(1 << BUTTONS.index(button) for button in buttons))
        self._begun[:] = self.console.words
        self._last.fill(NOTHING)
        self.console.run_frames(1)

    def instruction(self) -> None:
        """Run one instruction, or four cycles of a halt."""
        run_traced(self.console.machine, self.console.clock + 1, self._last)

    def trace(self) -> None:
        """Find out which instructions the last frame ended with, by running it again."""
        if (self._last == NOTHING).all():
            again = Console(self.cartridge, HIDDEN)
            again.load(self._begun)
            run_traced(again.machine, again.clock + FRAME_CYCLES, self._last)

    def draw(self) -> None:
        machine, code = self.console.machine, self.boards["code"]
        draw_registers(machine, self._looks, self.boards["registers"])
        draw_code(machine, self._looks, code)
        draw_last(self.console, self._last, code)
        draw_memory(machine, self.address, self.boards["memory"])
        draw_sprites(machine, self._looks, self.boards["sprites"])

    def save_snapshot(self) -> Path:
        """Write the state as a start state; raises `UnwritableFile`."""
        return self.files.save_snapshot(self.console.words)

    def save_goal(self) -> Path:
        """Write the frame as the picture of the next stage; raises `UnwritableFile`."""
        return self.files.save_goal(self.observation())

    def save_game(self) -> Path:
        """Write the game's file; raises `UnwritableFile`."""
        return self.files.save_game(sorted(self.used) or list(BUTTONS[:6]))

    def observation(self) -> NDArray[np.uint8]:
        """Return the last frame as environments observe it: every second pixel of every second line, packed."""
        return pack_pixels(self.console.frame[::2, ::2]).reshape(-1)

    def keep_value(self, address: int) -> bool:
        """Note a number in memory for the game's file; return whether there was room and it is a new one."""
        values = self.files.values
        if len(values) == MOST_VALUES or any(value.address == address for value in values):
            return False
        values.append(Value(f"value {len(values) + 1}", address, reward=1.0))
        return True
