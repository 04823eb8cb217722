"""The words through which a fleet and a worker talk: a request and a reply, each a counter that the other side watches.

A side that waits looks a few times, then yields its core for a bounded time, then blocks. It says so in a word of its
own before it blocks, and the other side, behind a fence, wakes it only then: a quick exchange makes no system call.

Where workers take all cores, each keeps to one, and the fleet shares that of one of them. To yield is not enough there:
Linux's scheduler may let the one that yields go on, so that worker blocks at once.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable
from contextlib import suppress

from ..system.futex import STRONGLY_ORDERED, fence, wait_on, wake_up
from ..system.segment import Segment

BLOCK = 128
"""Bytes per worker: a cache line that the fleet writes, and one that the worker writes."""
MASK_32 = 0xFFFF_FFFF

REQUEST = 0
ORDER = 1
FLEET_BLOCKED = 2
FLEET_CORE = 3
SEED = 2
"""Of the fleet's line: the request's counter, its order, whether the fleet is blocked, the core where it is (words),
the seed (quad)."""
REPLY = 16
WORKER_BLOCKED = 17
STATE = 18
BUSY = 10
BEAT = 11
STEPS = 12
NUMBER = 13
"""Of the worker's line: the reply's counter, whether the worker is blocked, its state (words), then (quads) nanoseconds
that its last request took, the time of its last sign of life, steps done, and a number that it tells."""

STEP = 0
RESET = 1 << 28
RESEED = 2 << 28
CLOSE = 3 << 28
SAVE = 4 << 28
LOAD = 5 << 28
ARGUMENT = (1 << 28) - 1
"""An order is one of these plus an argument below 2**28."""

NO_CORE = MASK_32
"""No core."""

STARTING = 0
READY = 1
FAILED = 2
REFUSED = 3

POLLS = range(200)
LONG_SPIN = 1_000_000
"""Nanoseconds that a side yields before it blocks, as long as answers come within that time."""
SHORT_SPIN = 100_000
"""The same for a fleet whose workers want all cores: it yields to them, and is there when they are done."""
SLOW_YIELD = 100_000
"""Nanoseconds above which a yield has lost a time slice."""
MOST_SKIPPED = 4096
"""Waits that then do without yielding, at most: twice as many each time, down again while yields are quick."""
IDLE = 0.5
"""Seconds between two signs of life of a worker that has nothing to do."""


def size_of(workers: int) -> int:
    """Bytes of the control segment of a fleet."""
    return BLOCK * workers


class SpinWait:
    """How long one side yields its core before it blocks.

    Yielding keeps the core awake, where a wake-up costs some 50 us, and now and then 600 on a virtual machine. It pays
    only while answers come soon and while nobody else wants the core: a yield that takes long has given a time slice
    away, so the next wait blocks at once, and after another one of those twice as many.

    Args:
        limit: Nanoseconds to yield at most; 0 never to yield.
    """

    def __init__(self, limit: int) -> None:
        self._limit = self._budget = limit
        self._skip = 0
        self._next = 1

    def wait_for_change(self, words: memoryview, index: int, old: int, most: int = LONG_SPIN) -> bool:
        """Yield until a word is no longer `old`, at most for `most` ns; return whether that came true in time."""
        return self.wait_until(lambda: words[index] != old, most)

    def wait_until(self, look: Callable[[], object], most: int = LONG_SPIN) -> bool:
        """Yield until `look` finds something, at most for `most` ns; return whether it did."""
        if not self._budget:
            return False
        if self._skip:
            self._skip -= 1
            return False
        now = time.monotonic_ns()
        end = now + min(self._budget, most)
        while now < end and not self._skip:
            os.sched_yield()
            if look():
                self._next = max(1, self._next // 2)
                return True
            before, now = now, time.monotonic_ns()
            if now - before > SLOW_YIELD:
                self._skip = self._next
                self._next = min(MOST_SKIPPED, 2 * self._next)
        return False

    def learn(self, took: int) -> None:
        """Expect the next answer to take as long as the last one, which took so many ns."""
        self._budget = self._limit if took < self._limit else 0


class ControlBlock:
    """One worker's words in the control segment.

    Attributes:
        words: 32-bit words.
        quads: The same memory as 64-bit words.
        request: Address of the request's counter.
        reply: Address of the reply's counter.
    """

    def __init__(self, segment: Segment, index: int) -> None:
        part = memoryview(segment.map)[BLOCK * index : BLOCK * (index + 1)]
        self.words = part.cast("I")
        self.quads = part.cast("Q")
        self._anchor = ctypes.c_char.from_buffer(segment.map, BLOCK * index)
        self.request, self.reply = (
            ctypes.c_void_p(ctypes.addressof(self._anchor) + 4 * word) for word in (REQUEST, REPLY)
        )

    def post(self, order: int) -> int:
        """Give the worker an order; return the counter that its reply will have."""
        words = self.words
        ticket = (words[REQUEST] + 1) & MASK_32
        words[ORDER] = order
        if not STRONGLY_ORDERED:
            fence()
        words[REQUEST] = ticket
        return ticket

    def wake(self) -> None:
        """Wake the worker if it is blocked; call behind a fence."""
        if self.words[WORKER_BLOCKED]:
            wake_up(self.request)

    def block_on_reply(self, ticket: int, seconds: float) -> None:
        """Block until the worker replies or is in trouble, at most so long."""
        words = self.words
        words[FLEET_BLOCKED] = 1
        fence()
        found = words[REPLY]
        if found != ticket:
            wait_on(self.reply, found, seconds)
        words[FLEET_BLOCKED] = 0


class Link:
    """A worker's end.

    Args:
        segment: The control segment.
        index: The worker's number.
        parent: The fleet's process.
        spin: Nanoseconds it may yield before it blocks; 0 where workers outnumber cores.

    Attributes:
        patience: How long it yields its core before it blocks.
    """

    def __init__(self, segment: Segment, index: int, parent: int, spin: int) -> None:
        self._block = ControlBlock(segment, index)
        self._parent = parent
        self.patience = SpinWait(spin)
        self._words = self._block.words
        self._quads = self._block.quads
        self._seen = self._words[REQUEST]
        self._core = -1

    def pin_to(self, core: int) -> None:
        """Run on this core alone; where the fleet is there, too, leave it to the fleet as soon as a request is done."""
        with suppress(OSError):  # the core may have been taken away meanwhile: then anywhere
            os.sched_setaffinity(0, {core})
            self._core = core

    def ready(self) -> None:
        """Say that requests can come."""
        self.beat()
        fence()  # before the number that `tell` left
        self._words[STATE] = READY
        self._wake()

    def beat(self, steps: int | None = None) -> None:
        """Give a sign of life, for workers whose requests take long, or who count their steps themselves."""
        self._quads[BEAT] = time.monotonic_ns()
        if steps is not None:
            self._quads[STEPS] = steps

    @property
    def closing(self) -> bool:
        """Whether the fleet said to close."""
        return self._words[REQUEST] != self._seen and self._words[ORDER] == CLOSE

    def idle(self) -> None:
        """Give a sign of life while there is nothing to do.

        Raises:
            SystemExit: The fleet's process is gone.
        """
        self.beat()
        if os.getppid() != self._parent:
            raise SystemExit(0)

    def tell(self, number: int) -> None:
        """Tell the fleet a number, such as the port that a server listens on."""
        self._quads[NUMBER] = number

    def receive(self) -> int:
        """Wait for the next order and return it.

        Raises:
            SystemExit: The fleet's process is gone.
        """
        words, seen = self._words, self._seen
        if words[FLEET_CORE] == self._core:
            self._block_until_asked(seen)
        else:
            for _ in POLLS:
                if words[REQUEST] != seen:
                    break
            else:
                self._wait(seen)
        if not STRONGLY_ORDERED:
            fence()
        self._seen = words[REQUEST]
        return words[ORDER]

    def reply(self, begun: int, steps: int = 1) -> None:
        """Say that the order is done: begun at `begun`, in ns of the monotonic clock, it was so many steps."""
        words, quads = self._words, self._quads
        if not STRONGLY_ORDERED:
            fence()
        words[REPLY] = self._seen
        # The reply comes first: the figures may be a step late.
        quads[BEAT] = now = time.monotonic_ns()
        quads[BUSY] = now - begun
        quads[STEPS] += steps
        fence()
        if words[FLEET_BLOCKED]:
            wake_up(self._block.reply)
            if words[FLEET_CORE] != self._core:
                os.sched_yield()  # to the one just woken, who may be waiting for this very core

    def trouble(self, state: int) -> None:
        """Say that the order failed; the report stands in a file."""
        self._words[STATE] = state
        self._wake()

    @property
    def seed(self) -> int:
        """The seed that came with the order."""
        return self._quads[SEED]

    @property
    def steps(self) -> int:
        """Steps done."""
        return self._quads[STEPS]

    def _wake(self) -> None:
        fence()
        if self._words[FLEET_BLOCKED]:
            wake_up(self._block.reply)

    def _wait(self, seen: int) -> None:
        """Yield for a while, if the last request came soon, then block."""
        words, begun = self._words, time.monotonic_ns()
        if not self.patience.wait_for_change(words, REQUEST, seen):
            self._block_until_asked(seen)
            self.patience.learn(time.monotonic_ns() - begun)

    def _block_until_asked(self, seen: int) -> None:
        words = self._words
        words[WORKER_BLOCKED] = 1
        while words[REQUEST] == seen:
            wait_on(self._block.request, seen, IDLE)
            if words[REQUEST] == seen:
                self.idle()
        words[WORKER_BLOCKED] = 0
