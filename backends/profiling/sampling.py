"""Samples the stacks of all threads of this process, from the thread that calls; nothing exists before or after.

A sample needs the GIL, so it sees a thread at the next place at which that gives the GIL up: at a call, at the end of a
loop's body, or at once while native code runs without it. Whatever delays a sample makes it see what the thread does
later, and in the end that it waits; so delays are kept short:

- A thread that runs gives the GIL up after `SWITCH` instead of 5 ms, unless several threads compete for it.
- Native code that keeps the GIL is seen when it returns; the samples that were due meanwhile are counted there, too.
- A sample that came late because there was no free core is dropped: it is more likely when other threads wait.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache
from types import CodeType, FrameType
from typing import Any, TypeAlias

from ...envs.entries import out_of_reach
from ...envs.task import GOLDEN, MASK_64
from .kinds import IDLE, OTHER, WAITING, kind_of, own_file, sign_of, waits

RATE = 100.0
"""Samples per second. The times between them differ, since a loop may run at the same pace."""
SWITCH = 5e-5
"""Seconds after which a thread that runs gives up the GIL to a sample.

Less wakes the sampling thread more often while it waits, and costs several percent. At the usual 5 ms, a sample that is
due in Python comes where the next native code releases the GIL: of a script with 37 % native code, all were there.
"""
LATE = 300_000
"""Nanoseconds without a core after which a sample is dropped."""
MOST_DROPPED = 4
"""Samples that are dropped in a row at most."""
TIMER_SLACK = 29
"""The number of the system call's option for how late the system may wake a thread; usually 50 us."""
DEPTH = 100
"""Functions of a stack that are kept, the innermost."""
MOST_STACKS = 300
"""Stacks of an answer; the rarest are left out."""
MOST_ASKED = 32
"""Threads per sample of which the system is asked whether they wait."""

INTERPRETER = 1 << 20
"""Bytes from the address of the interpreter's own state within which the GIL is."""

Stack: TypeAlias = tuple[int, ...]
"""The functions from the innermost, each by the `id` of its code and the place in it."""


class Sampler:
    """Samples this process.

    Args:
        name: What the process is called.
        works: Whether its main thread's waits belong to the training; in a worker, they are time without work.
        hidden: Code of functions whose threads are left out: those of pac-tui itself.
        steps: Files and first lines of functions that are known to step or reset environments.
    """

    def __init__(
        self,
        name: str,
        *,
        works: bool = False,
        hidden: Collection[CodeType] = (),
        steps: Collection[tuple[str, int]] = frozenset(),
    ) -> None:
        self.name = name
        self._works, self._steps = works, steps
        self._hidden = {id(code): code for code in hidden}  # code compares, and hashes, all that is in it

    def sample(self, seconds: float) -> dict[str, Any]:
        """Return where this process's threads were, for so long from now; see `StackCounts.result`."""
        recording = StackCounts()
        with closing(recording), _punctual() as punctual:
            begun = now = time.perf_counter()
            number = int(begun * RATE) + 1
            due = _moment(number)
            while now < begun + seconds:
                time.sleep(max(0.0, due - now))
                now, count = time.perf_counter(), 0
                while due <= now:
                    number, count = number + 1, count + 1
                    due = _moment(number)
                found = [(ident, stack) for ident, stack, _ in _running(self._hidden, recording.codes)]
                if count and punctual.in_time():
                    punctual.compete(recording.add(found, count))
        return {
            "process": self.name,
            "pid": os.getpid(),
            "seconds": now - begun,
            **recording.result(self._steps, works=self._works),
        }

    def stacks(self) -> dict[str, Any]:
        """Return the stack of every thread now, the innermost function last."""
        threads = []
        for ident, stack, codes in _running(self._hidden, {}):
            lines = [_resolved(codes, stack, at) for at in range(0, len(stack), 2)]
            threads.append({"thread": thread_name(ident), "stack": lines[::-1]})
        return {"process": self.name, "pid": os.getpid(), "threads": threads}


class StackCounts:
    """Counts of stacks by thread.

    Attributes:
        codes: Code by its `id`, as in the stacks; kept alive, so that the ids stay theirs.
    """

    def __init__(self) -> None:
        self.codes: dict[int, CodeType] = {}
        self._waits: dict[int, bool] = {}
        self._counts: Counter[tuple[int, bool, Stack]] = Counter()
        self._names: dict[int, str] = {}
        self._calls = _Calls()
        self._seen: dict[int, set[Stack]] = {}  # of threads of which the system cannot be asked

    def add(self, found: Sequence[tuple[int, Stack]], count: int) -> int:
        """Count a sample so often; return how many of the threads did not wait."""
        running = len(found)
        for place, (ident, stack) in enumerate(found):
            waiting = self._waits.get(stack[0])
            if waiting is None:
                waiting = self._waits[stack[0]] = waits(self.codes[stack[0]])
            blocked = waiting or (self._calls.is_blocked(ident) if place < MOST_ASKED else None)
            running -= blocked is not False
            if blocked is None:
                self._seen.setdefault(ident, set()).add(stack)
            waiting = bool(blocked)
            self._counts[ident, waiting, stack] += count
            if ident not in self._names:
                self._names[ident] = thread_name(ident)
        return running

    def close(self) -> None:
        """Close the files that the samples needed."""
        self._calls.close()

    def result(self, steps: Collection[tuple[str, int]], *, works: bool) -> dict[str, Any]:
        """Return `frames`, of which each is a file, a line and a function; and `stacks`.

        A stack is the name of the thread, its kind, whether it waited, its count, and the indices of its frames, the
        outermost first. `rest` counts those left out.
        """
        frames: dict[tuple[str, int, str], int] = {}
        numbers: dict[Stack, int] = {}
        signs = {key: sign_of(code, steps) for key, code in self.codes.items()}
        shows = {key: own_file(code.co_filename).startswith("/tui/") for key, code in self.codes.items()}
        stacks: list[list[Any]] = []
        main = threading.main_thread().ident
        common = self._counts.most_common(MOST_STACKS)
        for (ident, waiting, stack), count in common:
            if any(shows[code] for code in stack[::2]):
                continue
            waits_here = waiting or len(self._seen.get(ident, ())) == 1  # it never moved
            kind = kind_of([signs[stack[at]] for at in range(len(stack) - 2, -1, -2)])
            if waits_here and kind == OTHER:
                kind = WAITING if works and ident == main else IDLE
            places = []
            for at in range(len(stack) - 2, -1, -2):
                place = numbers.get(stack[at : at + 2])
                if place is None:
                    line = _resolved(self.codes, stack, at)
                    place = numbers[stack[at : at + 2]] = frames.setdefault(line, len(frames))
                places.append(place)
            stacks.append([self._names[ident], kind, waits_here, count, places])
        rest = sum(self._counts.values()) - sum(count for _, count in common)
        return {"frames": list(frames), "stacks": stacks, "rest": rest}


def thread_name(ident: int) -> str:
    """Return the name of a thread of this process; of the main thread, an empty text."""
    if ident == threading.main_thread().ident:
        return ""
    thread = _known(ident)
    return thread.name if thread is not None else "a thread without a name"


def _known(ident: int) -> threading.Thread | None:
    known: Mapping[int, threading.Thread] = threading._active  # type: ignore[attr-defined]  # noqa: SLF001
    return known.get(ident)


def _moment(number: int) -> float:
    """Return when a sample is due, in s of a clock that all processes share: at once in all, which delays them once."""
    mixed = (number ^ number >> 7) * GOLDEN & MASK_64
    return (number + mixed / (MASK_64 + 1)) / RATE


class _Punctual:
    """Has samples of this thread come in time, and knows whether the last one did; undone at the end."""

    def __init__(self) -> None:
        self._usual = self._set = sys.getswitchinterval()
        self._delay, self._schedule, self._dropped = 0, -1, 0
        if sys.platform == "linux":
            with suppress(OSError):
                name = f"/proc/self/task/{threading.get_native_id()}/schedstat"
                self._schedule = out_of_reach(os.open(name, os.O_RDONLY | os.O_CLOEXEC))
            self.in_time()
            _set_timer_slack(1)
        self.compete(1)

    def compete(self, threads: int) -> None:
        """Switch threads soon, unless several compete for the GIL, or the program has chosen when to switch."""
        wanted = SWITCH if threads <= 1 else self._usual
        if wanted != self._set and abs(sys.getswitchinterval() - self._set) < SWITCH / 2:
            sys.setswitchinterval(wanted)
            self._set = wanted

    def in_time(self) -> bool:
        """Whether a sample is to be used: this thread has not waited for a core since the last one."""
        if self._schedule < 0:
            return True
        before = self._delay
        with suppress(OSError):
            self._delay = int(os.pread(self._schedule, 100, 0).split()[1])
        late = self._delay - before > LATE and self._dropped < MOST_DROPPED
        self._dropped = self._dropped + 1 if late else 0
        return not late

    def undo(self) -> None:
        """Do as before."""
        self.compete(2)
        if sys.platform == "linux":
            _set_timer_slack(0)
            if self._schedule >= 0:
                with suppress(OSError):
                    os.close(self._schedule)


@contextmanager
def _punctual() -> Iterator[_Punctual]:
    made = _Punctual()
    try:
        yield made
    finally:
        made.undo()


def _set_timer_slack(nanoseconds: int) -> None:
    """Set how late this thread may be woken; 0 is as usual."""
    import ctypes

    ctypes.CDLL(None).prctl(TIMER_SLACK, nanoseconds)


def _running(
    hidden: Mapping[int, CodeType], codes: dict[int, CodeType]
) -> Iterator[tuple[int, Stack, Mapping[int, CodeType]]]:
    """Yield the stacks of the other threads, and the code by its id. No frame is kept."""
    current = sys._current_frames()  # noqa: SLF001 - as documented
    del current[threading.get_ident()]
    frame: FrameType | None
    while current:
        ident, frame = current.popitem()
        stack: list[int] = []
        shown = True
        while frame is not None and shown:
            code = frame.f_code
            key = id(code)
            shown = key not in hidden
            if len(stack) < 2 * DEPTH:
                stack += (key, frame.f_lasti)
                codes[key] = code
            frame = frame.f_back
        if shown:
            yield ident, tuple(stack), codes


def _resolved(codes: Mapping[int, CodeType], stack: Stack, at: int) -> tuple[str, int, str]:
    """Return file, line and name of a function of a stack."""
    code, place = codes[stack[at]], stack[at + 1]
    return code.co_filename, _line_of(code, place), code.co_qualname


def _line_of(code: CodeType, place: int) -> int:
    line: int = code.co_firstlineno
    for start, end, found in code.co_lines():
        if start <= place < end:
            return found or line
    return line


class _Calls:
    """What the system says about the calls of other threads. Files stay open, since each opening would need the GIL."""

    def __init__(self) -> None:
        self._files: dict[int, int] = {}

    def is_blocked(self, ident: int) -> bool | None:
        """Whether a thread is blocked in a call, and not because it waits for the GIL; None if that is unknown."""
        file = self._files.get(ident)
        if file is None:
            file = self._files[ident] = self._opened(ident)
        if file < 0:
            return None
        try:
            number, *arguments = os.pread(file, 256, 0).split()
        except (OSError, ValueError):  # it has ended
            return None
        return number.isdigit() and not 0 <= int(arguments[0], 16) - _interpreter() < INTERPRETER

    @staticmethod
    def _opened(ident: int) -> int:
        if ident == threading.main_thread().ident:
            native: int | None = os.getpid()
        else:
            thread = _known(ident)
            native = thread.native_id if thread is not None else None
        if sys.platform == "linux" and native is not None:
            with suppress(OSError):
                return out_of_reach(os.open(f"/proc/self/task/{native}/syscall", os.O_RDONLY | os.O_CLOEXEC))
        return -1

    def close(self) -> None:
        """Close the files."""
        for file in self._files.values():
            with suppress(OSError):  # a program may close all descriptors, as daemons do
                os.close(file)


@cache
def _interpreter() -> int:
    """Return the address of the interpreter's own state."""
    import ctypes

    with suppress(ValueError, AttributeError):
        return ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, "_PyRuntime"))
    return 0
