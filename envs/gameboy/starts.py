"""Start states and goal pictures: found once per process by playing, then copied by resets."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import BadParameter
from .cartridge import Cartridge, cartridge_for
from .console import Console
from .games import Game, Hold, find_game
from .layout import FRAME, FRAME_BYTES, HALF, LOCKED
from .snapshots import read_picture, read_snapshot

VARIATIONS = 31
"""Start states: the first one, and those after waiting 1 to 30 frames more."""


class Played(NamedTuple):
    """A cartridge with a game.

    Attributes:
        starts: The start states, `(VARIATIONS, words)`, with their frames.
        goals: The goal pictures, packed, `(stages, FRAME_BYTES)`.
    """

    cartridge: Cartridge
    game: Game
    starts: NDArray[np.int64]
    goals: NDArray[np.uint8]


@cache
def played(rom: str, name: str) -> Played:
    """Return a cartridge with a game, its start states and its goal pictures.

    Raises:
        UnreadableFile: A file cannot be read.
        BadCartridge: The ROM is not supported.
        BadSnapshot: A snapshot or a picture of the game is not one.
        BadParameter: The game's file is wrong, or the program locks the processor before it starts.
    """
    game = find_game(name, rom)
    cartridge = cartridge_for(rom, name)
    console = Console(cartridge, HALF)
    if game.snapshot:
        console.load(read_snapshot(game.snapshot, cartridge))
    for hold in game.start:
        console.press(hold.buttons)
        console.run_frames(hold.count)
    console.press(0)
    starts = []
    for _ in range(VARIATIONS):
        console.run_frames(1)
        console.bytes[FRAME : FRAME + FRAME_BYTES] = console.frame_data
        starts.append(console.words.copy())
    if console.words[LOCKED]:
        raise BadParameter(
            f"the program of {rom or name} locks the processor before its start state; check the ROM and start"
        )
    return Played(cartridge, game, np.array(starts), _goals(cartridge, game, starts[0]))


def _goals(cartridge: Cartridge, game: Game, start: NDArray[np.int64]) -> NDArray[np.uint8]:
    console = Console(cartridge, HALF)
    console.load(start)
    found = np.zeros((len(game.goals), FRAME_BYTES), np.uint8)
    for stage, goal in enumerate(game.goals):
        if isinstance(goal, Path):
            found[stage] = read_picture(goal)
            continue
        for hold in goal:
            _play(console, game, hold)
        found[stage] = console.frame_data
    return found


def _play(console: Console, game: Game, hold: Hold) -> None:
    for _ in range(hold.count):
        console.press(hold.buttons)
        console.run_frames(game.press)
        console.press(0)
        console.run_frames(game.frames - game.press)
