"""The limits of a run: `--steps`, `--frames`, `--episodes` and `--seconds`."""

from __future__ import annotations

import math

from ...envs.unknown import UNKNOWN
from ..config import Config
from ..ranks import Ranks
from ..trainer import Stopped
from .counting import StepCounter
from .num_envs_planner import NumEnvsPlanner


class RunLimits:
    """Compares what was counted with the limits of the configuration. They do not hold during a measurement.

    Args:
        config: The configuration of the session.
        counter: What was counted.
        planner: Whether a baseline or a sweep is being measured.
        ranks: The processes of the training, whose counts are added.
    """

    def __init__(self, config: Config, counter: StepCounter, planner: NumEnvsPlanner, ranks: Ranks) -> None:
        self._config, self._counter, self._planner, self._ranks = config, counter, planner, ranks
        self._others = dict.fromkeys(counter.counts.totals(), 0)  # what the other ranks had counted at the last check
        self._stepped = False

    def check(self) -> bool:
        """Add the counts of all ranks; return whether they have reached a limit. All ranks call this together."""
        own = self._counter.counts.totals()
        totals = self._ranks.totals(list(own.values()))
        self._others = {name: total - own[name] for name, total in zip(own, totals, strict=True)}
        return self._ranks.any(self.reached)

    @property
    def used_up(self) -> float:
        """The largest used share of the limits; unknown without a limit."""
        own = self._counter.counts.totals()
        used = self._config.used_up({name: own[name] + self._others[name] for name in own}, self._seconds())
        return UNKNOWN if math.isnan(used) else used

    @property
    def frames_left(self) -> float:
        """How many more frames the limit allows, by the counts at the last check; infinity without a limit."""
        if self._config.frames is None or self._planner.sweeping:
            return math.inf
        return self._config.frames - self._counter.counts.frames - self._others["frames"]

    @property
    def reached(self) -> bool:
        """Whether the training has reached a limit, by the counts of other ranks at the last check."""
        return self.used_up >= 1 and not self._planner.sweeping

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
