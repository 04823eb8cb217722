"""The vocabulary of telemetry: record types, and the frozen `Snapshot` that a viewer works with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..envs import Field, Panel
from ..envs.task import Array, Glyph
from .trainer import PHASES, PolicyOutput

if TYPE_CHECKING:
    from .telemetry import TelemetryReader

METRIC_NAME_BYTES = 40
TOP_ACTIONS = 8
MAX_INT = 2**31 - 1


class Phase(IntEnum):
    """What a session is doing."""

    STARTING = 0
    RUNNING = 1
    PAUSED = 2
    RESTARTING = 3
    BASELINE = 4
    STOPPING = 5
    ENDED = 6
    FAILED = 7

    @property
    def over(self) -> bool:
        """Whether nothing more will come."""
        return self in {Phase.ENDED, Phase.FAILED}


class Status(IntEnum):
    """Health of an environment."""

    READY = 0
    HUNG = 1
    DEAD = 2


class Level(IntEnum):
    """How much an event matters."""

    INFO = 0
    GOOD = 1
    WARNING = 2
    ERROR = 3


STATE = np.dtype(
    [
        ("phase", "u1"),
        ("num_envs", "u4"),
        ("target_envs", "u4"),  # what a restart in progress goes to
        ("steps", "u8"),  # environment steps (decisions), all environments
        ("frames", "u8"),
        ("episodes", "u8"),
        ("iterations", "u8"),
        ("started", "f8"),  # s since the epoch
        ("now", "f8"),  # when this was written, s since the epoch
        ("training_seconds", "f8"),  # without pauses and restarts
        ("fps", "f8"),
        ("sps", "f8"),
        ("speed", "f8"),  # limit in steps/s of all environments together, 0 = none
        ("credits", "u8"),  # steps left before the pause
        ("baseline", "f8"),  # median fps at N = 1, NaN if not measured
        ("progress", "f8"),  # 0 to 1 of what the message speaks of, NaN if unknown
        ("limit", "f8"),  # 0 to 1 of the run's own limit, NaN without one
        ("return_mean", "f8"),  # over the last 100 episodes
        ("length_mean", "f8"),
        ("message", "S240"),
        ("backend", "S24"),
        ("device", "S24"),
    ]
)
TIMES = np.dtype([("wall", "f8"), ("steps", "f8"), *((phase, "f8") for phase in PHASES)])  # s and steps of one window
SYSTEM = np.dtype(
    [
        ("cores", "u4"),
        ("cpu", "f4"),  # % of one core, session and workers together
        ("cpu_machine", "f4"),  # % of the machine
        ("rss", "u8"),  # bytes, session and workers together
        ("memory", "u8"),
        ("memory_used", "u8"),
        ("shm", "u8"),  # bytes of shared memory that this session holds
        ("gpus", "u1"),
        ("gpu", "f4"),  # %
        ("vram", "u8"),
        ("vram_total", "u8"),
        ("gpu_name", "S48"),
        ("pulse", "f8"),  # when this was written, s since the epoch
    ]
)
ENVIRONMENT = np.dtype(
    [
        ("episode", "i8"),  # episodes begun, from 0
        ("episode_return", "f4"),
        ("episode_length", "i4"),
        ("last_return", "f4"),  # NaN before the first end
        ("last_length", "i4"),
        ("last_outcome", "u1"),  # 0 none yet, else 1 + index into the outcomes
        ("ended", "f8"),  # s since the epoch, 0 before the first end
        ("action", "i4"),
        ("reward", "f4"),
        ("frames", "i4"),  # of the last step
        ("status", "u1"),
        ("worker", "i4"),
    ]
)
POLICY = np.dtype(
    [
        ("env", "i4"),  # -1: nothing watched
        ("value", "f4"),
        ("entropy", "f4"),
        ("count", "u1"),
        ("actions", "i4", (TOP_ACTIONS,)),
        ("probabilities", "f4", (TOP_ACTIONS,)),
    ]
)
WORKER = np.dtype(
    [
        ("used", "u1"),
        ("pid", "i4"),
        ("lo", "u4"),
        ("hi", "u4"),
        ("state", "S12"),
        ("steps", "u8"),
        ("heartbeat_age", "f4"),  # s
        ("restarts", "u4"),
        ("cpu", "f4"),  # % of one core
        ("rss", "u8"),
        ("error", "S240"),
    ]
)
EVENT = np.dtype([("number", "u8"), ("time", "f8"), ("level", "u1"), ("env", "i4"), ("text", "S240")])
SCALING = np.dtype(
    [("num_envs", "u4"), ("samples", "u4"), ("fps", "f8"), ("low", "f8"), ("high", "f8"), ("seconds", "f8")]
)


@dataclass(frozen=True)
class PanelLook:
    """A panel and the shape of what it draws."""

    kind: str
    title: str
    field: str
    shape: tuple[int, ...]
    labels: tuple[str, ...]
    glyphs: tuple[Glyph, ...]
    main: bool

    @classmethod
    def of(cls, panel: Panel, board: Field) -> PanelLook:
        """Describe `panel`, which draws `board`."""
        return cls(panel.kind, panel.title, panel.field, board.shape, panel.labels, panel.glyphs, panel.main)


@dataclass(frozen=True, kw_only=True)
class Description:
    """What does not change while a session keeps its N."""

    run: str
    task: str
    title: str
    trainer: str
    backend: str
    device: str
    seed: int
    version: str
    pid: int
    players: int
    num_actions: int
    action_shape: tuple[int, ...]
    action_names: tuple[str, ...]
    frame_rate: float
    reward_terms: tuple[str, ...]
    outcomes: tuple[tuple[str, str], ...]
    info: tuple[str, ...]
    panels: tuple[PanelLook, ...]
    units: tuple[str, str, str] = ("step", "environment", "fps")
    settings: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Description:
        """Rebuild what `dataclasses.asdict` took apart."""
        panels = tuple(
            PanelLook(
                **{
                    **panel,
                    "glyphs": tuple(Glyph(**glyph) for glyph in panel["glyphs"]),
                    "shape": tuple(panel["shape"]),
                }
            )
            for panel in data["panels"]
        )
        plain = {item.name: _frozen(data[item.name]) for item in fields(cls) if item.name not in {"panels", "settings"}}
        return cls(**plain, panels=panels, settings=data["settings"])

    @property
    def board(self) -> PanelLook | None:
        """The panel that the summary shows."""
        return next((panel for panel in self.panels if panel.main), self.panels[0] if self.panels else None)


def _frozen(value: Any) -> Any:
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value


@dataclass(frozen=True)
class Look:
    """What a viewer looks at: only that is copied, and for gymnasium environments only that is rendered.

    Attributes:
        first: First environment of the grid.
        count: Number of environments of the grid; 0 if it is hidden.
        focus: The environment shown large, or None.
        curves: Names of the metrics whose history is drawn.
    """

    first: int = 0
    count: int = MAX_INT
    focus: int | None = None
    curves: tuple[str, ...] = ()


@dataclass(frozen=True)
class Event:
    """Something that happened; numbers rise by one, so a viewer knows what it has shown."""

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
    """A metric's history, oldest first; `steps`, `seconds` and `values` are `(points,)`."""

    name: str
    steps: NDArray[np.float32]
    seconds: NDArray[np.float32]
    values: NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """One consistent look at a session.

    `boards` holds `(count, ...)` for environments `first..first+count`, `focus_boards` one environment's.
    Record arrays are of the dtypes above.
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
    info: NDArray[np.float32]
    terms: NDArray[np.float32]
    last_terms: NDArray[np.float32]
    boards: Mapping[str, Array]
    focus: int | None
    focus_boards: Mapping[str, Array]
    policy: PolicyOutput | None
    workers: Array
    events: tuple[Event, ...]
    scaling: tuple[Scaling, ...]
    outcomes: tuple[int, ...]

    @property
    def num_envs(self) -> int:
        """Number of environments N."""
        return int(self.state["num_envs"])

    @property
    def fps(self) -> float:
        """Frames per second, all environments together, over a window of at least 2 s."""
        return float(self.state["fps"])

    @property
    def baseline(self) -> float | None:
        """Median fps at N = 1, if it was measured in this session."""
        value = float(self.state["baseline"])
        return None if np.isnan(value) else value

    @property
    def speedup(self) -> float | None:
        """fps(total) over the baseline."""
        return self.fps / self.baseline if self.baseline else None

    @property
    def efficiency(self) -> float | None:
        """Speedup over N, in %."""
        return 100 * self.speedup / self.num_envs if self.speedup is not None else None


def take(reader: TelemetryReader, look: Look, before: Snapshot | None = None) -> Snapshot:
    """Read what `look` asks for; follows the session to its newest segment first.

    What did not change since the snapshot `before` is taken over from it.
    """
    reader.follow()
    description = reader.description
    state = _record(reader.read("state"))
    environments = reader.read("environments")
    total = len(environments)
    first = min(look.first, total)
    shown = slice(first, min(total, first + look.count))
    focus = look.focus if look.focus is not None and look.focus < total else None
    names = dict.fromkeys(panel.field for panel in description.panels)
    return Snapshot(
        description=description,
        generation=reader.generation,
        phase=Phase(state["phase"]),
        message=str(state["message"]),
        state=state,
        times=_record(reader.read("times")),
        system=_record(reader.read("system")),
        metrics=_metrics(reader),
        curves=_curves(reader, look.curves),
        first=first,
        environments=environments,
        info=reader.read("info"),
        terms=reader.read("terms"),
        last_terms=reader.read("last_terms"),
        boards={name: reader.read(f"board:{name}", shown) for name in names} if look.count else {},
        focus=focus,
        focus_boards={name: reader.read(f"board:{name}", focus) for name in names} if focus is not None else {},
        policy=_policy(reader, focus),
        workers=_used(reader.read("workers")),
        events=_events(reader, before.events if before is not None else ()),
        scaling=tuple(
            Scaling(int(n), float(fps), float(low), float(high), int(samples), float(seconds))
            for n, samples, fps, low, high, seconds in reader.read("scaling").tolist()
            if n
        ),
        outcomes=tuple(reader.read("outcomes").tolist()),
    )


def _record(record: Array) -> dict[str, Any]:
    """A structured scalar as a dict of Python values."""
    values = record.tolist()
    return {name: _text(value) for name, value in zip(record.dtype.names or (), values, strict=True)}


def _text(value: Any) -> Any:
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _used(workers: Array) -> Array:
    used: Array = workers[workers["used"] == 1]
    return used


def _names(reader: TelemetryReader) -> list[str]:
    return [name.decode() for name in reader.read("metric_names").tolist() if name]


def _metrics(reader: TelemetryReader) -> dict[str, float]:
    return dict(zip(_names(reader), reader.read("metrics").tolist(), strict=False))


def _curves(reader: TelemetryReader, wanted: tuple[str, ...]) -> dict[str, Curve]:
    """History rows are `steps, seconds, 1 if used, metrics...`."""
    if not wanted:
        return {}
    names = _names(reader)
    history = reader.read("history")
    history = history[history[:, 2] > 0]
    found = {}
    for name in wanted:
        if name in names:
            values = history[:, 3 + names.index(name)]
            known = np.isfinite(values)
            found[name] = Curve(name, history[known, 0], history[known, 1], values[known])
    return found


def _policy(reader: TelemetryReader, focus: int | None) -> PolicyOutput | None:
    record = _record(reader.read("policy"))
    if focus is None or record["env"] != focus:
        return None
    count = record["count"]
    actions, probabilities = list(record["actions"]), list(record["probabilities"])
    return PolicyOutput(record["value"], record["entropy"], actions[:count], probabilities[:count])


def _events(reader: TelemetryReader, before: tuple[Event, ...]) -> tuple[Event, ...]:
    records = reader.read("events")
    if before and before[-1].number == records["number"].max():
        return before
    records = np.sort(records[records["number"] > 0], order="number")
    return tuple(
        Event(number, time, Level(level), env, _text(text)) for number, time, level, env, text in records.tolist()
    )
