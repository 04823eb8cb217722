"""The answers of a server: frames gathered from the environment's memory without a copy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...envs.fields import Array
from ..servers.hosting import HostedEnvironment
from .protocol import HEADER, NUMBERS, TAIL, TERMINATED, TOOK, TRUNCATED, FrameKind, FrameSizes


class Responses:
    """The answers of one environment, as lists of views that are sent in one call."""

    def __init__(self, host: HostedEnvironment, sizes: FrameSizes) -> None:
        task, self.host, self._count = host.task, host, host.task.num_actions
        self._masks = np.ones((task.players, task.num_actions), np.uint8)
        self._tails = bytearray(TAIL.size * task.players)
        self._head, self._more = bytearray(HEADER.size), bytearray(HEADER.size + TOOK.size)
        self._last = bytearray(HEADER.size)
        self._record, self._board = sizes.record, sizes.board
        # After an end the observation is `final_observation`.
        self._observations = [[_bytes(row) for row in host.rows[name]] for name in ("observation", "final_observation")]
        self._results = [self._gather(rows) for rows in self._observations]
        self._tail = [memoryview(self._more), *(_bytes(host.rows[item.name]) for item in sizes.records)]
        self._boards = [
            [memoryview(self._last), *(_bytes(host.rows[item.name]) for item in fields)]
            for fields in (sizes.pictures, sizes.last_pictures)
        ]
        self._rewards, self._truncated = host.rows["reward"].data, host.rows["truncated"].data
        self._terminated = host.rows["terminated"].data
        known = {item.name for item in task.info if not item.shape}
        self._numbers = [
            (np.broadcast_to(host.rows[name] if name in known else 0, task.players).data, int(np.iinfo(code).max))
            for name, code in NUMBERS.items()
        ]
        self._body = sizes.result * task.players
        self._nameless = not known.intersection(NUMBERS)
        self._nothing = [(0,) * len(NUMBERS)] * task.players

    def results(self, kind: FrameKind, ident: int, nanoseconds: int, *, record: bool, board: bool) -> list[memoryview]:
        """Return the answer to a reset or a step, with the RECORD and BOARD that follow it."""
        ended = self.host.ended
        self._refresh_masks()
        self._refresh_tails()
        HEADER.pack_into(self._head, 0, kind, ident, self._body)
        views = self._results[ended]
        if record:
            HEADER.pack_into(self._more, 0, FrameKind.RECORD, ident, self._record)
            TOOK.pack_into(self._more, HEADER.size, nanoseconds, ended)
            views = views + self._tail
        if record and board:
            HEADER.pack_into(self._last, 0, FrameKind.BOARD, ident, self._board)
            views = views + self._boards[ended]
        return views

    def observation(self, ident: int) -> bytes:
        """Return the answer to an OBSERVE_REQ."""
        observations, masks = self._observations[self.host.ended], self.host.observe()[1].astype(np.uint8)
        body = b"".join(bytes(row) + mask.tobytes() for row, mask in zip(observations, masks, strict=True))
        return HEADER.pack(FrameKind.OBSERVE_RESP, ident, len(body)) + body

    def _gather(self, observations: list[memoryview]) -> list[memoryview]:
        tails, size = memoryview(self._tails), TAIL.size
        views = [memoryview(self._head)]
        for seat, observation in enumerate(observations):
            views += [observation, _bytes(self._masks[seat]), tails[seat * size : (seat + 1) * size]]
        return views

    def _refresh_masks(self) -> None:
        host = self.host
        if host.task.masked and not host.ended:
            packed = host.rows["action_mask"]
            self._masks[...] = np.unpackbits(packed, axis=-1, count=self._count, bitorder="little")
        else:
            self._masks.fill(not host.ended)

    def _refresh_tails(self) -> None:
        for seat, numbers in enumerate(self._nothing if self._nameless else self._seat_numbers()):
            done = TERMINATED if self._terminated[seat] else TRUNCATED if self._truncated[seat] else 0
            TAIL.pack_into(self._tails, seat * TAIL.size, self._rewards[seat], done, *numbers)

    def _seat_numbers(self) -> Iterator[tuple[int, ...]]:
        """Yield each seat's numbers, clipped to the range of their types."""
        columns = [
            [n if 0 <= n <= most else max(0, min(n, most)) for n in rows.tolist()] for rows, most in self._numbers
        ]
        return zip(*columns, strict=True)


def _bytes(rows: Array) -> memoryview:
    flat: Array = rows.reshape(-1).view(np.uint8)
    return memoryview(flat.data)
