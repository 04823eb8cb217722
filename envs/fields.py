"""The fields of a buffer, including those that every task has."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .packed import packed_width, unpack_pixels

Array: TypeAlias = NDArray[Any]
Buffers: TypeAlias = Mapping[str, Array]
Encoding: TypeAlias = Literal["raw", "bits", "2bpp"]

FINAL_OBSERVATION = "final_observation"
"""The field with the last observations of episodes that ended. In a ring, only those of the newest step are kept."""

ZERO_AT_FIRST = ("reward", "terminated", "truncated", "outcome", "frames", "episode_return", "episode_length")
"""The fields of every task that are zero until the first step of an episode."""

WAITS, DECIDES, OUT, PLAYED = 0, 1, 2, 3
"""Values of the field `active`: a seat that does not act in this step, one that acts, one that is out of the game.

The session marks a seat as `PLAYED` if a person chose its action. Nothing is learned from such a step.
"""


@dataclass(frozen=True)
class Field:
    """One array of the buffer, `(slots, rows, *stored_shape)`.

    Attributes:
        name: The key in the buffer.
        dtype: NumPy name of the stored type; `uint8` when the encoding packs.
        shape: Logical shape of one row.
        encoding: `raw` stores the logical shape. `bits` stores one bit per element, first element in the lowest bit.
            `2bpp` stores images `(..., H, W)` of shades 0 to 3, four pixels per byte, first pixel in the lowest bits;
            every row of an image begins with a byte.
        per: Whether there is a row per seat or per environment; with `all`, one row for all environments.
        timed: Whether the field has a slot for every step of a rollout, or one that every step overwrites.
        low: Smallest value of an element.
        high: Largest value of an element.
        uniform: Planes `lo..hi` of the first axis in which all cells are equal, such as a number for a convolutional
            network. The network reads one cell of each.
        images: Of a vector, the parts that are images, whose bytes were divided by their highest value: index of the
            first element, and shape.
    """

    name: str
    dtype: str
    shape: tuple[int, ...] = ()
    encoding: Encoding = "raw"
    per: Literal["seat", "env", "all"] = "env"
    timed: bool = True
    low: float = -math.inf
    high: float = math.inf
    uniform: tuple[int, int] = (0, 0)
    images: tuple[tuple[int, tuple[int, ...]], ...] = ()

    @property
    def stored_shape(self) -> tuple[int, ...]:
        """Shape of one row as stored."""
        if self.encoding == "bits":
            return (math.ceil(math.prod(self.shape) / 8),)
        return (*self.shape[:-1], packed_width(self.shape[-1])) if self.encoding == "2bpp" else self.shape

    @property
    def row_bytes(self) -> int:
        """Bytes of one row."""
        return math.prod(self.stored_shape) * np.dtype(self.dtype).itemsize

    def block_shape(self, slots: int, num_envs: int, players: int) -> tuple[int, ...]:
        """Return the shape of the array in a buffer, `(slots, rows, *stored_shape)`; an untimed field has one slot."""
        rows = {"seat": num_envs * players, "env": num_envs, "all": 1}[self.per]
        return slots if self.timed else 1, rows, *self.stored_shape

    def decode(self, stored: Array) -> Array:
        """Return rows `(..., *stored_shape)` in their logical shape `(..., *shape)`."""
        if self.encoding == "raw":
            return stored
        if self.encoding == "2bpp":
            return unpack_pixels(stored, self.shape[-1])
        flat = np.unpackbits(stored, axis=-1, count=math.prod(self.shape), bitorder="little")
        return flat.reshape(*stored.shape[:-1], *self.shape)


STANDARD_FIELDS: tuple[Field, ...] = (
    Field("active", "uint8", per="seat"),
    Field("reward", "float32", per="seat"),
    Field("terminated", "uint8", per="seat"),
    Field("truncated", "uint8", per="seat"),
    Field("episode_return", "float32", per="seat"),
    Field("episode_length", "int32"),
    Field("frames", "int32"),
    Field("outcome", "uint8"),
    Field("episode", "int64", timed=False),
    Field("status", "uint8", timed=False),
    Field("heartbeat", "uint64", timed=False),
)
"""The fields that every task has, in addition to its action.

`episode_return` and `episode_length` belong to the running episode, or at a step that ended one to that episode.
`frames` is the number of frames of the step. `outcome` is 0 while the episode runs, else 1 + the index into
`Task.outcomes`. `episode` is the number of the current episode of an environment, from 0; -1 before the first.
`active` is `DECIDES` for rows that belong in the loss, `WAITS` for seats that wait for others, `OUT` for eliminated
seats, which get no reward until the episode ends. At a step that ended an episode, the task's info fields also belong
to that episode.
"""
