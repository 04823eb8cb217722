"""What the actor and the learners exchange besides weights: counts and calls in shared memory, without locks.

Each word has one writer: the actor writes its calls, the decisions and the place of the ring; each learner writes its
own row of `updates` and `answers`.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Mapping
from typing import Any

from ...backends.system.arrays import ArraySpec, NamedArrays
from ...backends.system.futex import fence, wait_on, wake_up
from ...backends.workers.control import MASK_32
from ...envs.fields import Array

LINE = 16
"""32-bit words of a cache line: each writer has lines of its own."""
TEXT = 4096
"""Bytes of the place of the ring."""


def board_specs(agents: int) -> dict[str, ArraySpec]:
    return {
        "call": ArraySpec((1, LINE), "uint32"),
        "answers": ArraySpec((agents, LINE), "uint32"),
        "decisions": ArraySpec((agents, LINE), "int64"),
        "updates": ArraySpec((agents, LINE), "int64"),
        "ring": ArraySpec((1,), "int64"),
        "place": ArraySpec((TEXT,), "uint8"),
    }


class Bell:
    """A word that one process increments, and for which others wait."""

    def __init__(self, line: Array) -> None:
        self._word = line[:1]
        self._address = ctypes.c_void_p(line.ctypes.data)

    def ring(self) -> None:
        """Wake up whoever waits."""
        fence()
        self._word[0] = (int(self._word[0]) + 1) & MASK_32
        wake_up(self._address)

    def listen(self) -> int:
        """Return what `wait` needs to notice calls from now on."""
        seen = int(self._word[0])
        fence()
        return seen

    def wait(self, seen: int, seconds: float) -> None:
        """Wait for a call since `listen` returned `seen`, at most for some seconds."""
        wait_on(self._address, seen, seconds)


class Board:
    """The arrays of `board_specs`, as both sides use them.

    Attributes:
        call: The actor calls after each step, and when there is a new ring.
        answers: Each learner calls after each gradient step.
        decisions: `(agents,)` decisions that each agent has made.
        updates: `(agents,)` gradient steps that each learner has taken.
    """

    def __init__(self, arrays: NamedArrays) -> None:
        self.call = Bell(arrays["call"][0])
        self.answers = [Bell(line) for line in arrays["answers"]]
        self.decisions, self.updates = arrays["decisions"][:, 0], arrays["updates"][:, 0]
        self._ring, self._place = arrays["ring"], arrays["place"]

    @property
    def ring(self) -> int:
        """The number of the present ring; 0 if there is none yet."""
        return int(self._ring[0])

    def set_place(self, place: Mapping[str, Any]) -> None:
        """Publish the place of a new ring, as JSON data."""
        text = json.dumps(place).encode()
        self._place[: len(text)] = memoryview(text)
        self._place[len(text) :] = 0
        fence()
        self._ring[0] += 1
        self.call.ring()

    def place(self) -> tuple[int, dict[str, Any]]:
        """Return the number of the present ring, and where it is."""
        while True:
            number = self.ring
            fence()
            text = self._place.tobytes().rstrip(b"\0")
            fence()
            if number == self.ring:
                return number, json.loads(text)
