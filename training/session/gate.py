"""The gate pauses, steps, slows, interrupts and stops a training; the algorithm need not know about it.

The state of the gate is a few words in shared memory. Only the session's process writes them. Every thread or process
that obeys them reads them before each of its steps, and counts its own passes. So no word has two writing processes, no
lock is shared, and a process that dies while it passes leaves nothing behind. A thread that has to wait blocks on the
word `CHANGES`, which every change increments.
"""

from __future__ import annotations

import ctypes
import math
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, MutableSequence
from enum import IntEnum
from pathlib import Path

import numpy as np

from ...backends.system.futex import fence, wait_on, wake_up
from ...backends.system.segment import Segment, is_owned
from ...backends.workers.control import MASK_32
from ..trainer import Interrupted, Stopped
from .control import SessionGone

NAME = "gate"
POLL_INTERVAL = 0.05  # s between two calls of `waiting` while the gate is closed or slow
OWNER_CHECK = 1.0  # s between two checks by an attached process that the session's process is alive
MAX_LAG = 10**7  # ns, the most by which later passes may come earlier to make up for late ones
MAX_PERIOD = 2**62  # ns, fits into a word
GRANT_SIZE = 2**32  # a grant is its number times this, plus the passes that it allows


class Word(IntEnum):
    """Index of each 64-bit word."""

    ATTENTION = 0  # 0: pass freely; anything else: read the other words
    CHANGES = 1  # 32 bits, incremented by every change
    GRANT = 2  # how many passes are allowed although paused; one word, so that a reader never gets half of a new grant
    STOP = 3
    INTERRUPT = 4
    PAUSED = 5
    PERIOD = 6  # shortest time between two passes in ns, 0 = no limit
    ENDED = 7  # the training is over


REASONS = (Word.STOP, Word.INTERRUPT, Word.PAUSED, Word.PERIOD, Word.ENDED)


class BaseGate(ABC):
    """A gate as one thread passes it. It reads the gate's words and counts its own passes.

    Attributes:
        attention: One number. While it is 0, `enter` does nothing; a caller for which microseconds count may skip it.
    """

    poll_interval: float
    """Seconds after which a waiting thread checks again at the latest."""

    def __init__(self, segment: Segment, waiting: Callable[[], None] = lambda: None) -> None:
        self._waiting = waiting
        self._words = memoryview(segment.map).cast("q")
        self._changes = memoryview(segment.map).cast("I")[2 * Word.CHANGES :][:1]
        start = np.frombuffer(segment.map, np.uint8).ctypes.data  # ctypes does not accept read-only memory
        self._address = ctypes.c_void_p(start + 8 * Word.CHANGES)
        self.attention: MutableSequence[int] | memoryview[int] = self._words[Word.ATTENTION :][:1]
        self._grant, self._passed = divmod(self._words[Word.GRANT], GRANT_SIZE)  # earlier grants do not count here
        self._period = self._last = 0

    @property
    def paused(self) -> bool:
        """Whether the gate is closed, apart from steps that were granted."""
        return bool(self._words[Word.PAUSED])

    @property
    def credits(self) -> int:
        """Steps that may still pass here while paused."""
        grant, allowed = divmod(self._words[Word.GRANT], GRANT_SIZE)
        return max(0, allowed - self._passed) if grant == self._grant else allowed

    @property
    def wait_seconds(self) -> float:
        """Seconds until the next step is allowed by the speed limit; infinite while paused."""
        return math.inf if self.paused else self._delay()

    @property
    def stopping(self) -> bool:
        """Whether the next pass raises `Stopped`."""
        return bool(self._words[Word.STOP])

    def enter(self) -> bool:
        """Pass the gate as soon as that is allowed. Return whether it had to wait.

        Raises:
            Stopped: The session is to end, or has ended.
            Interrupted: There is a request for the training thread; not raised in attached processes.
        """
        if not self.attention[0]:
            return False
        waited = self._wait_while(lambda: math.inf if self._is_closed else self._delay())
        self._count_pass()
        return waited

    def wait_until_open(self) -> bool:
        """Wait while the gate is closed, without passing. Return whether it had to wait; raises as `enter` does."""
        return self._wait_while(lambda: math.inf if self._is_closed else 0.0)

    @property
    def _is_closed(self) -> bool:
        return self.paused and not self.credits

    def _delay(self) -> float:
        """Return the seconds until the speed limit allows the next step; the first one after a change is allowed."""
        period = self._words[Word.PERIOD]
        if not period or period != self._period:
            return 0.0
        return max(0, self._last + period - time.monotonic_ns()) / 1e9

    def _wait_while(self, seconds_left: Callable[[], float]) -> bool:
        waited = False
        while True:
            seen = self._changes[0]
            fence()  # a change after this is either seen now or ends the wait
            self._check()
            if seconds_left() <= 0:
                return waited
            waited = True
            self._waiting()
            wait_on(self._address, seen, min(seconds_left(), self.poll_interval))

    def _count_pass(self) -> None:
        if self.paused:
            grant = self._words[Word.GRANT] // GRANT_SIZE
            self._passed = self._passed + 1 if grant == self._grant else 1
            self._grant = grant
        if period := self._words[Word.PERIOD]:
            now = time.monotonic_ns()
            # A late pass lets the next ones come earlier, so that the limit is reached on average.
            lag = max(period, MAX_LAG)
            self._last = max(self._last + period, now - lag) if period == self._period else now
            self._period = period

    @abstractmethod
    def _check(self) -> None:
        """Raise `Stopped` or `Interrupted` if there is a reason."""


class Gate(BaseGate):
    """The gate of a session: its training thread passes it, its other threads change it.

    Args:
        directory: Where to create the words, as the segment `gate`.
        waiting: Called every `POLL_INTERVAL` seconds while the training thread waits, in that thread.
    """

    poll_interval = POLL_INTERVAL

    def __init__(self, directory: Path, waiting: Callable[[], None] = lambda: None) -> None:
        super().__init__(Segment.create(NAME, 8 * len(Word), directory=directory), waiting)
        self.attention = [0]  # a microsecond faster than shared memory between two steps of a training
        self._changing = threading.RLock()  # orders the threads of this process; a signal handler may stop, too
        self._sps, self._num_envs = 0.0, 1

    @classmethod
    def attach(cls, directory: Path, waiting: Callable[[], None] = lambda: None) -> AttachedGate:
        """Return the gate of the session in `directory`, for another process or thread.

        Pause, speed limit and stop hold for all attached threads. A `step` of n lets each of them pass n times, and a
        speed limit lets each of them pass as often as the session's own thread. Interruptions concern only that one.
        Use one attached gate per thread. It need not be closed.

        Args:
            directory: The session's directory.
            waiting: Called about once a second while a thread waits; may raise an error.

        Raises:
            SessionGone: There is no gate, or its session has ended.
        """
        return AttachedGate(directory, waiting)

    def pause(self) -> None:
        """Close the gate before the next step."""
        self._allow(0, paused=True)

    def resume(self) -> None:
        """Open the gate."""
        self._allow(0, paused=False)

    def step(self, count: int) -> None:
        """Allow `count` more steps, at most 2**32 - 1, and stay closed after them."""
        self._allow(count, paused=True)

    def set_speed(self, sps: float) -> None:
        """Limit the steps per second of all environments together; 0 is no limit."""
        with self._changing:
            self._sps = sps if math.isfinite(sps) else 0.0
            self._set_period()

    def set_num_envs(self, num_envs: int) -> None:
        """Count each pass as a step of so many environments, so that the speed limit holds at any N."""
        with self._changing:
            self._num_envs = num_envs
            self._set_period()

    def interrupt(self) -> None:
        """Raise `Interrupted` at the training thread's next pass, even if the gate is closed."""
        self._change(INTERRUPT=1)

    def cancel_interrupt(self) -> None:
        """Cancel an interruption that was not raised yet."""
        self._change(INTERRUPT=0)

    def stop(self) -> None:
        """Raise `Stopped` at every pass from now on."""
        self._change(STOP=1)

    def close(self) -> None:
        """Note that the training is over: attached processes get `Stopped`; the training thread passes freely."""
        self._change(PAUSED=0, PERIOD=0, ENDED=1)

    def _allow(self, count: int, *, paused: bool) -> None:
        with self._changing:
            grant = (self._words[Word.GRANT] // GRANT_SIZE + 1) % (GRANT_SIZE // 2)
            self._change(GRANT=grant * GRANT_SIZE + count, PAUSED=paused)

    def _set_period(self) -> None:
        period = min(1e9 * self._num_envs / self._sps, MAX_PERIOD) if self._sps > 0 else 0
        self._change(PERIOD=int(period))

    def _change(self, **words: int) -> None:
        with self._changing:
            for name, value in words.items():
                self._words[Word[name]] = value
            self._words[Word.ATTENTION] = self.attention[0] = int(any(self._words[word] for word in REASONS))
            fence()
            self._changes[0] = (self._changes[0] + 1) & MASK_32
        wake_up(self._address)

    def _check(self) -> None:
        if self.stopping:
            raise Stopped
        if self._words[Word.INTERRUPT]:
            self.cancel_interrupt()
            raise Interrupted


class AttachedGate(BaseGate):
    """The gate of another process, mapped read-only."""

    poll_interval = OWNER_CHECK

    def __init__(self, directory: Path, waiting: Callable[[], None] = lambda: None) -> None:
        self._directory, self._next_check = directory, time.monotonic() + OWNER_CHECK
        try:
            super().__init__(Segment.attach(directory / NAME), waiting)
        except OSError as error:
            raise SessionGone(f"there is no session at {directory}: {error.strerror}") from error
        if not is_owned(directory):
            raise SessionGone(f"the session at {directory} has ended: attach to a running one")

    def enter(self) -> bool:
        """Pass the gate, see `BaseGate.enter`. If the session was killed, also an open gate raises `Stopped`."""
        self._check_owner()
        return super().enter()

    def _check(self) -> None:
        if self.stopping or self._words[Word.ENDED]:
            raise Stopped
        self._check_owner()

    def _check_owner(self) -> None:
        if time.monotonic() >= self._next_check:
            if not is_owned(self._directory):
                raise Stopped
            self._next_check = time.monotonic() + OWNER_CHECK
