"""The control segment of a fleet: commands to workers and replies, each counted in a word that the other side polls.

A side that waits polls a few times, then yields its core for a limited time, then blocks. Before it blocks it sets a
flag, and the other side makes a system call only if that flag is set. A fast exchange makes no system call.

If there are as many workers as cores, each is pinned to a core, and the fleet runs on the core of one of them. That
worker blocks immediately: after a mere yield Linux may continue to run it.
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
"""Bytes per worker: one cache line written by the fleet, and one written by the worker."""
MASK_32 = 0xFFFF_FFFF

REQUEST = 0
COMMAND = 1
FLEET_BLOCKED = 2
FLEET_CORE = 3
SEED = 2
"""The fleet's cache line: the counter of requests, the command, whether the fleet is blocked, its core (32-bit words),
the seed (64 bits)."""
REPLY = 16
WORKER_BLOCKED = 17
STATE = 18
BUSY = 10
BEAT = 11
STEPS = 12
NUMBER = 13
PICTURE = 14
DRAWN = 15
"""The worker's cache line: the counter of replies, whether the worker is blocked, its state (32-bit words), the time
that its last request took in ns, the time of its heartbeat, the number of its steps, any number, and the times that its
last picture and all pictures took in ns (64 bits)."""

STEP = 0
RESET = 1 << 28
RESEED = 2 << 28
CLOSE = 3 << 28
SAVE = 4 << 28
LOAD = 5 << 28
TIMED = 6 << 28
ARGUMENT = (1 << 28) - 1
"""A command is one of these plus an argument below 2**28. A timed step is one whose times are noted."""

NO_CORE = MASK_32
"""No core."""

STARTING = 0
READY = 1
FAILED = 2
REFUSED = 3

POLLS = range(200)
LONG_SPIN = 1_000_000
"""Time that a side yields before it blocks, in ns, as long as answers come within that time."""
SHORT_SPIN = 100_000
"""The same for a fleet whose workers use all cores, in ns."""
SLOW_YIELD = 100_000
"""A yield that takes longer, in ns, has lost a time slice."""
MOST_SKIPPED = 4096
"""The largest number of waits without yielding after that. It doubles each time, and halves after fast yields."""
IDLE = 0.5
"""Time between two heartbeats of an idle worker, in s."""


def size_of(workers: int) -> int:
    """Return the size of the control segment of a fleet, in bytes."""
    return BLOCK * workers


class SpinWait:
    """Decides how long one side yields its core before it blocks.

    Yielding keeps the core awake: a wake-up takes about 50 us, and sometimes 600 us on a virtual machine. It is useful
    only while answers come soon and no other process needs the core. After a yield that lost a time slice the next wait
    blocks immediately; after another one the next two do, and so on.

    Args:
        limit: The longest time to yield, in ns; 0 to never yield.
    """

    def __init__(self, limit: int) -> None:
        self._limit = self._budget = limit
        self._skip = 0
        self._next = 1

    def wait_until(self, condition: Callable[[], object]) -> bool:
        """Yield until `condition` is true, at most until the limit; return whether it became true."""
        if not self._budget:
            return False
        if self._skip:
            self._skip -= 1
            return False
        now = time.monotonic_ns()
        end = now + self._budget
        while now < end and not self._skip:
            os.sched_yield()
            if condition():
                self._next = max(1, self._next // 2)
                return True
            before, now = now, time.monotonic_ns()
            if now - before > SLOW_YIELD:
                self._skip = self._next
                self._next = min(MOST_SKIPPED, 2 * self._next)
        return False

    def learn(self, took: int) -> None:
        """Yield in the next wait only if the last answer, which took `took` ns, came within the limit."""
        self._budget = self._limit if took < self._limit else 0


class ControlBlock:
    """One worker's block of the control segment.

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

    def post(self, command: int) -> int:
        """Give the worker a command; return the counter of its reply."""
        words = self.words
        ticket = (words[REQUEST] + 1) & MASK_32
        words[COMMAND] = command
        if not STRONGLY_ORDERED:
            fence()  # whoever sees the new counter must see the command, and the actions in the buffer
        words[REQUEST] = ticket
        return ticket

    def wake(self) -> None:
        """Wake the worker if it is blocked; call it after a fence."""
        if self.words[WORKER_BLOCKED]:
            wake_up(self.request)

    def block_on_reply(self, ticket: int, seconds: float) -> None:
        """Block until the worker replies or its state changes, at most for `seconds`."""
        words = self.words
        words[FLEET_BLOCKED] = 1
        # The worker writes its reply and then reads this word; we write this word and then read the reply. With a fence
        # between the two on each side, at least one of us sees the other: no wake-up is lost.
        fence()
        found = words[REPLY]
        if found != ticket:
            wait_on(self.reply, found, seconds)
        words[FLEET_BLOCKED] = 0


class Link:
    """A worker's side of its block.

    Args:
        segment: The control segment.
        index: The worker's number.
        parent: The fleet's process.
        spin: Time to yield before it blocks, in ns; 0 if there are more workers than cores.

    Attributes:
        index: The worker's number.
        patience: Decides how long it yields before it blocks.
    """

    def __init__(self, segment: Segment, index: int, parent: int, spin: int) -> None:
        self._block = ControlBlock(segment, index)
        self._parent = parent
        self.index = index
        self.patience = SpinWait(spin)
        self._words = self._block.words
        self._quads = self._block.quads
        self._seen = self._words[REQUEST]
        self._core = -1

    def pin_to(self, core: int) -> None:
        """Run on this core only; if the fleet runs on it too, block as soon as a request is done."""
        with suppress(OSError):  # the core may no longer be allowed
            os.sched_setaffinity(0, {core})
            self._core = core

    def ready(self) -> None:
        """Accept requests from now on."""
        self.beat()
        fence()  # orders the number of `set_number` before the state
        self._words[STATE] = READY
        self._wake()

    def beat(self, steps: int | None = None) -> None:
        """Update the heartbeat and the number of steps; for workers whose requests take long, or that have none."""
        self._quads[BEAT] = time.monotonic_ns()
        if steps is not None:
            self._quads[STEPS] = steps

    @property
    def closing(self) -> bool:
        """Whether the fleet asked this worker to close."""
        return self._words[REQUEST] != self._seen and self._words[COMMAND] == CLOSE

    def idle(self) -> None:
        """Update the heartbeat while there is nothing to do.

        Raises:
            SystemExit: The fleet's process is gone.
        """
        self.beat()
        if os.getppid() != self._parent:
            raise SystemExit(0)

    def set_number(self, number: int) -> None:
        """Publish a number for the fleet, such as the port of a server."""
        self._quads[NUMBER] = number

    def note_picture(self, seconds: float, spent: float) -> None:
        """Publish how long the last picture has taken, and all together."""
        self._quads[PICTURE], self._quads[DRAWN] = int(1e9 * seconds), int(1e9 * spent)

    def receive(self) -> int:
        """Wait for the next command and return it.

        Raises:
            SystemExit: The fleet's process is gone.
        """
        words, seen = self._words, self._seen
        if words[FLEET_CORE] == self._core:
            self._block_until_asked(seen)  # yielding would keep the fleet from the core that both run on
        else:
            for _ in POLLS:
                if words[REQUEST] != seen:
                    break
            else:
                self._wait(seen)
        if not STRONGLY_ORDERED:
            fence()
        self._seen = words[REQUEST]
        return words[COMMAND]

    def reply(self, begun: int, steps: int) -> None:
        """Reply that the command is done. It began at `begun`, in ns of the monotonic clock, and was `steps` steps."""
        words, quads = self._words, self._quads
        if not STRONGLY_ORDERED:
            fence()  # whoever sees the reply must see the results in the buffer
        words[REPLY] = self._seen
        # The reply comes first; the other numbers may be one step old.
        quads[BEAT] = now = time.monotonic_ns()
        quads[BUSY] = now - begun
        quads[STEPS] += steps
        fence()
        if words[FLEET_BLOCKED]:
            wake_up(self._block.reply)
            if words[FLEET_CORE] != self._core:
                os.sched_yield()  # the woken fleet may need this core

    def set_state(self, state: int) -> None:
        """Set the state `REFUSED` or `FAILED`; the report is in a file."""
        self._words[STATE] = state
        self._wake()

    @property
    def ticket(self) -> int:
        """The number of the command, which all workers of a fleet get."""
        return self._seen

    @property
    def seed(self) -> int:
        """The seed of the command."""
        return self._quads[SEED]

    @property
    def steps(self) -> int:
        """Number of steps done."""
        return self._quads[STEPS]

    def _wake(self) -> None:
        fence()
        if self._words[FLEET_BLOCKED]:
            wake_up(self._block.reply)

    def _wait(self, seen: int) -> None:
        """Yield, if the last request came soon, then block."""
        words, begun = self._words, time.monotonic_ns()
        if not self.patience.wait_until(lambda: words[REQUEST] != seen):
            self._block_until_asked(seen)
            self.patience.learn(time.monotonic_ns() - begun)

    def _block_until_asked(self, seen: int) -> None:
        words = self._words
        # Without a fence, the fleet may miss this store and not wake us. But then its request came before the system
        # call, which compares the word again and returns. `IDLE` bounds the wait in any case.
        words[WORKER_BLOCKED] = 1
        while words[REQUEST] == seen:
            wait_on(self._block.request, seen, IDLE)
            if words[REQUEST] == seen:
                self.idle()
        words[WORKER_BLOCKED] = 0
