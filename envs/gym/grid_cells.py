"""Prepares the environments of MiniGrid and BabyAI for learning."""

from __future__ import annotations

from typing import Any, TypeAlias

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, MultiBinary

from ..errors import BadParameter, DoesNotFit
from ..fields import Array

IMAGE = "image"
COUNTS = (11, 6, 4)
"""Kinds of objects, colors, and states of a cell: those of doors, or the direction of an agent that is seen."""

Parts: TypeAlias = dict[str, Any]


class GridCells(gymnasium.ObservationWrapper[Parts, Any, Parts]):
    """Cells in which the object, its color and its state are one-hot, instead of three numbers.

    MiniGrid's numbers are names: the object 8 is not twice the object 4. And as a byte image, divided by 255, they
    would hardly differ.
    """

    def __init__(self, env: gymnasium.Env[Parts, Any]) -> None:
        super().__init__(env)
        spaces = getattr(env.observation_space, "spaces", {})
        image = spaces.get(IMAGE) if isinstance(spaces, dict) else None
        if not isinstance(image, Box) or image.dtype != np.uint8 or image.shape[2:] != (len(COUNTS),):
            raise DoesNotFit("GridCells is for environments of MiniGrid whose image is a grid of cells")
        height, width, _ = image.shape
        self._shape = height, width, sum(COUNTS)
        self._most = np.array(COUNTS) - 1
        cells = np.arange(height * width).reshape(height, width, 1) * sum(COUNTS)
        self._first: Array = cells + np.cumsum((0, *COUNTS[:-1]))  # of each cell's objects, colors and states
        self.observation_space = Dict({**spaces, IMAGE: MultiBinary(self._shape)})

    def observation(self, observation: Parts) -> Parts:
        """Return an observation with one-hot cells, `(height, width, 21)`.

        Raises:
            BadParameter: A cell has a number that MiniGrid does not use.
        """
        image = observation[IMAGE]
        if (image > self._most).any():
            raise BadParameter(
                f"GridCells is for objects below {COUNTS[0]}, colors below {COUNTS[1]} and states below {COUNTS[2]}, "
                "and the environment has others: use --wrap none"
            )
        cells = np.zeros(self._shape, np.int8)
        cells.reshape(-1)[self._first + image] = 1
        return {**observation, IMAGE: cells}
