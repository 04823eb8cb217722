"""A Game Boy in PyBoy as a Gymnasium environment, with the steps, actions and observations of the task `gameboy`."""

from __future__ import annotations

from importlib import import_module
from io import BytesIO
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from pac.envs.gameboy.games import BUTTONS, Game
from pac.envs.packed import BRIGHTEST, pack_pixels

GREY_LEVELS = 85
PROGRAM = 0x100
"""The first address after the boot ROM."""
Bytes = NDArray[np.uint8]


class PyBoyEnv(gymnasium.Env[Bytes, np.int64]):
    """A game with numbers in memory and outcomes that depend on one byte.

    Args:
        rom: The bytes of the cartridge's file.
        game: Its actions, rewards and ends.
    """

    def __init__(self, rom: bytes, game: Game) -> None:
        self._game, self._steps, self._score = game, 0, 0.0
        self.action_space = spaces.Discrete(len(game.actions))
        self.observation_space = spaces.Box(0, 255, (72, 20), np.uint8)
        self._console = import_module("pyboy").PyBoy(
            BytesIO(rom), window="null", sound_emulated=False, log_level="CRITICAL"
        )
        self._console.set_emulation_speed(0)
        while self._console.register_file.PC < PROGRAM and self._console.tick(1, False, False):
            pass  # its boot ROM
        for hold in game.start:
            self._play(hold.buttons, hold.count, hold.count)
        self._start = BytesIO()
        self._console.save_state(self._start)

    def _play(self, buttons: int, press: int, frames: int) -> None:
        """Hold buttons for `press` of `frames` frames, and draw the last one."""
        names = [name for bit, name in enumerate(BUTTONS) if buttons >> bit & 1]
        for name in names:
            self._console.button_press(name)
        self._console.tick(press, press == frames, False)
        for name in names:
            self._console.button_release(name)
        if press < frames:
            self._console.tick(frames - press, True, False)

    def _observation(self) -> Bytes:
        """Return every second pixel of every second line, packed."""
        grey = self._console.screen.ndarray[::2, ::2, 0].astype(np.int16)
        return pack_pixels(BRIGHTEST - (grey + GREY_LEVELS // 2) // GREY_LEVELS)

    def _value(self) -> float:
        return sum(value.reward * int(self._console.memory[value.address]) for value in self._game.values)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Bytes, dict[str, Any]]:
        """Go to the start state, and run one frame."""
        super().reset(seed=seed, options=options)
        self._start.seek(0)
        self._console.load_state(self._start)
        self._console.tick(1, True, False)
        self._steps, self._score = 0, self._value()
        return self._observation(), {}

    def step(self, action: np.int64) -> tuple[Bytes, float, bool, bool, dict[str, Any]]:
        """Hold an action's buttons; the reward is the growth of the numbers in memory."""
        game, before = self._game, self._score
        self._play(game.actions[int(action)], game.press, game.frames)
        self._steps += 1
        self._score = self._value()
        over = any(end.low <= self._console.memory[end.address] <= end.high for end in game.ends)
        return self._observation(), self._score - before, over, self._steps >= game.steps, {}

    def close(self) -> None:
        """Stop the console."""
        self._console.stop(False)
