"""The frozen `Snapshot` that a viewer works with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...envs.fields import Array
from ...envs.schema import Bounds, Length
from ...envs.unknown import unknown_in
from ..trainer import PolicyOutput, Saliency
from .changes import Change, read_changes
from .declared import decoded
from .description import Description
from .findings import Finding, read_findings
from .metric_names import split_metric_name
from .moments import Moment, RecentSteps, read_saliency
from .processes import ProcessRole
from .records import AUDIENCE, POLICY, SCALING, STATE, SYSTEM, TIMES, Level, Phase
from .timeline import Lane, read_lanes
from .worker_times import WorkerTimes

if TYPE_CHECKING:
    from .blocks import TelemetryReader

MAX_INT = 2**31 - 1
MAX_CURVES, MAX_NAME_LENGTH = 1024, 1024
Index: TypeAlias = Annotated[int, Bounds(ge=0, le=MAX_INT)]
Step: TypeAlias = Annotated[int, Bounds(ge=0, lt=2**63)]
Name: TypeAlias = Annotated[str, Length(most=MAX_NAME_LENGTH)]


@dataclass(frozen=True)
class ViewRequest:
    """What a viewer displays. Only this is copied, and of Gymnasium environments only this is rendered.

    Attributes:
        first: First environment of the grid.
        count: Number of environments of the grid; 0 if it is hidden.
        focus: The environment that is shown in detail, or None.
        seat: Which of its seats, from 0.
        curves: Names of the metrics whose history is drawn.
        detail: Whether everything about the focus is displayed, such as its observation.
        back: Number of steps before the newest one, for the focus of a paused session.
        timeline: Whether the last phases of threads and processes are displayed.
        episodes: Whether the last episodes are listed.
        large: Whether the focus is displayed in large, in real pixels.
        last: The newest step, if the displayed step ended an episode and its last state is requested; else 0.
        saliency: Whether it is displayed what the policy's choice for the focus depends on.
    """

    first: Index = 0
    count: Index = MAX_INT
    focus: Index | None = None
    seat: Index = 0
    curves: Annotated[tuple[Name, ...], Length(most=MAX_CURVES)] = ()
    detail: bool = False
    timeline: bool = False
    episodes: bool = False
    large: bool = False
    back: Index = 0
    last: Step = 0
    saliency: bool = False


@dataclass(frozen=True)
class Event:
    """Something that happened. Its number is one more than that of the event before."""

    number: int
    time: float
    level: Level
    env: int
    text: str


@dataclass(frozen=True)
class Scaling:
    """Throughput at one N: median, lowest and highest fps of windows of at least 2 s."""

    num_envs: int
    fps: float
    low: float
    high: float
    samples: int
    seconds: float


@dataclass(frozen=True)
class Curve:
    """A metric's history, oldest first; `steps`, `seconds`, `frames` and `values` are `(points,)`.

    `name` is what the metric is called in the telemetry, `learner` the number of the learner that it belongs to.
    """

    name: str
    learner: int
    steps: NDArray[np.float32]
    seconds: NDArray[np.float32]
    frames: NDArray[np.float32]
    values: NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """The state of a session at one moment. Arrays of records have the dtypes of `records`.

    Attributes:
        description: The task, its fields and its panels.
        generation: The number of the telemetry segment, which a restart replaces.
        phase: What the session is doing.
        message: The same for people, such as "compiling the game".
        state: Counters and settings by name.
        times: Seconds of each phase of a step.
        system: Use of CPU, memory and GPU.
        metrics: Newest values by name.
        curves: The requested histories by name.
        first: First environment of `boards`.
        environments: A record per environment, `(N,)`.
        actions: Last actions, `(N, numbers)`.
        info: Newest values of the info, `(N, values)`.
        terms: Sums of the reward terms so far in the episode of the first seat, `(N, terms)`.
        last_terms: Sums of the reward terms in the last episode, `(N, players, terms)`.
        last_returns: Returns of the last episode, `(N, players)`.
        boards: Fields to draw, `(count, ...)`, of the environments from `first` on.
        focus: The environment that is shown in detail.
        seat: The seat that `policy`, `moment` and `line` belong to.
        focus_boards: Fields to draw of the focus.
        large: The picture of the focus in large; None if it was not requested, or there is none.
        policy: The newest output of the policy for the focus.
        processes: A record per process.
        lanes: Last phases of threads and processes.
        audience: The viewers, and which one is in control.
        events: Events, oldest first.
        scaling: Throughput at each N that was measured.
        outcomes: How many episodes ended in each way.
        breakpoints: A record per breakpoint.
        findings: The problems that were found, in the order in which they began.
        changes: The last changes of the trainer's settings, oldest first.
        moment: The focus at the requested step.
        line: Last steps of the focus of a paused session.
        action_counts: How often the focus and all environments took each action of late, `(2, num_actions)`.
        action_spreads: Histograms of the numbers of continuous actions of the focus and of all, `(2, numbers)`.
        seen_spreads: Histograms of the numbers that all environments observe now, `(numbers,)`.
        episodes: A record per episode that ended last, oldest first.
        times_of_workers: When workers and environments stepped, and who was waited for; on request.
        saliency: What the policy's choice for the focus depends on, on request.
    """

    description: Description
    generation: int
    phase: Phase
    message: str
    state: Mapping[str, Any]
    times: Mapping[str, float]
    system: Mapping[str, Any]
    metrics: Mapping[str, float]
    curves: Mapping[str, Curve]
    first: int
    environments: Array
    actions: NDArray[np.float32]
    info: NDArray[np.float32]
    terms: NDArray[np.float32]
    last_terms: NDArray[np.float32]
    last_returns: NDArray[np.float32]
    boards: Mapping[str, Array]
    focus: int | None
    seat: int
    focus_boards: Mapping[str, Array]
    policy: PolicyOutput | None
    processes: Array
    lanes: tuple[Lane, ...]
    audience: Mapping[str, Any]
    events: tuple[Event, ...]
    scaling: tuple[Scaling, ...]
    outcomes: tuple[int, ...]
    breakpoints: Array
    findings: tuple[Finding, ...] = ()
    changes: tuple[Change, ...] = ()
    moment: Moment | None = None
    line: RecentSteps | None = None
    action_counts: NDArray[np.int64] | None = None
    action_spreads: Array | None = None
    seen_spreads: Array | None = None
    episodes: Array | None = None
    times_of_workers: WorkerTimes | None = None
    saliency: Saliency | None = None
    large: Array | None = None

    def metric_title(self, name: str) -> str:
        """Return what to call a metric: with the name of its learner, if several learners report it."""
        learner, plain = split_metric_name(name)
        others = (other for other in self.metrics if split_metric_name(other)[1] == plain)
        if all(other == name for other in others):
            return plain
        learners = self.processes[self.processes["role"] == ProcessRole.LEARNER.encode()]
        called = learners["name"][learners["index"] == learner].tolist()
        return f"{plain} ({decoded(called[0]) if called and called[0] else f'learner {learner + 1}'})"

    @property
    def num_envs(self) -> int:
        """Number of environments N."""
        return min(int(self.state["num_envs"]), len(self.environments))

    @property
    def fps(self) -> float:
        """Frames per second, all environments together, over the last 10 s; NaN if unknown."""
        return float(self.state["fps"])

    @property
    def baseline(self) -> float | None:
        """Fps at N = 1, if it was measured in this session or an earlier one."""
        value = float(self.state["baseline"])
        return None if np.isnan(value) else value

    @property
    def baseline_age(self) -> float | None:
        """Seconds since the baseline was measured, if that was not in this session's own training."""
        when = float(self.state["baseline_when"])
        return max(0.0, float(self.state["now"]) - when) if when > 0 else None

    @property
    def speedup(self) -> float | None:
        """fps(total) over the baseline."""
        return self.fps / self.baseline if self.baseline else None

    @property
    def efficiency(self) -> float | None:
        """Speedup over N, in %."""
        return 100 * self.speedup / self.num_envs if self.speedup is not None else None


def take_snapshot(reader: TelemetryReader, look: ViewRequest, before: Snapshot | None = None) -> Snapshot:
    """Read what `look` requests, from the session's newest segment.

    Events are taken from the snapshot `before` if there are no new ones.
    """
    reader.follow()
    description = reader.description
    state = STATE.get(reader.read("state"))
    environments, processes, breakpoints = map(reader.read, ("environments", "processes", "breakpoints"))
    total = len(environments)
    first = min(look.first, total)
    shown = slice(first, min(total, first + look.count))
    focus = look.focus if look.focus is not None and look.focus < total else None
    names = dict.fromkeys(name for panel in description.panels for name in panel.fields)
    return Snapshot(
        description=description,
        generation=reader.generation,
        phase=Phase(state["phase"]),
        message=str(state["message"]),
        state=state,
        times=TIMES.get(reader.read("times")),
        system=SYSTEM.get(reader.read("system")),
        metrics=_metrics(reader),
        curves=_curves(reader, look.curves),
        first=first,
        environments=environments,
        actions=reader.read("actions"),
        info=reader.read("info"),
        terms=reader.read("terms"),
        last_terms=reader.read("last_terms"),
        last_returns=reader.read("last_returns"),
        boards={name: reader.read(f"board:{name}", shown) for name in names} if look.count else {},
        focus=focus,
        seat=look.seat,
        focus_boards={name: reader.read(f"board:{name}", focus) for name in names} if focus is not None else {},
        policy=_policy(reader, look, focus),
        processes=processes[processes["role"] != b""],
        lanes=read_lanes(reader.read("timeline")) if look.timeline else (),
        audience=AUDIENCE.get(reader.read("audience")),
        events=_events(reader, before.events if before is not None else ()),
        scaling=tuple(Scaling(**SCALING.get(entry)) for entry in reader.read("scaling") if entry["num_envs"]),
        outcomes=tuple(reader.read("outcomes").tolist()),
        breakpoints=breakpoints[breakpoints["number"] > 0],
        findings=read_findings(reader.read("findings")),
        changes=read_changes(reader.read("changes")),
        moment=None if focus is None else _moment(reader, look, focus),
        line=None if focus is None else RecentSteps.read(reader.read("line"), focus, look.seat),
        action_counts=reader.read("action_counts") if look.detail else None,
        action_spreads=reader.read("action_spreads") if look.detail else None,
        seen_spreads=reader.read("seen_spreads") if look.detail else None,
        episodes=_episodes(reader) if look.episodes else None,
        times_of_workers=WorkerTimes.read(reader) if look.timeline else None,
        saliency=read_saliency(reader.read("saliency"), focus, look.seat)
        if look.saliency and focus is not None
        else None,
        large=_large(reader, look, focus),
    )


def _large(reader: TelemetryReader, look: ViewRequest, focus: int | None) -> Array | None:
    """Return the picture of the focus in large, if there is one."""
    if not look.large or focus is None or reader.description.large is None:
        return None
    return reader.read("large") if int(reader.read("large_of")) == focus + 1 else None


def _episodes(reader: TelemetryReader) -> Array:
    """Return the episodes that have ended, oldest first."""
    records = reader.read("episodes")
    known: Array = np.sort(records[records["number"] > 0], order="number")
    return known


def _moment(reader: TelemetryReader, look: ViewRequest, focus: int) -> Moment | None:
    """Return the focus at the requested step."""
    moment = Moment.read(reader.read("moment" if look.back or look.last else "detail"), reader.description)
    return moment if moment is not None and (moment.env, moment.seat) == (focus, look.seat) else None


def _names(reader: TelemetryReader) -> list[str]:
    return [decoded(name) for name in reader.read("metric_names", slice(int(reader.read("metric_count")))).tolist()]


def _metrics(reader: TelemetryReader) -> dict[str, float]:
    names = _names(reader)
    return dict(zip(names, reader.read("metrics", slice(len(names))).tolist(), strict=True))


def _curves(reader: TelemetryReader, wanted: tuple[str, ...]) -> dict[str, Curve]:
    """The rows of the history are steps, seconds, frames and the metrics; columns without frames are not used yet."""
    names = _names(reader) if wanted else []
    rows = [names.index(name) for name in wanted if name in names]
    if not rows:
        return {}
    steps, seconds, frames, *values = reader.read("history", [0, 1, 2, *(3 + row for row in rows)])
    found = {}
    for row, points in zip(rows, values, strict=True):
        name, known = names[row], (frames > 0) & ~unknown_in(points)
        learner, _ = split_metric_name(name)
        found[name] = Curve(name, learner, steps[known], seconds[known], frames[known], points[known])
    return found


def _policy(reader: TelemetryReader, look: ViewRequest, focus: int | None) -> PolicyOutput | None:
    known = POLICY.get(reader.read("policy"))
    if focus is None or (known.pop("env"), known.pop("seat")) != (focus, look.seat):
        return None
    return PolicyOutput(**{**known, "ranges": list(map(tuple, known["ranges"]))})


def _events(reader: TelemetryReader, before: tuple[Event, ...]) -> tuple[Event, ...]:
    records = reader.read("events")
    if before and before[-1].number == records["number"].max():
        return before
    records = np.sort(records[records["number"] > 0], order="number")
    return tuple(
        Event(number, time, Level(level), env, decoded(text)) for number, time, level, env, text in records.tolist()
    )
