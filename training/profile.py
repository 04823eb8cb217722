"""What samples of a session's processes say together: its hot lines and functions, and how its time is spent."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from ..backends.profiling.kinds import ENVIRONMENT, IDLE, LEARNER, OTHER, POLICY, WAITING
from ..envs.printable import printable

KINDS = (ENVIRONMENT, POLICY, LEARNER, OTHER, WAITING)
SCHEMA = "https://www.speedscope.app/file-format-schema.json"
MOSTLY = 0.5
"""A line counts as waiting if it waited in more than this share of its samples."""
RARELY = 0.05
"""Shares are of the time in which a thread has work, which counts as at least this part of all time."""


class Thread(NamedTuple):
    """A thread of a process; threads with the same name but for its number are one.

    Attributes:
        process: What the process is called.
        thread: The name; empty for the main thread.
    """

    process: str
    thread: str


class CodePlace(NamedTuple):
    """A line of a function, or the whole function if `line` is 0."""

    file: str
    line: int
    function: str


@dataclass(frozen=True)
class HotPlace:
    """A line or a function in which a thread spends its time.

    Attributes:
        file: The file.
        line: The line; 0 for a function.
        function: The function.
        process: What the process is called.
        thread: The name of the thread; empty for the main thread.
        kind: What it is for, or `waiting` if it mostly waits there.
        share: Part of the thread's time in the line itself.
        total: The same with what the line calls.
    """

    file: str
    line: int
    function: str
    process: str
    thread: str
    kind: str
    share: float
    total: float


class Malformed(ValueError):
    """What was answered is not a sample."""


class Profile:
    """Adds up samples.

    Attributes:
        seconds: For how long the longest sampled process was sampled.
        silent: Processes that did not answer, with the reason.
        elsewhere: The ids of processes that step environments, cannot be asked, and were not sampled from outside.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.silent: dict[str, str] = {}
        self.elsewhere: set[int] = set()
        self._seconds: Counter[str] = Counter()
        self._pids: dict[str, int] = {}
        self._times: defaultdict[Thread, Counter[str]] = defaultdict(Counter)
        self._stacks: Counter[tuple[Thread, str, bool, tuple[CodePlace, ...]]] = Counter()

    def add(self, answer: Mapping[str, Any], prefix: str = "") -> None:
        """Add what a session has answered.

        Args:
            answer: The answer to `profile`.
            prefix: What the names of its processes begin with.

        Raises:
            Malformed: It is not such an answer.
        """
        try:
            for one in answer["processes"]:
                self._add(one, prefix + _text(one["process"]))
            self.elsewhere |= {int(pid) for pid in answer["elsewhere"]}
            self.elsewhere -= set(self._pids.values())
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise Malformed(f"the session's answer cannot be read: {type(error).__name__}: {error}") from error
        self.seconds = max(self._seconds.values(), default=0.0)

    def _add(self, answer: Mapping[str, Any], name: str) -> None:
        if "text" in answer:
            self.silent[name] = _text(answer["text"])
            return
        self.silent.pop(name, None)
        self._seconds[name] += float(answer["seconds"])  # type: ignore[assignment]
        self._pids[name] = int(answer["pid"])
        frames = [CodePlace(_text(file), int(line), _text(function)) for file, line, function in answer["frames"]]
        for thread, kind, waits, count, places in answer["stacks"]:
            key = Thread(name, _without_number(_text(thread)))
            self._times[key][_text(kind)] += int(count)
            self._stacks[key, _text(kind), bool(waits), tuple(frames[place] for place in places)] += int(count)
        if answer["rest"]:
            self._times[Thread(name, "")][OTHER] += int(answer["rest"])

    # -- what was found -----------------------------------------------------------------------------------------------

    def lines(self) -> list[HotPlace]:
        """Return the lines in which time is spent, the hottest first."""
        return self._hot(lambda place: place)

    def functions(self) -> list[HotPlace]:
        """Return the functions in which time is spent, the hottest first."""
        return self._hot(lambda place: place._replace(line=0))

    def waits(self) -> list[HotPlace]:
        """Return the lines in which the main thread of a training waits for others, the longest first."""
        return self._hot(lambda place: place, waiting=True)

    def _hot(self, place_of: Any, *, waiting: bool = False) -> list[HotPlace]:
        own: Counter[tuple[Thread, CodePlace]] = Counter()
        total: Counter[tuple[Thread, CodePlace]] = Counter()
        waited: Counter[tuple[Thread, CodePlace]] = Counter()
        kinds: defaultdict[tuple[Thread, CodePlace], Counter[str]] = defaultdict(Counter)
        for (thread, kind, waits, stack), count in self._stacks.items():
            if kind == IDLE or (kind == WAITING) is not waiting or not stack:
                continue
            places = [place_of(place) for place in stack]
            for place in set(places):
                total[thread, place] += count
            own[thread, places[-1]] += count
            kinds[thread, places[-1]][kind] += count
            waited[thread, places[-1]] += waits and count
        found = []
        for (thread, place), count in own.items():
            time = self._busy(thread)
            kind = WAITING if waited[thread, place] > MOSTLY * count else kinds[thread, place].most_common(1)[0][0]
            found.append(HotPlace(*place, *thread, kind, count / time, total[thread, place] / time))
        return sorted(found, key=lambda hot: (-hot.share, hot.process, hot.file, hot.line))

    def _busy(self, thread: Thread) -> float:
        """Return the samples of a thread in which it had work, or `RARELY` of all if those are more."""
        times = self._times[thread]
        return max(1.0, times.total() - times[IDLE], RARELY * times.total())

    def stacks(self, process: str = "") -> list[tuple[list[str], str, int]]:
        """Return the functions of each stack with work, its kind and count: of one process, or below their names."""
        found = []
        for (thread, kind, _, stack), count in self._stacks.items():
            if kind != IDLE and process in {"", thread.process}:
                above = filter(None, ("" if process else thread.process, thread.thread))
                found.append(([*above, *(one.function for one in stack)], kind, count))
        return found

    def processes(self) -> list[dict[str, Any]]:
        """Return how each thread that has worked spends its time: shares of `KINDS`."""
        found = []
        for thread, times in sorted(self._times.items()):
            if not thread.thread or times.total() - times[IDLE] > RARELY * times.total():
                total = max(1, times.total())
                shares = {kind: times[kind] / total for kind in KINDS}
                shares[WAITING] += times[IDLE] / total
                about = {"pid": self._pids[thread.process], "samples": times.total()}
                found.append({**thread._asdict(), **about, "kinds": shares})
        return found

    def as_json(self, run: str) -> dict[str, Any]:
        """Return everything as JSON data."""
        functions = [{key: value for key, value in asdict(hot).items() if key != "line"} for hot in self.functions()]
        return {
            "run": run,
            "seconds": self.seconds,
            "processes": self.processes(),
            "lines": [asdict(hot) for hot in self.lines()],
            "functions": functions,
            "waits": [asdict(hot) for hot in self.waits()],
            "silent": self.silent,
            "elsewhere": sorted(self.elsewhere),
        }

    def speedscope(self, run: str) -> dict[str, Any]:
        """Return the stacks in the file format of speedscope, one profile per process."""
        frames: dict[CodePlace, int] = {}
        profiles: dict[str, tuple[list[list[int]], list[float]]] = {}
        taken: Counter[str] = Counter()
        for thread, times in self._times.items():
            taken[thread.process] = max(taken[thread.process], times.total())
        for (thread, kind, _, stack), count in self._stacks.items():
            if kind == IDLE:
                continue
            samples, weights = profiles.setdefault(thread.process, ([], []))
            root = [CodePlace("", 0, thread.thread or "main thread"), CodePlace("", 0, kind)]
            samples.append([frames.setdefault(place, len(frames)) for place in (*root, *stack)])
            weights.append(count * self._seconds[thread.process] / max(1, taken[thread.process]))
        return {
            "$schema": SCHEMA,
            "exporter": "pac-tui",
            "name": run,
            "activeProfileIndex": 0,
            "shared": {"frames": [_frame(place) for place in frames]},
            "profiles": [
                {
                    "type": "sampled",
                    "name": name,
                    "unit": "seconds",
                    "startValue": 0,
                    "endValue": sum(weights),
                    "samples": samples,
                    "weights": weights,
                }
                for name, (samples, weights) in sorted(profiles.items())
            ],
        }


def shares_near(hot: Iterable[HotPlace], chosen: HotPlace) -> dict[int, float]:
    """Return the share of each line of a file, by its number, in the process and thread of a chosen line."""
    same = (chosen.file, chosen.process, chosen.thread)
    found: Counter[int] = Counter()
    for one in hot:
        if (one.file, one.process, one.thread) == same:
            found[one.line] += one.share  # type: ignore[assignment]
    return dict(found)


def _frame(place: CodePlace) -> dict[str, Any]:
    return {"name": place.function} | ({"file": place.file, "line": place.line} if place.line else {})


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("a text is missing")
    return printable(value)


def _without_number(name: str) -> str:
    """Return the name of a thread without what distinguishes it from others of its kind."""
    return re.sub(r"[-_ ]*\d+([-_]\d+)*", "", name)
