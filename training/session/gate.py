"""The gate: where the training thread is paused, stepped, slowed, interrupted and stopped, unknown to the algorithm.

Its state is a few words in shared memory, so that any process of the session can pass the same gate.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path

from ...backends.segment import Segment
from ..trainer import Interrupted, Stopped

MAX_NAP = 0.05  # s between two looks at the words while the gate is closed or slow
LONGEST_PERIOD = 2**62  # ns, what a word can hold


class Word(IntEnum):
    """Index of each 64-bit word."""

    ATTENTION = 0  # 0: pass freely; anything else: look at the others
    STOP = 1
    INTERRUPT = 2
    PAUSED = 3
    CREDITS = 4  # steps that may pass although paused
    PERIOD = 5  # least ns between two passes, 0 = no limit


class Gate:
    """What the training thread passes before every step.

    Args:
        directory: Where the words stand, as the segment `gate`.
        waiting: Called some ten times a second while the gate is closed, in the training thread.

    Attributes:
        attention: One word: as long as it is 0, `enter` does nothing, and who counts microseconds need not call it.
    """

    def __init__(self, directory: Path, waiting: Callable[[], None] = lambda: None) -> None:
        self._segment = Segment.create("gate", 8 * len(Word), directory=directory)
        self._words = memoryview(self._segment.map).cast("q")
        self.attention = self._words[Word.ATTENTION :][:1]
        self._changed = threading.Condition()
        self._waiting = waiting
        self._next_pass = 0
        self._sps, self._num_envs = 0.0, 1

    @property
    def paused(self) -> bool:
        """Whether the gate is closed, steps on credit aside."""
        return bool(self._words[Word.PAUSED])

    @property
    def credits(self) -> int:
        """Steps that may still pass while paused."""
        return self._words[Word.CREDITS]

    @property
    def spare(self) -> float:
        """Seconds for which the next step is held back as it is: by the speed limit, or for ever by a pause."""
        if self.paused:
            return math.inf
        return max(0, self._next_pass - time.monotonic_ns()) / 1e9 if self._words[Word.PERIOD] else 0.0

    @property
    def stopping(self) -> bool:
        """Whether the next pass raises `Stopped`."""
        return bool(self._words[Word.STOP])

    def _set(self, **words: int) -> None:
        with self._changed:
            for name, value in words.items():
                self._words[Word[name]] = value
            self._words[Word.ATTENTION] = any(self._words[word] for word in Word if word is not Word.ATTENTION)
            self._changed.notify_all()

    def pause(self) -> None:
        """Close the gate before the next step."""
        self._set(PAUSED=1, CREDITS=0)

    def resume(self) -> None:
        """Open the gate."""
        self._set(PAUSED=0, CREDITS=0)

    def step(self, count: int) -> None:
        """Let `count` steps pass, then stay closed."""
        self._set(PAUSED=1, CREDITS=count)

    def set_speed(self, sps: float) -> None:
        """Let at most so many steps per second through, of all environments together; 0 is no limit."""
        self._sps = sps if math.isfinite(sps) else 0.0
        self._set_period()

    def set_num_envs(self, num_envs: int) -> None:
        """Count every pass as a step of so many environments, so that the speed limit holds at any N."""
        self._num_envs = num_envs
        self._set_period()

    def _set_period(self) -> None:
        period = min(1e9 * self._num_envs / self._sps, LONGEST_PERIOD) if self._sps > 0 else 0
        self._next_pass = 0
        self._set(PERIOD=int(period))

    def interrupt(self) -> None:
        """Raise `Interrupted` at the next pass, also of a closed gate."""
        self._set(INTERRUPT=1)

    def calm(self) -> None:
        """Forget an interruption that nobody has met yet: what it was for is done."""
        self._set(INTERRUPT=0)

    def stop(self) -> None:
        """Raise `Stopped` at every pass from now on."""
        self._set(STOP=1)

    def enter(self) -> bool:
        """Pass, or wait until that is allowed. Return whether it had to wait.

        Raises:
            Stopped: The session is to end.
            Interrupted: The session wants the training thread between two steps.
        """
        if not self._words[Word.ATTENTION]:
            return False
        self._check()
        waited = self.hold()
        with self._changed:  # who pauses meanwhile takes all credits away
            if self._words[Word.CREDITS]:
                self._set(CREDITS=self._words[Word.CREDITS] - 1)
        return self._slow_down() or waited

    def hold(self) -> bool:
        """Wait as long as no step may pass, and pass none. Return whether it had to wait; raises as `enter` does."""
        waited = False
        while self._words[Word.PAUSED] and not self._words[Word.CREDITS]:
            waited = True
            self._waiting()
            with self._changed:
                if self._words[Word.PAUSED] and not self._words[Word.CREDITS]:
                    self._changed.wait(MAX_NAP)
            self._check()
        return waited

    def _check(self) -> None:
        if self._words[Word.STOP]:
            raise Stopped
        if self._words[Word.INTERRUPT]:
            self._set(INTERRUPT=0)
            raise Interrupted

    def _slow_down(self) -> bool:
        """Sleep until the speed limit lets the next pass through."""
        waited = False
        while (period := self._words[Word.PERIOD]) and (left := self._next_pass - time.monotonic_ns()) > 0:
            waited = True
            self._waiting()
            with self._changed:
                self._changed.wait(min(left / 1e9, MAX_NAP))
            self._check()
        self._next_pass = max(self._next_pass, time.monotonic_ns() - period) + period
        return waited
