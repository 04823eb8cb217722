"""Publishes a session's state and environments, as often as viewers need it and without taking much time."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from ...backends.core.layout import Buffer
from ...envs import Task
from ...envs.fields import Array
from ...envs.task import LARGE, LARGE_OF
from ...envs.unknown import UNKNOWN
from ..telemetry.blocks import TelemetryWriter
from ..telemetry.changes import Change, write_changes
from ..telemetry.findings import Finding, write_findings
from ..telemetry.moments import MomentSource, field_named, fill_moment, moment_dtype
from ..telemetry.monitored import MonitoredEnvs
from ..telemetry.records import LINE, STATE, Phase
from ..telemetry.segment_layout import counted_actions, spread_numbers
from ..telemetry.tables import write_environments, write_policy, write_saliency, write_spread, write_throughput
from ..telemetry.throughput import Mark
from ..trainer import Saliency
from .counting import StepCounter
from .debugging import Debugger
from .gate import Gate
from .viewers import View

MAX_SHARE = 0.015
"""The largest share of the training thread's time that publishing may take; large telemetry is written less often."""
PERIODS = {"picture": 1 / 45, "focus": 1 / 30, "grid": 1 / 10, "nobody": 1 / 2}
"""Seconds between two publications, by what viewers display."""
SALIENCY_SHARE = 100
"""How many times as long as it takes to compute a saliency to wait until the next one."""
COUNTS_PERIOD = 0.5  # s between two counts of all actions in the history
MOST_ROWS, MOST_SEEN = 32, 4096
"""Rows of all environments whose actions, and whose observations, are in histograms."""
LINE_PERIOD = 0.25  # s between two copies of an environment's last steps while it is running


@dataclass
class SessionState:
    """What a session is doing. The attributes have the names of the telemetry block `state`.

    Attributes:
        phase: What the session is doing.
        message: The same in words, for people.
        started: When the session started, in s since the epoch.
        backend: Name of the backend.
        device: Where the policy runs.
        target_envs: The number of environments that a restart leads to.
        speed: Limit of the environment steps per second, all environments together; 0 is no limit.
        progress: How much is done of what `message` names, 0 to 1; NaN if unknown.
        limit: How much of the run's limit is used up, 0 to 1; NaN without a limit.
    """

    phase: Phase = Phase.STARTING
    message: str = ""
    started: float = 0.0
    backend: str = ""
    device: str = ""
    target_envs: int = 0
    speed: float = 0.0
    progress: float = UNKNOWN
    limit: float = UNKNOWN

    @property
    def ending(self) -> bool:
        """Whether the session is ending or has ended."""
        return self.phase >= Phase.STOPPING


class Publisher:
    """Writes state, rates, environments, boards and the environment in focus into the telemetry.

    Attributes:
        due: When to publish next, by `time.perf_counter`.
        seconds: CPU time of all publications for viewers, in s.
        actions_chosen: Whether the buffer contains the actions of the next step while the training waits at the gate.
        changes: The changes of the trainer's settings, a tuple that is replaced.
        trace: Returns traced boards of a paused environment by name, see `Rewinder.trace`.
    """

    def __init__(
        self, task: Task, state: SessionState, view: View, counter: StepCounter, debugger: Debugger, *, gate: Gate
    ) -> None:
        self.due = self.seconds = self._figures_due = 0.0
        self.actions_chosen = True
        self._task, self._state, self._view = task, state, view
        self._counts, self._throughput = counter.counts, counter.throughput
        self._debugger, self._gate = debugger, gate
        self._moment = np.zeros((), moment_dtype(task))
        self._num_actions = counted_actions(task)
        self._spread_actions = spread_numbers(field_named(task, "action"))
        self._spread_numbers = spread_numbers(task.observation)
        self._counts_due = self._line_due = 0.0
        self._line_of = (-1, 0)
        self._saliency_of, self._saliency_due = (-1, 0, 0, False), 0.0
        self._salient: Saliency | None = None  # that of a script which was written last
        self._findings: tuple[Finding, ...] | None = None  # those that were written
        self.changes: tuple[Change, ...] = ()
        self._changes: tuple[Change, ...] | None = None
        self._num_envs = 0
        self._writer: TelemetryWriter | None = None
        self._source: MonitoredEnvs | None = None
        self.trace: Callable[[int], Mapping[str, Array]] = lambda _env: {}
        self._workers: NDArray[np.int32] = np.zeros(0, "i4")

    def attach(self, writer: TelemetryWriter, num_envs: int) -> None:
        """Publish into `writer` from now on; there are no environments until `begin`."""
        self._writer, self._num_envs, self._source, self._findings = writer, num_envs, None, None
        self._changes = self._salient = None
        self._saliency_of = (-1, 0, 0, False)

    def update_task(self, task: Task, writer: TelemetryWriter) -> None:
        """Publish the same environments into `writer`, of a task that has more scalars."""
        self._task, self._writer, self._findings, self._changes = task, writer, None, None
        self._salient = None
        self._moment = np.zeros((), moment_dtype(task))

    def begin(self, source: MonitoredEnvs) -> None:
        """Publish the environments of `source` from now on."""
        self._source = source
        self._workers = np.full(self._num_envs, -1, "i4")
        for worker in source.workers:
            self._workers[worker.lo : worker.hi] = worker.index

    @property
    def period(self) -> float:
        """Seconds between two publications, by what viewers display."""
        if not self._view.has_viewers:
            return PERIODS["nobody"]
        if self._view.look.focus is None:
            return PERIODS["grid"]
        return PERIODS["picture" if self._view.look.large and LARGE in self._buffer else "focus"]

    @property
    def _buffer(self) -> Mapping[str, Array]:
        """The environments' buffer; empty if there are none."""
        return {} if self._source is None else self._source.buffer

    def publish(self, mark: Mark, *, at_gate: bool = False) -> None:
        """Write everything now; between two pictures in large, only boards, as pictures cost less than all figures.

        Args:
            mark: The current counters.
            at_gate: Whether the training waits at the gate, so that nothing changes.
        """
        started, now = time.thread_time(), time.perf_counter()
        drawn = LARGE in self._buffer and self._view.look.large
        if drawn and not at_gate and now < self._figures_due and self._writer is not None and self._source is not None:
            self._write_boards(self._writer, self._source.buffer, at_gate=False)
            self._debugger.request_boards(self._view.focus(self._num_envs))
        elif self._writer is not None:
            self._figures_due = now + PERIODS["grid"]
            self._write_state(self._writer, mark)
            if self._source is not None:
                write_throughput(self._writer, self._throughput, mark)
                self._write_environments(self._writer, self._source.buffer, at_gate=at_gate)
                env = self._view.focus(self._num_envs)
                self._debugger.request_boards(env)
                if env is not None:
                    self._write_focus(self._writer, self._source.buffer, env, at_gate=at_gate)
        spent = time.thread_time() - started
        self.seconds += spent * self._view.has_viewers
        self.due = time.perf_counter() + max(self.period, spent / MAX_SHARE)

    def _write_state(self, writer: TelemetryWriter, mark: Mark) -> None:
        fps, sps = self._throughput.rates(mark) if self._source is not None else (UNKNOWN, UNKNOWN)
        values = {
            **vars(self._state),
            **self._counts.totals(),
            "num_envs": self._num_envs,
            "now": time.time(),
            "training_seconds": mark.seconds,
            "fps": fps,
            "sps": sps,
            "baseline": self._throughput.baseline or UNKNOWN,
            "baseline_when": self._throughput.baseline_when,
            "credits": self._gate.credits,
            "return_mean": self._counts.return_mean,
            "length_mean": self._counts.length_mean,
        }
        if self._gate.paused and values["phase"] in {Phase.RUNNING, Phase.BASELINE}:
            values["phase"] = Phase.PAUSED
        self._counts.table.write(writer)
        with writer.write("state") as state:
            STATE.put(state, values)

    def _write_environments(self, writer: TelemetryWriter, buffer: Buffer, *, at_gate: bool) -> None:
        columns = {"worker": self._workers, **self._debugger.columns(self._num_envs)}
        write_environments(writer, self._task, buffer, buffer.order.newest, self._counts, **columns)
        self._write_boards(writer, buffer, at_gate=at_gate)
        with writer.write("breakpoints") as block:
            self._debugger.breakpoints.write(block)
        diagnosis = self._debugger.diagnosis
        if self._changes is not self.changes:
            self._changes = self.changes
            with writer.write("changes") as block:
                write_changes(block, self._changes)
        if self._findings is not diagnosis.findings:
            self._findings = diagnosis.findings
            with writer.write("findings") as block:
                write_findings(block, self._findings)

    def _write_boards(self, writer: TelemetryWriter, buffer: Buffer, *, at_gate: bool) -> None:
        """Write the boards that viewers display."""
        look, focus = self._view.look, self._view.focus(self._num_envs)
        inspected = at_gate and look.detail and focus is not None and not (look.back or look.last)
        traced = self.trace(focus) if inspected and focus is not None else {}
        lo, hi = look.first, min(self._num_envs, look.first + look.count)
        for item in self._task.boards:
            with writer.write(f"board:{item.name}") as boards:
                boards[lo:hi] = buffer[item.name][0, lo:hi]
                if focus is not None and (item.name in traced or not lo <= focus < hi):
                    boards[focus] = traced.get(item.name, buffer[item.name][0, focus])
        if LARGE in buffer and (drawn := buffer[LARGE_OF][0, 0]):
            with writer.write(LARGE_OF) as number, writer.write(LARGE) as picture:
                number[...], picture[...] = drawn, buffer[LARGE][0, 0]

    def _write_focus(self, writer: TelemetryWriter, buffer: Buffer, env: int, *, at_gate: bool) -> None:
        """Write what viewers display of the environment in focus."""
        look, history = self._view.look, self._debugger.history
        row = env * self._task.players + look.seat
        output = self._debugger.inspect(row)
        write_policy(writer, env, look.seat, output)
        if output is not None and not self._task.watched:  # of a script, the output may be of an earlier step
            history.keep_entropy(row, at_gate and self.actions_chosen, output.entropy)
        # Also without `detail`, so that who asks for it during a long update does not wait for the next step.
        self._write_step(writer, buffer, env, look.seat, at_gate=at_gate)
        if at_gate or self._line_of != (env, look.seat) or time.monotonic() >= self._line_due:
            self._line_of, self._line_due = (env, look.seat), time.monotonic() + LINE_PERIOD
            steps = history.line(env, look.seat)
            with writer.write("line") as line:
                LINE.put(line, {"env": env, "seat": look.seat, **vars(steps)})
        if look.saliency:
            self._write_saliency(writer, env, look.seat)
        if look.detail:
            self._write_distributions(writer, buffer, env)

    def _write_step(self, writer: TelemetryWriter, buffer: Buffer, env: int, seat: int, *, at_gate: bool) -> None:
        """Write the newest step of a seat; at the gate, the next episode's first state if the step ended one."""
        moment, row, history = self._moment, env * self._task.players + seat, self._debugger.history
        fill_moment(moment, self._task, buffer, buffer.order.newest, env, seat=seat, begun=at_gate)
        last = history.decision(env, history.now, seat)
        moment["step"] = moment["now"] = history.now
        if moment["begun"]:
            last = None  # it belongs to the previous episode
        terms = self._counts.last_terms if moment["end"] else self._counts.terms
        moment["source"], moment["terms"] = MomentSource.NOW, terms[row, : len(self._task.reward_terms)]
        moment["acted"], moment["decided"] = last is not None, at_gate and self.actions_chosen
        moment["value"] = UNKNOWN if last is None else last.value
        if last is not None:
            moment["action"] = last.action
        if moment["decided"]:
            moment["next_action"] = buffer["action"][buffer.order.acting, row]
        writer.put("detail", moment)

    def _write_saliency(self, writer: TelemetryWriter, env: int, seat: int) -> None:
        """Write what the policy's choice depends on in the newest step, as `_write_step` has written it."""
        moment = self._moment
        shown = env, seat, int(moment["step"]), bool(moment["decided"])
        if shown == self._saliency_of or time.monotonic() < self._saliency_due:
            return
        self._saliency_of = shown
        mask = np.array(moment["mask"]) if self._task.masked and moment["mask"].any() else None
        action = np.array(moment["next_action"]) if moment["decided"] else None
        begun = time.monotonic()
        found = self._debugger.saliency(env * self._task.players + seat, np.array(moment["observation"]), mask, action)
        self._saliency_due = time.monotonic() + SALIENCY_SHARE * (time.monotonic() - begun)
        if self._task.watched:  # computed from time to time by the script's thread
            if found is None or found is self._salient:
                return
            self._salient = found
        write_saliency(writer, env, seat, int(moment["step"]), found)

    def _write_distributions(self, writer: TelemetryWriter, buffer: Buffer, env: int) -> None:
        """Write every half second how often actions were taken of late, and histograms of continuous numbers.

        Those of actions are of the last steps, by the environment in focus and by all; those of observations are of all
        environments now.
        """
        if time.monotonic() < self._counts_due:
            return
        self._counts_due = time.monotonic() + COUNTS_PERIOD
        players, history = self._task.players, self._debugger.history
        rows = slice(env * players, (env + 1) * players)
        if self._num_actions:
            with writer.write("action_counts") as counts:
                counts[0] = self._count(history.actions(rows))
                counts[1] = self._count(history.actions(slice(None)))
        if self._spread_actions:
            thinned = slice(None, None, ceil(self._num_envs * players / MOST_ROWS))
            with writer.write("action_spreads") as spreads:
                for spread, chosen in zip(spreads, (rows, thinned), strict=True):
                    actions = history.actions(chosen)
                    write_spread(spread, actions.reshape(-1, actions.shape[-1]))
        if self._spread_numbers:
            seen = buffer["observation"][buffer.order.newest]
            with writer.write("seen_spreads") as spreads:
                write_spread(spreads, np.asarray(seen[:: ceil(len(seen) / MOST_SEEN)]))

    def _count(self, actions: Array) -> NDArray[np.int64]:
        known = actions[actions >= 0]
        return np.bincount(known, minlength=self._num_actions)[: self._num_actions]
