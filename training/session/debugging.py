"""Breakpoints, diagnosis, recordings and the history of the last steps of a session."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...envs import Task
from ...envs.fields import Array
from ...envs.task import ASKED, LARGE_OF, LAST_DRAWN, LIMITED, LIMITED_LARGE, LOOKED_AT
from ...envs.unknown import UNKNOWN
from ..diagnosis.diagnosis import Diagnosis
from ..diagnosis.evidence import patience
from ..guards.breakpoints import Breakpoints, ConditionValues
from ..past.history import History
from ..past.recorder import EpisodeRecorder
from ..telemetry.counts import Counts
from ..telemetry.monitored import MonitoredEnvs
from ..telemetry.records import Notice
from ..telemetry.segment_layout import counted_actions, spread_numbers
from ..telemetry.step_results import StepResults
from ..telemetry.throughput import TrainingClock
from ..trainer import Policy, PolicyOutput, Saliency
from .gate import Gate
from .manual_control import ManualControl
from .viewers import View


class Debugger:
    """Keeps the last steps, checks breakpoints, collects evidence, and records episodes.

    Args:
        task: What is stepped.
        view: What viewers display.
        counts: What was counted.
        clock: Measures the time of training.
        gate: Closes at the end of an episode that `run_to_end_of_episode` names.
        on_breakpoint: Called with a sentence and the environment, after the step at which a breakpoint hit.

    Attributes:
        breakpoints: Conditions that are checked after every step.
        diagnosis: What is wrong with the training.
        manual_control: The action of a person that replaces the policy's at the next step.
        history: The last steps of all environments.
        recorder: Records episodes; None for a watched script.
        policy: Provides the policy's outputs; the trainer, once it is built.
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
    ) -> None:
        self.breakpoints = Breakpoints(task)
        self.diagnosis = Diagnosis()
        self.on_breakpoint = on_breakpoint
        self.manual_control = ManualControl(task)
        self._requested: NDArray[np.bool_] = np.zeros(0, np.bool_)  # whose boards are drawn at the next step
        self.history = History(task, 1)
        self.recorder: EpisodeRecorder | None = None
        self.policy: Policy | None = None
        self._bounds = np.array(task.bounds, np.float32).T if task.bounds else None
        self._task, self._view, self._counts, self._clock, self._gate = task, view, counts, clock, gate
        self._source: MonitoredEnvs | None = None
        self._awaited_env: int | None = None

    # -- stepping -----------------------------------------------------------------------------------------------------

    def resize(self, num_envs: int) -> None:
        """Start a history of `num_envs` environments."""
        self.history = History(self._task, num_envs)
        self._source = None

    def update_task(self, task: Task) -> None:
        """Continue with a task that has more scalars, which conditions may contain, or other boards."""
        self._task = task
        self.history.update_task(task)
        self.breakpoints.update_task(task)

    def begin(self, source: MonitoredEnvs, *, resumed: bool = False) -> None:
        """Debug the environments of `source`, whose episodes have just begun in slot 0, or are `resumed` there."""
        self._source = source
        evidence, task = self.diagnosis.evidence, self._task
        evidence.watched, evidence.players = task.watched, task.players
        evidence.observed = math.prod(task.observation.shape)
        self.history.begin(source, resumed=resumed)
        self._requested = np.zeros(self.history.num_envs, np.bool_)
        self.breakpoints.reset()
        self.diagnosis.reset()
        if self.recorder is not None:
            self.recorder.reset()

    def run_to_end_of_episode(self, env: int | None) -> None:
        """Open the gate, and close it when environment `env` ends its episode; None only opens it."""
        self._awaited_env = env
        self._gate.resume()

    @property
    def needs_every_step(self) -> bool:
        """Whether every step must be counted before the next one, which overwrites boards and states."""
        return self._awaited_env is not None or bool(self.breakpoints.enabled or self.recorder)

    def observe(self, results: StepResults) -> None:
        """Add counted steps to the history, and check breakpoints after the newest of them."""
        assert self._source is not None
        for env in results.ended_envs.tolist():
            self.diagnosis.marked.discard(env)
            if env == self._awaited_env:
                self._awaited_env = None
                self._gate.pause()
        self._collect(results)
        self.history.extend(results, self._counts.terms)
        if self.recorder is not None:
            self.recorder.extend(self._source, results, self.history)
            self.recorder.choose(results, self.history)
        if self.breakpoints.enabled:
            self._check_breakpoints(results)

    def _collect(self, results: StepResults) -> None:
        """Add counted steps to the evidence; if something in them is NaN, rules are checked at once."""
        assert self._source is not None
        task, diagnosis, stepped = self._task, self.diagnosis, self.diagnosis.evidence.stepped
        if bad := stepped.add(results, task.players, counted_actions(task), self._bounds):
            diagnosis.marked |= bad
            diagnosis.budget.hurry()
        buffer = self._source.buffer
        if spread_numbers(task.observation) and not task.watched and buffer.tensors is None:
            seen = buffer["observation"][results.span.written, :: task.players]
            stepped.observe(seen, results.ends, int(not task.begins_at_once))

    def _check_breakpoints(self, results: StepResults) -> None:
        readings = ConditionValues(self._task, results, entropy=self._entropy)
        if text := self.breakpoints.check(readings):
            self.on_breakpoint(text, self.breakpoints.hit[0])

    def unreachable_breakpoints(self, num_envs: int) -> list[str]:
        """Return the breakpoints of environments beyond `num_envs`."""
        conditions = [breakpoint_.condition for breakpoint_ in self.breakpoints.enabled]
        return [one.text for one in conditions if one.env is not None and one.env >= num_envs]

    def check_pace(self, sps: float) -> None:
        """Note whether episodes still end, at `sps` environment steps per second of all environments together."""
        limit = patience(self._counts.length_median, sps / self.history.num_envs)
        self.diagnosis.evidence.pace(self._counts.episodes, limit, self._clock.now())

    def request_boards(self, focus: int | None) -> None:
        """Request boards, at the next step, of displayed environments that draw on request.

        Recorded ones, and the one in `focus` if a viewer steps through it, also draw at the end of their episode.
        """
        assert self._source is not None
        buffer = self._source.buffer
        if LOOKED_AT in buffer:
            self._requested = self._view.displayed(self.history.num_envs)
            buffer[LOOKED_AT][0] = LIMITED * self._requested
        if LARGE_OF in buffer:
            wanted = focus if self._view.look.large and focus not in self.recorded else None
            if wanted is not None:
                buffer[LOOKED_AT][0, wanted] = LIMITED_LARGE
            if wanted is None or buffer[LARGE_OF][0, 0] != wanted + 1:
                buffer[LARGE_OF][0, 0] = 0
        if LAST_DRAWN in buffer and not self._task.state_at_hand:
            inspected = [focus] if focus is not None and (self.needs_every_step or self._gate.paused) else []
            asked = np.isin(np.arange(self.history.num_envs), [*self.recorded, *inspected])
            last_drawn = buffer[LAST_DRAWN][0]
            last_drawn[~asked] = 0
            last_drawn[asked & (last_drawn == 0)] = ASKED

    def keep_boards(self, ahead: int) -> None:
        """Keep the boards that environments drew in the newest step, `ahead` steps after the newest counted one.

        Only boards that cannot be rebuilt are kept, if viewers display them or they are recorded.
        """
        if self._source is None or self._task.state_at_hand or not (self._view.has_viewers or self.recorder):
            return
        buffer = self._source.buffer
        drawn = (
            self._take_drawn(buffer[LOOKED_AT][0])
            if LOOKED_AT in buffer
            else self._view.displayed(self.history.num_envs)
        )
        self.history.keep_boards(buffer, ahead, drawn)

    def _take_drawn(self, looked_at: Array) -> NDArray[np.bool_]:
        """Return which environments have drawn as requested, `(num_envs,)`; request the next board of recorded ones."""
        drawn: NDArray[np.bool_] = self._requested & (looked_at == 0)
        self._requested &= ~drawn
        recorded = self.recorded
        self._requested[recorded], looked_at[recorded] = True, 1
        return drawn

    @property
    def recorded(self) -> list[int]:
        """The environments whose episodes are recorded, or will be."""
        return self.recorder.envs if self.recorder else []

    def inspect(self, row: int) -> PolicyOutput | None:
        """Return what the policy computed for a row at the last step; None if there is no policy."""
        return self.policy.inspect(row) if self.policy is not None else None

    def saliency(self, row: int, observation: Array, mask: Array | None, action: Array | None) -> Saliency | None:
        """Return what the policy's choice for a row depends on; None if the trainer cannot say."""
        return self.policy.saliency(row, observation, mask, action) if self.policy is not None else None

    def expect(self, steps: int) -> bool:
        """Note that `steps` more steps will be observed; return whether environments have saved their states."""
        assert self._source is not None
        return self.history.expect(steps) and self._source.save(self._source.buffer.order.newest)

    def values(self, slots: slice) -> Any:
        """Return the value estimates of some slots, `(slots, rows)`, on the device of the buffer; None without them."""
        return self.policy.values(slots) if self.policy is not None else None

    def _entropy(self, row: int) -> float:
        output = self.inspect(row)
        return UNKNOWN if output is None else output.entropy

    # -- publishing ---------------------------------------------------------------------------------------------------

    def columns(self, num_envs: int) -> dict[str, Array]:
        """Return the columns `notice` and `recording` of the table of environments."""
        notice = np.full(num_envs, Notice.NOTHING, "u1")
        notice[list(self.diagnosis.marked)] = Notice.ALARM
        if self.manual_control.played is not None and self.manual_control.played < num_envs:
            notice[self.manual_control.played] = Notice.PLAYED
        notice[list(self.breakpoints.hit)] = Notice.BREAK
        recording = self.recorder.states(num_envs) if self.recorder is not None else np.zeros(num_envs, "u1")
        return {"notice": notice, "recording": recording}
