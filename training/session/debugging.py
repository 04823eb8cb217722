"""Breakpoints, alarms, recordings and the history of the last steps of a session."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np

from ...envs import Task
from ...envs.fields import Array
from ..guards.alarms import Alarms, EpisodePace
from ..guards.breakpoints import Breakpoints, ConditionValues
from ..past.history import History
from ..past.recorder import EpisodeRecorder
from ..telemetry.blocks import TelemetryWriter
from ..telemetry.counts import Counts
from ..telemetry.monitored import MonitoredEnvs
from ..telemetry.records import Notice
from ..telemetry.step_results import StepResults
from ..telemetry.tables import write_policy
from ..telemetry.throughput import TrainingClock
from ..trainer import PolicyOutput
from .board_capture import BoardCapture
from .focus import FocusPublisher
from .gate import Gate
from .manual_control import ManualControl
from .publishing import StepPosition
from .state import View


class PolicyInspector(Protocol):
    """What a debugger asks the trainer."""

    def inspect(self, row: int) -> PolicyOutput | None:
        """Return what the policy computed for a row at the last step."""

    def values(self, slots: slice) -> Array | None:
        """Return the value estimates of some slots, `(slots, rows)`."""


class Debugger:
    """Keeps the last steps, checks breakpoints and alarms, and publishes what concerns single environments.

    Args:
        task: What is stepped.
        view: What viewers display.
        counts: What was counted.
        clock: Measures the time of training.
        gate: Closes at the end of an episode that `wait_for_episode_end` names.
        on_breakpoint: Called with a sentence and the environment, after the step at which a breakpoint hit.
        on_alarm: Called with a sentence and the environment, or -1.

    Attributes:
        breakpoints: Conditions that are checked after every step.
        alarms: Conditions that are checked whenever steps are counted.
        manual_control: The action of a person that replaces the policy's at the next step.
        boards: Keeps boards that environments draw themselves.
        history: The last steps of all environments.
        recorder: Records episodes; None for a watched script.
        policy: The trainer, once it is built.
    """

    def __init__(
        self,
        task: Task,
        view: View,
        counts: Counts,
        clock: TrainingClock,
        gate: Gate,
        *,
        on_breakpoint: Callable[[str, int], None],
        on_alarm: Callable[[str, int], None],
    ) -> None:
        self.breakpoints = Breakpoints(task)
        self.alarms = Alarms()
        self.alarms.on_alarm = on_alarm
        self.on_breakpoint = on_breakpoint
        self.manual_control = ManualControl(task)
        self.boards = BoardCapture(task, view)
        self.history = History(task, 1)
        self.recorder: EpisodeRecorder | None = None
        self.policy: PolicyInspector | None = None
        self._task, self._view, self._counts, self._clock, self._gate = task, view, counts, clock, gate
        self._focus = FocusPublisher(task, counts, self.history)
        self._source: MonitoredEnvs | None = None
        self._awaited_env: int | None = None

    # -- stepping -----------------------------------------------------------------------------------------------------

    def resize(self, num_envs: int) -> None:
        """Start a history of `num_envs` environments."""
        self.history = History(self._task, num_envs)
        self._focus = FocusPublisher(self._task, self._counts, self.history)
        self._source = None

    def begin(self, source: MonitoredEnvs) -> None:
        """Debug the environments of `source`, whose episodes have just begun in slot 0."""
        self._source = source
        self.history.begin(source)
        self.boards.begin(self.history.num_envs)
        self.breakpoints.reset()
        self.alarms.reset()
        if self.recorder is not None:
            self.recorder.reset()

    def wait_for_episode_end(self, env: int | None) -> None:
        """Close the gate when environment `env` ends its episode; None cancels that."""
        self._awaited_env = env

    @property
    def needs_every_step(self) -> bool:
        """Whether every step must be counted before the next."""
        recorder = self.recorder
        waits = self._awaited_env is not None or bool(self.breakpoints.enabled)
        return waits or (recorder is not None and recorder.eager)

    def observe(self, results: StepResults) -> None:
        """Take over steps that were counted, and check breakpoints after the newest of them."""
        assert self._source is not None
        for env in results.ended_envs.tolist():
            self.alarms.marked.discard(env)
            if env == self._awaited_env:
                self._awaited_env = None
                self._gate.pause()
        self.alarms.check_environments(results, self._task.players, self._clock.now())
        self.history.extend(self._source, results, self._values(results.span.acted), self._counts.terms)
        if self.recorder:
            self.recorder.extend(self._source, results, self.history)
        if self.breakpoints.enabled:
            self._check_breakpoints(results)

    def _check_breakpoints(self, results: StepResults) -> None:
        def value() -> Array | None:
            values = self._values(results.span.acted)
            return None if values is None else values[-1]

        readings = ConditionValues(self._task, results, value=value, entropy=self._entropy)
        if text := self.breakpoints.check(readings):
            self.on_breakpoint(text, self.breakpoints.hit[0])

    def unreachable_breakpoints(self, num_envs: int) -> list[str]:
        """Return the breakpoints of environments beyond `num_envs`."""
        conditions = [breakpoint_.condition for breakpoint_ in self.breakpoints.enabled]
        return [one.text for one in conditions if one.env is not None and one.env >= num_envs]

    def check_pace(self, sps: float) -> None:
        """Check that episodes still end, at `sps` environment steps per second of all environments together."""
        pace = EpisodePace(self._counts.episodes, self._counts.length_median, sps / self.history.num_envs)
        self.alarms.check_pace(pace, self._clock.now())

    def keep_boards(self, ahead: int) -> None:
        """Keep the boards that environments drew in the newest step, `ahead` steps after the newest counted one."""
        if self._source is not None and self.boards.needed and (self._view.has_viewers or self.recorder):
            self.boards.keep(self.history, self._source.buffer, ahead, self.recorded)

    @property
    def recorded(self) -> list[int]:
        """The environments whose episodes are recorded, or will be."""
        return self.recorder.envs if self.recorder else []

    def _inspect(self, row: int) -> PolicyOutput | None:
        return self.policy.inspect(row) if self.policy is not None else None

    def _values(self, slots: slice) -> Array | None:
        return self.policy.values(slots) if self.policy is not None else None

    def _entropy(self, row: int) -> float:
        output = self._inspect(row)
        return math.nan if output is None else output.entropy

    # -- publishing ---------------------------------------------------------------------------------------------------

    def columns(self, num_envs: int) -> dict[str, Array]:
        """Return the columns `notice` and `recording` of the table of environments."""
        notice = np.full(num_envs, Notice.NOTHING, "u1")
        notice[list(self.alarms.marked)] = Notice.ALARM
        if self.manual_control.played is not None and self.manual_control.played < num_envs:
            notice[self.manual_control.played] = Notice.PLAYED
        notice[list(self.breakpoints.hit)] = Notice.BREAK
        recording = self.recorder.states(num_envs) if self.recorder is not None else np.zeros(num_envs, "u1")
        return {"notice": notice, "recording": recording}

    def write(self, writer: TelemetryWriter, position: StepPosition) -> None:
        """Write the breakpoints and what is known of the environment in focus; request the boards to display."""
        assert self._source is not None
        with writer.write("breakpoints") as block:
            self.breakpoints.write(block)
        env = self._view.focus(self.history.num_envs)
        stepping = self.needs_every_step or self._gate.paused
        self.boards.request(self._source.buffer, self.recorded, env if stepping else None)
        if env is not None:
            self._write_focus(writer, self._source, env, position)

    def _write_focus(self, writer: TelemetryWriter, source: MonitoredEnvs, env: int, position: StepPosition) -> None:
        look, focus = self._view.look, self._focus
        write_policy(writer, env, look.seat, self._inspect(env * self._task.players + look.seat))
        if look.detail or position.at_gate:
            focus.write_step(writer, source.buffer, env, look.seat, position)
        if position.at_gate:
            focus.write_line(writer, env, look.seat)
        if look.detail:
            focus.write_action_counts(writer, env)
