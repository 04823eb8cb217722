"""Watches the environments step, in the training thread, and publishes what viewers look at.

Steps are counted when something needs the counts, not one by one: the buffer still holds the slots of the running
rollout.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...envs import Task, next_slot
from ...envs.fields import Array
from ..guards.alarms import Alarms, EpisodePace
from ..guards.breakpoints import Breakpoints, ConditionValues
from ..past.history import MAX_UNCOUNTED
from ..past.recorder import EpisodeRecorder
from ..telemetry.blocks import TelemetryWriter
from ..telemetry.counts import Counts
from ..telemetry.metric_history import MetricHistory
from ..telemetry.monitored import MonitoredEnvs
from ..telemetry.records import Notice, Phase
from ..telemetry.snapshot import ViewRequest
from ..telemetry.tables import write_environments, write_policy, write_throughput
from ..telemetry.throughput import RATE_NAMES, Mark, Throughput, TrainingClock
from ..trainer import PHASES, PolicyOutput, Timer
from .detail import Detail
from .gate import Gate
from .manual_control import ManualControl

SHARE = 0.015
"""Of the training's time, the most that publishing takes: what is much is written less often."""
RATES = {"focus": 1 / 30, "grid": 1 / 10, "nobody": 1 / 2}


class Monitor:
    """Lets steps be counted, looked at and published.

    Attributes:
        counts: What was counted.
        series: The figures of all iterations.
        waits: Whether somebody waits for an episode's end.
        breakpoints: What is looked at after every step, if there are any.
        alarms: What is looked at between.
        hand: What a person does in place of the policy.
        undecided: Whether the gate holds before the next actions are known.
    """

    def __init__(self, task: Task, gate: Gate, timer: Timer, clock: TrainingClock) -> None:
        self.counts = Counts(task)
        self.series = MetricHistory()
        self.resumed = Mark(0.0, 0, 0)
        self.clock = clock
        self.throughput = Throughput()
        self.look = ViewRequest()
        self.watched = self.undecided = False
        self.waits = False
        self.breakpoints = Breakpoints(task)
        self.alarms = Alarms()
        self.manual_control = ManualControl(task)
        self.inspect: Callable[[int], PolicyOutput | None] = lambda _row: None
        self.recorder: EpisodeRecorder | None = None
        self.values: Callable[[slice], Array | None] = lambda _slots: None
        self.on_break: Callable[[str, int], None] = lambda _text, _env: None
        self.on_episode: Callable[[int], None] = lambda _env: None
        self.state: dict[str, Any] = {"phase": Phase.STARTING, "message": "", "baseline": np.nan, "progress": np.nan}
        self._task = task
        self._gate = gate
        self._timer = timer
        self._writer: TelemetryWriter | None = None
        self._backend: MonitoredEnvs | None = None
        self._due = 0.0
        self._speed_limit = 0.0
        self._counts_due = 0.0
        self._shown: tuple[int, ViewRequest, bool] | None = None
        self._asked = np.zeros(0, np.bool_)

    def attach(self, writer: TelemetryWriter, num_envs: int) -> None:
        """Publish into `writer` from now on."""
        self._writer = writer
        self._backend = None
        self._num_envs = num_envs
        self.counts.resize(num_envs)
        self.detail = Detail(self._task, num_envs)
        self.series.attach(writer)
        self.publish()

    def begin(self, backend: MonitoredEnvs) -> None:
        """Watch `backend`, whose episodes have just begun in slot 0."""
        self._backend = backend
        self._gate.set_num_envs(self._num_envs)
        self._slots = backend.buffer.slots
        self._owner = np.full(self._num_envs, -1, "i4")
        for worker in backend.workers:
            self._owner[worker.lo : worker.hi] = worker.index
        self._counted = self._written = 0
        self._asked = np.zeros(self._num_envs, np.bool_)
        self._dirty = False
        self.detail.history.begin(backend)
        self.breakpoints.forget()
        self.alarms.forget()
        if self.recorder is not None:
            self.recorder.forget()
        self.throughput.begin(self._num_envs, self.mark())

    def mark(self) -> Mark:
        """Return the counters of now."""
        self._count()
        phases = tuple(self._timer.seconds[phase] for phase in PHASES)
        return Mark(self.clock.now(), self.counts.frames, self.counts.steps, phases)

    @property
    def eager(self) -> bool:
        """Whether every step is looked at before the next."""
        return self.waits or bool(self.breakpoints.armed) or (self.recorder is not None and self.recorder.eager)

    def step(self, slot: int) -> None:
        """Note that `slot` was stepped."""
        self._written = next_slot(slot, self._slots)
        self._dirty = True
        if self.detail.keeps_boards and (self.watched or self.recorder):
            self._keep_boards(self._written - self._counted if self._slots > 1 else 1)
        ahead = self._written - self._counted
        now = time.perf_counter()
        if self.eager or self._written == self._slots - 1 or ahead >= MAX_UNCOUNTED or now >= self._due:
            self._count()
            if self.breakpoints.armed:
                self._check(slot)
            if now >= self._due:
                self.publish()

    def _check(self, acted: int) -> None:
        """Look whether a breakpoint hits after the step of slot `acted`."""
        assert self._backend is not None

        def value() -> Array | None:
            values = self.values(slice(acted, acted + 1))
            return None if values is None else values[0]

        def entropy(row: int) -> float:
            output = self.inspect(row)
            return np.nan if output is None else output.entropy

        readings = ConditionValues(self._task, self._backend.buffer, self._written, acted, value=value, entropy=entropy)
        if told := self.breakpoints.check(readings):
            self.on_break(told, self.breakpoints.hit[0])

    def _keep_boards(self, ahead: int) -> None:
        """Keep what was drawn for whoever looks, so many steps ahead of the counts; some draw only when asked."""
        assert self._backend is not None
        buffer, drawn = self._backend.buffer, self._looked_at()
        if "looked_at" in buffer:
            drawn = self._asked & (buffer["looked_at"][0] == 0)
            self._asked &= ~drawn
            if self.recorder:
                self._asked[self.recorder.envs] = True
                buffer["looked_at"][0, self.recorder.envs] = 1
        if drawn.any():
            self.detail.history.keep_boards(buffer, ahead, drawn)
        self.detail.keep_last_boards(buffer, self._written, ahead)

    @property
    def written(self) -> int:
        """The slot that was written last."""
        return self._written

    def idle(self) -> None:
        """Publish while the gate is closed."""
        self._timer.skip()
        self._count()
        self.publish(decided=True)

    def _count(self) -> None:
        """Count the slots written since the last time."""
        if self._backend is None or not self._dirty:
            return
        self._dirty = False
        span = slice(self._counted + 1, self._written + 1) if self._slots > 1 else slice(0, 1)
        self._counted = self._written if self._written < self._slots - 1 else 0
        for env in self.counts.add(self._backend.buffer, span):
            self.alarms.marked.discard(env)
            self.on_episode(env)
        self.alarms.look_at_environments(self._backend.buffer, span, self._task.players, self.clock.now())
        values = self.values(slice(span.start - 1, span.stop - 1)) if span.start else None
        self.detail.history.extend(self._backend, span, values, self.counts.terms)
        if self.recorder:
            self.recorder.extend(self._backend, span, self.detail.history)

    def count_on(self, counters: Mapping[str, Any], seconds: float, rows: Sequence[Mapping[str, float]]) -> None:
        """Continue a run that is resumed.

        Args:
            counters: What was counted, as `Counts.state` returned it.
            seconds: How long it had been trained.
            rows: Some lines of its metrics, oldest first.
        """
        self.counts.count_on(counters)
        self.clock.count_on(seconds)
        self.series.count_on(rows, self.counts.iterations)
        self.resumed = self.mark()

    def end_iteration(self, metrics: Mapping[str, float]) -> dict[str, float]:
        """Record the trainer's figures; return them with the session's own."""
        self._count()
        self._timer.lap("python")  # a window begins where its first phase does
        self.counts.iterations += 1
        self.throughput.add(self.mark())
        row = self.figures() | {name: float(value) for name, value in metrics.items()}
        self.series.append(row, self.counts, self.clock.now())
        self.alarms.look_at_iteration(metrics, self.mark(), self._num_envs, limited=bool(self.state.get("speed")))
        return row

    def figures(self) -> dict[str, float]:
        """Return the session's own figures: the rates, once they are known, and means of the last episodes."""
        rates = dict(zip(RATE_NAMES, self.throughput.rates(self.mark()), strict=True)) if self.throughput.known else {}
        return rates | self.counts.figures()

    @property
    def due(self) -> float:
        """When it is time to publish, by `time.perf_counter`."""
        return self._due

    def rate(self) -> float:
        """Seconds between two publications, by what is looked at."""
        if not self.watched:
            return RATES["nobody"]
        return RATES["grid"] if self.look.focus is None else RATES["focus"]

    def publish(self, *, decided: bool = False) -> None:
        """Write everything that viewers look at, now; `decided` tells whether all stands still and is decided."""
        begun = time.thread_time()
        self._publish(decided=decided)
        self._due = time.perf_counter() + max(self.rate(), (time.thread_time() - begun) / SHARE)

    def _publish(self, *, decided: bool) -> None:
        self._follow_speed_limit()
        self._write_state()
        if self._writer and self._backend is not None:
            self._look_at_pace()
            write_throughput(self._writer, self.throughput, self.mark())
            with self._writer.write("breakpoints") as block:
                self.breakpoints.write(block)
            self._write_environments(self._writer, self._backend)
            self._write_policy(self._writer)
            self._write_detail(self._writer, self._backend, decided=decided)

    def _follow_speed_limit(self) -> None:
        """Start the rates again where the speed limit was changed: an average over both would be neither."""
        limit = float(self.state.get("speed", 0.0))
        if limit != self._speed_limit and self._backend is not None:
            self._speed_limit = limit
            self.throughput.break_off(self.mark())

    def _look_at_pace(self) -> None:
        now, sps = self.clock.now(), self.throughput.rates(self.mark())[1]
        self.alarms.look_at_pace(
            EpisodePace(self.counts.episodes, self.counts.length_median, sps / self._num_envs), now
        )

    def _write_detail(self, writer: TelemetryWriter, backend: MonitoredEnvs, *, decided: bool) -> None:
        """Write what is known of the environment that is looked at closely, and of its last steps while it stands."""
        env, seat, detail = self.look.focus, self.look.seat, self.detail
        if env is None or env >= self._num_envs or not self.watched:
            return
        if self.look.detail or decided:
            first = self._written == self._slots - 1  # a rollout's last slot is the next's first
            deciding = (0 if first else self._written) if decided and not self.undecided else None
            counts = self.counts
            detail.write(
                writer, backend.buffer, self._written, env, seat=seat, counts=counts, deciding=deciding, begun=decided
            )
        if decided:
            detail.write_line(writer, env, seat)
        if self.look.detail and time.monotonic() >= self._counts_due:
            self._counts_due = time.monotonic() + RATES["nobody"]
            detail.write_counts(writer, env)

    def _write_state(self) -> None:
        if not self._writer:
            return
        fps, sps = self.throughput.rates(self.mark()) if self._backend is not None else (np.nan, np.nan)
        values = {
            "num_envs": self._num_envs,
            **self.counts.totals(),
            "now": time.time(),
            "training_seconds": self.clock.now(),
            "fps": fps,
            "sps": sps,
            "credits": self._gate.credits,
            "return_mean": self.counts.return_mean,
            "length_mean": self.counts.length_mean,
            **self.state,
        }
        if self._gate.paused and values["phase"] in {Phase.RUNNING, Phase.BASELINE}:
            values["phase"] = Phase.PAUSED
        with self._writer.write("state") as state:
            for name, value in values.items():
                state[name] = value.encode(errors="backslashreplace") if isinstance(value, str) else value

    def _write_environments(self, writer: TelemetryWriter, backend: MonitoredEnvs) -> None:
        """Copy the newest slot's table and boards."""
        notice = np.full(self._num_envs, Notice.NOTHING, "u1")
        notice[list(self.alarms.marked)] = Notice.ALARM
        if self.manual_control.played is not None and self.manual_control.played < self._num_envs:
            notice[self.manual_control.played] = Notice.PLAYED
        notice[list(self.breakpoints.hit)] = Notice.BREAK
        recording = self.recorder.states(self._num_envs) if self.recorder is not None else 0
        columns = {"worker": self._owner, "notice": notice, "recording": recording}
        write_environments(writer, self._task, backend.buffer, self._written, self.counts, **columns)
        self._write_boards(writer, backend)

    def _write_boards(self, writer: TelemetryWriter, backend: MonitoredEnvs) -> None:
        lo, hi = self.look.first, min(self._num_envs, self.look.first + self.look.count)
        focus = self.look.focus
        for item in self._task.boards:
            with writer.write(f"board:{item.name}") as boards:
                boards[lo:hi] = backend.buffer[item.name][0, lo:hi]
                if focus is not None and focus < self._num_envs and not lo <= focus < hi:
                    boards[focus] = backend.buffer[item.name][0, focus]
        if "looked_at" in backend.buffer:  # environments draw themselves only then, once, at their next step
            self._asked = self._looked_at()
            backend.buffer["looked_at"][0] = self._asked
        wanted = set(self.recorder.envs) if self.recorder else set()
        if focus is not None and self.watched and (self.eager or self._gate.paused):
            wanted.add(focus)
        self.detail.ask_for_last_boards(backend.buffer, wanted)

    def lacks_boards(self) -> bool:
        """Whether environments that draw themselves have not done so since the last step, or for another look."""
        shown, self._shown = self._shown, (self.counts.steps, self.look, self.watched)
        return self.watched and shown != self._shown

    def redrawn(self) -> None:
        """Take over what environments drew between two steps."""
        if self.detail.keeps_boards:
            self._keep_boards(0)
        self.publish(decided=True)

    def _looked_at(self) -> NDArray[np.bool_]:
        """Which environments somebody looks at, `(num_envs,)`."""
        looked_at = np.zeros(self._num_envs, np.bool_)
        looked_at[self.look.first : self.look.first + self.look.count] = self.watched
        if self.look.focus is not None and self.look.focus < self._num_envs:
            looked_at[self.look.focus] = self.watched
        return looked_at

    def _write_policy(self, writer: TelemetryWriter) -> None:
        focus, seat = self.look.focus, self.look.seat
        if focus is not None and focus < self._num_envs:
            write_policy(writer, focus, seat, self.inspect(focus * self._task.players + seat))
