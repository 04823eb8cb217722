"""Writes the files of a task of the user's: snapshots, goal pictures, and the game's file that names them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import PacError
from ..files import create_next, write_whole
from .cartridge import Cartridge
from .games import BUTTONS, Value
from .snapshots import picture_bytes, snapshot_bytes

STEPS = 500


class UnwritableFile(PacError):
    """A file cannot be written."""

    title = "Not saved"


class GameFiles:
    """The files of one task, numbered, beside the ROM; of a built-in cartridge, in the working directory.

    Args:
        cartridge: The cartridge.
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
        """Return the content of the game's file."""
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
