"""When the training thread may make the next step: the limits of a run, and its way through the gate."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import partial

from ...envs.unknown import UNKNOWN
from ..config import LIMITS, Config
from ..ranks import Ranks
from ..trainer import Interrupted, ProcessFailed, Stopped
from .counting import StepCounter
from .num_envs_planner import NumEnvsPlanner
from .services import Services
from .trainer_processes import ProcessSupervisor
from .until import Until

PAUSED_AFTER = 1.0
"""Seconds after which another rank that all wait for counts as paused, so that rates leave that time out."""


class RunLimits:
    """The limits of a run: counts, seconds, and the condition of `--until`. None holds during a measurement.

    Only the rank that writes the run has the condition, so its metrics decide for all.

    Attributes:
        fulfilled: The condition and the values that fulfil it; empty as long as it does not hold.
    """

    def __init__(
        self,
        config: Config,
        counter: StepCounter,
        planner: NumEnvsPlanner,
        ranks: Ranks,
        until: Until | None = None,
    ) -> None:
        self._config, self._counter, self._planner, self._ranks = config, counter, planner, ranks
        self._until, self.fulfilled = until, ""
        self._others = dict.fromkeys(counter.counts.totals(), 0)  # what the other ranks had counted at the last check
        self._checked = counter.counts.totals()  # of all ranks, then: what is counted later may be discarded
        self._stepped = False

    def check(self) -> bool:
        """Add the counts of all ranks; return whether they have reached a limit. All ranks call this together."""
        own = self._counter.counts.totals()
        totals = self._ranks.totals(list(own.values()))
        self._checked = dict(zip(own, totals, strict=True))
        self._others = {name: self._checked[name] - own[name] for name in own}
        self.fulfilled = self._held()
        return self._ranks.any(self.reached)

    def _held(self) -> str:
        """Return the condition of `--until` and the values of the last iteration that fulfil it; else an empty text."""
        if self._until is None or not (latest := self._counter.series.latest):
            return ""
        counts, now = self._counter.counts, self._counter.clock.now()
        row = {**latest, **self._totals(), "iterations": counts.iterations, "seconds": now}
        return self._until.text(row) if self._until.holds(row, counts.episodes) else ""

    @property
    def reason(self) -> str:
        """Which limit the training has reached; empty if it has reached none."""
        if not self.reached:
            return ""
        if self.fulfilled:
            return f"--until {self.fulfilled}"
        used = {**self._checked, "seconds": self._seconds()}
        limits = ((name, getattr(self._config, name)) for name in LIMITS)
        return next(f"--{name} {limit:,}" for name, limit in limits if limit and used[name] >= limit)

    @property
    def missing(self) -> list[str]:
        """Names in the condition of `--until` that have had no value, so that it could not hold."""
        return self._until.missing if self._until is not None else []

    @property
    def used_up(self) -> float:
        """The largest used share of the limits, at most 1: the last step may take longer; unknown without a limit."""
        used = self._config.used_up(self._totals(), self._seconds())
        return UNKNOWN if math.isnan(used) else min(1.0, used)

    def _totals(self) -> dict[str, int]:
        """Return the counts of all ranks."""
        return {name: count + self._others[name] for name, count in self._counter.counts.totals().items()}

    @property
    def frames_left(self) -> float:
        """How many more frames the limit allows, by the counts at the last check; infinity without a limit."""
        if self._config.frames is None or self._planner.sweeping:
            return math.inf
        return self._config.frames - self._counter.counts.frames - self._others["frames"]

    @property
    def reached(self) -> bool:
        """Whether the training has reached a limit, by the counts at the last check."""
        used = self._config.used_up(self._checked, self._seconds())
        return (used >= 1 or bool(self.fulfilled)) and not self._planner.sweeping

    def check_time(self) -> None:
        """Check the limit of seconds before a step. The first step is always taken, however long the start took.

        Raises:
            Stopped: The time is used up.
        """
        limit = self._config.seconds
        if limit is not None and self._stepped and not self._planner.sweeping and self._seconds() >= limit:
            raise Stopped
        self._stepped = True

    def _seconds(self) -> float:
        """Seconds of training since the start or the resume, without baseline and sweeps."""
        now = self._counter.clock.now()
        return now - self._counter.resumed.seconds - self._planner.sweep_seconds(now)


class Passage:
    """The way of the training thread through the gate: with all ranks, within the limits, while its processes run.

    `at_gate` is called in the training thread before it passes.
    """

    def __init__(
        self,
        services: Services,
        limits: RunLimits,
        processes: ProcessSupervisor,
        ranks: Ranks,
        at_gate: Callable[[], None],
    ) -> None:
        self._services, self._limits, self._processes, self._ranks = services, limits, processes, ranks
        self._at_gate = at_gate
        self._pass_alone = partial(self._pass, services.pass_gate)

    def enter(self) -> None:
        """Wait until the next step is allowed.

        Raises:
            Stopped: The session is to end, or its time is up.
            Interrupted: There is a request for the training thread.
            ProcessFailed: A process of the trainer has failed.
        """
        self._at_gate()
        begun, clock, timer = time.monotonic(), self._services.clock, self._services.timer

        def wait_for_ranks() -> None:
            """Publish while another rank is slow; if it seems to be paused, with the clock stopped."""
            self._services.waiting()
            if time.monotonic() - begun > PAUSED_AFTER:
                clock.stop()

        self._ranks.raise_together(self._pass_alone, (Interrupted, ProcessFailed, Stopped), wait_for_ranks)
        if self._ranks.size > 1 and clock.stopped:
            clock.start()
            timer.skip()
        elif self._ranks.size > 1:
            timer.lap("ranks")

    def hold(self) -> None:
        """Wait while the session is paused, without a step; raises as `enter`."""
        self._at_gate()
        self._pass(self._services.hold)

    def _pass(self, way: Callable[[], None]) -> None:
        self._processes.check()
        way()
        self._limits.check_time()
