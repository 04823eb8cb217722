"""A mailbox in shared memory, through which a learner publishes what it has learned.

It has two slots and a version. The learner fills the slot that readers do not use, and then raises the version. A
reader copies the current slot and reads the slot's sequence number before and afterwards: it is odd while the learner
writes. So nobody waits, and no reader gets tensors of two versions.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ...backends.system.arrays import ArraySpec, NamedArrays
from ...backends.system.futex import fence, wait_on, wake_up
from ...backends.workers.control import MASK_32
from ...envs import PacError
from ...envs.fields import Array

SLOTS = 2
TRIES = 10_000


class NeverWhole(PacError):
    """The content of a mailbox was replaced during every attempt to read it."""

    title = "Weights cannot be read"


class Sizes(NamedTuple):
    """The sizes of what is published.

    Attributes:
        tensors: The number of float32 numbers of all tensors.
        counts: The number of int64 numbers.
        metrics: The number of float64 numbers.
    """

    tensors: int
    counts: int
    metrics: int


def specs_of(sizes: Sizes) -> dict[str, ArraySpec]:
    """Return the arrays of a mailbox: the version, a sequence number per slot, and the slots."""
    return {
        "version": ArraySpec((1,), "int64"),
        "sequence": ArraySpec((SLOTS, 8), "int64"),
        "tensors": ArraySpec((SLOTS, sizes.tensors), "float32"),
        "counts": ArraySpec((SLOTS, sizes.counts), "int64"),
        "metrics": ArraySpec((SLOTS, sizes.metrics), "float64"),
    }


class Mailbox:
    """A mailbox for float32 tensors and some numbers. One process publishes; any number of them read.

    Args:
        arrays: Made with `specs_of`.
        layout: Tensors by name, in the order in which they are stored. Only their shapes matter.
    """

    def __init__(self, arrays: NamedArrays, layout: Mapping[str, Tensor]) -> None:
        self._version, self._sequence = arrays["version"], arrays["sequence"][:, 0]
        self._counts, self._metrics = arrays["counts"], arrays["metrics"]
        sizes = [one.numel() for one in layout.values()]
        slots = [torch.split_with_sizes(torch.from_numpy(slot), sizes) for slot in arrays["tensors"]]
        self._slots = [
            {name: part.view(one.shape) for (name, one), part in zip(layout.items(), parts, strict=True)}
            for parts in slots
        ]

    @property
    def version(self) -> int:
        """How often something was published."""
        return int(self._version[0])

    @torch.no_grad()
    def publish(self, tensors: Mapping[str, Tensor], counts: Array, metrics: Array) -> None:
        """Replace the content.

        Args:
            tensors: All tensors of the layout, on any device.
            counts: Integers.
            metrics: Numbers.
        """
        slot = (self.version + 1) % SLOTS
        self._sequence[slot] |= 1  # a writer that died may have left it odd
        fence()
        _copy(self._slots[slot], tensors)
        self._counts[slot], self._metrics[slot] = counts, metrics
        fence()
        self._sequence[slot] += 1
        fence()
        self._version[0] += 1

    @torch.no_grad()
    def read(self, into: Mapping[str, Tensor]) -> tuple[int, Array, Array]:
        """Copy tensors of the newest version into those of the same names; return the version, counts and metrics.

        Raises:
            NeverWhole: New versions came faster than one could be copied.
        """
        for _ in range(TRIES):
            version = self.version
            slot = version % SLOTS
            before = int(self._sequence[slot])
            fence()
            _copy(into, {name: self._slots[slot][name] for name in into})
            counts, metrics = self._counts[slot].copy(), self._metrics[slot].copy()
            fence()
            if before % 2 == 0 and int(self._sequence[slot]) == before:
                return version, counts, metrics
        raise NeverWhole(f"new weights were published {TRIES:,} times while they were read: raise publish_interval")


def _copy(targets: Mapping[str, Tensor], sources: Mapping[str, Tensor]) -> None:
    if targets:
        torch._foreach_copy_(list(targets.values()), [sources[name] for name in targets])


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
