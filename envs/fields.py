"""What stands in a buffer: its fields, those that every task has among them, and their rows and slots."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Buffers: TypeAlias = Mapping[str, Array]
Encoding: TypeAlias = Literal["raw", "bits"]

WAITS, DECIDES, OUT = 0, 1, 2
"""Values of the field `active`: a seat with nothing to decide now, one with something, one that has left."""


@dataclass(frozen=True)
class Field:
    """One array of the buffer, `(slots, rows, *stored_shape)`.

    Attributes:
        name: The key in the buffer.
        dtype: NumPy name of the stored type; `uint8` when the encoding packs.
        shape: Logical shape of one row.
        encoding: `raw` stores the logical shape; `bits` stores one bit per element, first element in the lowest bit.
        per: Whether a row is a seat or an environment; of `all`, one row serves all environments together.
        timed: Whether the field has a slot for every step of a rollout, or just one, overwritten.
        low: Smallest value of an element.
        high: Largest value of an element.
        uniform: Planes `lo..hi` of the first axis that have one value each all over, such as a number shown to a
            network that sees a board: they are told, so that it need not look at every cell of them.
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

    @property
    def stored_shape(self) -> tuple[int, ...]:
        """Shape of one row as it lies in memory."""
        return (math.ceil(math.prod(self.shape) / 8),) if self.encoding == "bits" else self.shape

    @property
    def row_bytes(self) -> int:
        """Bytes of one row."""
        return math.prod(self.stored_shape) * np.dtype(self.dtype).itemsize

    def decode(self, stored: Array) -> Array:
        """Return rows `(..., *stored_shape)` in their logical shape `(..., *shape)`."""
        if self.encoding == "raw":
            return stored
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
"""The fields that every task has, beside its action.

`episode_return` and `episode_length` are those of the running episode, and at a step that ended one those of the
ended one. `frames` are the frames that the step took. `outcome` is 0 while the episode runs, else 1 + the index into
`Task.outcomes`. `episode` counts episodes begun, from 0, per environment; -1 before the first. `active` is
`DECIDES` for rows that belong in the loss, `WAITS` for those that others keep waiting, `OUT` for dead seats: no reward
follows for them until the episode ends. The task's info fields, too, are at such a step those of the ended episode.
"""


def rows(item: Field, num_envs: int, players: int) -> int:
    """Number of rows of a field: environments, environments times seats, or one for all."""
    return {"seat": num_envs * players, "env": num_envs, "all": 1}[item.per]
