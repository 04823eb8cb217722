"""Decodes the binary answers of N environments into the buffer, all at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...envs import Field, Task
from ...envs.fields import Array
from ...envs.task import LAST_DRAWN, LOOKED_AT
from ..core.layout import Buffer
from ..servers.exchange import Connections
from .protocol import HEADER, NUMBERS, TAIL, TAIL_TYPE, TERMINATED, TOOK, TRUNCATED, FrameSizes

Pairs = list[tuple[Array, Array]]
"""Destination and source of bytes, `(environments, ...)` each."""


class Slot(NamedTuple):
    """The destinations of the answers of a step.

    Attributes:
        plain: The pairs as arrays.
        quick: The same as views that are quicker to copy, where there is one environment.
        terminated: Flags, `(N, players)`.
        truncated: Flags, `(N, players)`.
    """

    plain: Pairs
    quick: Sequence[tuple[Any, Any]]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]


class Decoder(Connections):
    """Memory for one answer of every environment, and the functions that write all of them into a buffer.

    Args:
        buffer: Where answers are decoded to.
        plain: Whether answers are results and nothing else; what a RECORD would carry is left as it is, but for the
            numbers in a result.
    """

    def __init__(self, task: Task, buffer: Buffer, *, plain: bool) -> None:
        super().__init__(task, buffer)
        self._plain, num_envs = plain, buffer.num_envs
        self._sizes = sizes = FrameSizes(task)
        self._body = task.players * sizes.result
        self._second = HEADER.size + self._body
        self._third = self._second + HEADER.size + sizes.record
        self._whole = self._third + (HEADER.size + sizes.board if sizes.board else 0)
        self._answers = np.zeros((num_envs, self._whole), np.uint8)
        self._pairs: dict[int, Slot] = {}
        results = self._answers[:, HEADER.size : self._second].reshape(num_envs, task.players, -1)
        tail = sizes.result - TAIL.size
        self._observations = results[:, :, : sizes.observation]
        self._masks = results[:, :, sizes.observation : tail]
        self._rewards, self._dones = results[:, :, tail : tail + 4], results[:, :, tail + 4]
        self._tails = results[:, :, tail:]
        begin = self._third + HEADER.size
        self._pictures = self._parts(sizes.pictures, begin, 0)
        self._last_pictures = self._parts(sizes.last_pictures, begin, 0)
        self._watched: NDArray[np.intp] | None = None

    def decode(self, slot: int, envs: NDArray[np.intp] | None = None) -> None:
        pairs = self._pairs.get(slot) or self._pair(slot)
        if envs is None:
            for into, source in pairs.quick:
                into[:] = source
            np.equal(self._dones, TERMINATED, out=pairs.terminated)
            np.equal(self._dones, TRUNCATED, out=pairs.truncated)
        else:
            _copy(pairs.plain, envs)
            pairs.terminated[envs] = self._dones[envs] == TERMINATED
            pairs.truncated[envs] = self._dones[envs] == TRUNCATED
        if self._plain:
            self.ended[...] = self._dones.all(axis=1)
        if self._task.masked:
            self._decode_masks(slot, envs)
        if self._watched is not None:
            self._draw(envs)

    def decode_final(self, slot: int, envs: NDArray[np.intp]) -> None:
        self._rows_of("final_observation", slot)[envs] = self._observations[envs]
        if self._last_pictures and not self._plain:
            last_drawn = self._buffer[LAST_DRAWN][0]
            drawn = self._drawn(envs[last_drawn[envs] != 0])
            _copy(self._last_pictures, drawn)
            last_drawn[drawn] = self._buffer["episode"][0, drawn]

    def decode_first(self, slot: int, envs: NDArray[np.intp]) -> None:
        self._rows_of("observation", slot)[envs] = self._observations[envs]
        if self._task.masked:
            self._decode_masks(slot, envs)
        if not self._plain:
            _copy(self._pictures, self._drawn(envs))

    def _decode_masks(self, slot: int, envs: NDArray[np.intp] | None) -> None:
        which = slice(None) if envs is None else envs
        self._rows_of("action_mask", slot)[which] = np.packbits(self._masks[which], axis=-1, bitorder="little")

    def numbers(self) -> dict[str, NDArray[np.int64]]:
        """Return the numbers in the results, `done` and those of the task, `(N, P)` each."""
        tails = np.ascontiguousarray(self._tails).view(TAIL_TYPE)[..., 0]
        return {name: tails[name].astype(np.int64) for name in ("done", *NUMBERS)}

    def _draw(self, envs: NDArray[np.intp] | None) -> None:
        """Write the boards that were drawn, and reset the requests for them."""
        assert self._watched is not None
        drawn = self._watched if envs is None else self._drawn(envs)
        _copy(self._pictures, drawn)
        self._buffer[LOOKED_AT][0, drawn] = 0

    def _drawn(self, envs: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the environments of `envs` whose answers contained boards."""
        if self._sizes.always_drawn:
            return envs
        return envs[:0] if self._watched is None else np.intersect1d(self._watched, envs)

    def _pair(self, slot: int) -> Slot:
        sizes, begin = self._sizes, self._second + HEADER.size
        took = self._answers[:, begin : begin + 8]
        ended = self._answers[:, begin + 8 : begin + 9]
        pairs = [
            (self._rows_of("observation", slot), self._observations),
            (self._rows_of("reward", slot), self._rewards),
        ]
        records = [
            (self.took.view(np.uint8).reshape(self._count, -1), took),
            (self.ended.reshape(self._count, 1), ended),
            *self._parts(sizes.records, begin + TOOK.size, slot),
            *(self._pictures if sizes.always_drawn else ()),
        ]
        pairs += () if self._plain else records
        shape = (self._count, self._task.players)
        ends = [self._buffer[name][slot].view(np.bool_).reshape(shape) for name in ("terminated", "truncated")]
        self._pairs[slot] = found = Slot(pairs, _quick(pairs) if self._count == 1 else pairs, *ends)
        return found

    def _parts(self, fields: tuple[Field, ...], begin: int, slot: int) -> Pairs:
        """Pair the fields of a body that begins at byte `begin` with their rows in the buffer."""
        pairs = []
        for item in fields:
            size = self._sizes.bytes_of(item)
            rows = self._buffer[item.name][slot if item.timed else 0]
            pairs.append((_bytes(rows, (self._count, -1)), self._answers[:, begin : begin + size]))
            begin += size
        return pairs

    def _rows_of(self, name: str, slot: int) -> Array:
        return _bytes(self._buffer[name][slot], (self._count, self._task.players, -1))


def _copy(pairs: Pairs, envs: NDArray[np.intp]) -> None:
    """Copy the bytes of some environments."""
    for into, source in pairs:
        into[envs] = source[envs]


def _quick(pairs: Pairs) -> list[tuple[Any, Any]]:
    """Return the pairs of the only environment, those with contiguous bytes as memory views."""
    return [
        (into.reshape(-1).data, source.reshape(-1).data) if source.flags.c_contiguous else (into, source)
        for into, source in pairs
    ]


def _bytes(rows: Array, shape: tuple[int, ...]) -> Array:
    """Return the bytes of contiguous rows, a view of `shape`."""
    flat: Array = rows.reshape(-1).view(np.uint8)
    return flat.reshape(shape)
