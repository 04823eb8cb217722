"""Prepares the environments of ViZDoom for learning."""

from __future__ import annotations

from typing import Any, TypeAlias

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict

from ..errors import DoesNotFit
from ..fields import Array

SCREEN, VARIABLES = "screen", "gamevariables"
PICTURES = (SCREEN, "depth", "automap")
ROWS, COLUMNS = 60, 80
"""Pictures are reduced by the largest factor that leaves so many pixels."""
UNIT = 100.0
"""Health and ammunition are numbers up to about a hundred."""

Parts: TypeAlias = dict[str, Any]


class DoomScreen(gymnasium.ObservationWrapper[Parts, Any, Parts]):
    """Pictures that are small enough to learn from, and the game's variables in hundreds.

    A pixel is the mean of a square, 4 x 4 at ViZDoom's usual resolution of 320 x 240.
    """

    def __init__(self, env: gymnasium.Env[Parts, Any]) -> None:
        super().__init__(env)
        spaces = dict(getattr(env.observation_space, "spaces", {}))
        screen = spaces.get(SCREEN)
        if not isinstance(screen, Box) or screen.dtype != np.uint8 or len(screen.shape) != len("HWC"):
            raise DoesNotFit("DoomScreen is for environments of ViZDoom, whose observations have a part named screen")
        self._factors = {}
        for name in PICTURES:
            if name in spaces:
                height, width, channels = spaces[name].shape
                self._factors[name] = factor = max(1, min(height // ROWS, width // COLUMNS))
                spaces[name] = Box(0, 255, (height // factor, width // factor, channels), np.uint8)
        self.observation_space = Dict(spaces)

    def observation(self, observation: Parts) -> Parts:
        """Return an observation with reduced pictures and scaled variables."""
        seen = dict(observation)
        for name, factor in self._factors.items():
            seen[name] = reduced(seen[name], factor)
        if VARIABLES in seen:
            seen[VARIABLES] = seen[VARIABLES] / np.float32(UNIT)
        return seen


def reduced(picture: Array, factor: int) -> Array:
    """Return a picture of bytes, `(height, width, channels)`, with the rounded mean of each square of `factor` pixels.

    Rows and columns that do not fill a square are left out.
    """
    height, width = (size // factor for size in picture.shape[:2])
    whole = picture[: height * factor, : width * factor]
    lines = whole[::factor].astype(np.uint32)
    for row in range(1, factor):  # slices are added: NumPy's sum over short axes is ten times as slow
        lines += whole[row::factor]
    squares = lines.reshape(height, width, factor, -1)
    total = squares[:, :, 0].copy()
    for column in range(1, factor):
        total += squares[:, :, column]
    area = factor * factor
    seen: Array = ((total + area // 2) // area).astype(np.uint8)
    return seen
