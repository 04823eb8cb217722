"""A console that a person plays: frame by frame, with its code, its memory and a search."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..packed import pack_pixels
from .cartridge import Cartridge
from .cartridges import cartridge_for
from .console import Console
from .game_files import GameFiles
from .games import BUTTONS, MOST_VALUES, OWN_GAMES, Value
from .inspector import draw_code, draw_memory, draw_registers, draw_sprites
from .layout import FRAME_CYCLES, HIDDEN, LOCKED
from .looks import COLUMNS, MEMORY_COLUMNS, REGISTER_LINES, SPRITE_LINES, looks
from .search import MemorySearch
from .tracing import NOTHING, draw_last, no_instructions, run_traced

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
        """Run a frame with these buttons held."""
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
        """Draw the boards."""
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
