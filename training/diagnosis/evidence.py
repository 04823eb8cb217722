"""What is known of a training, from which rules say what is wrong with it; owned by the training thread."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from statistics import fmean
from time import perf_counter

from ...backends import usable_cores
from ..telemetry.snapshot import Scaling
from .curves import LearnerCurves, add_row
from .machine import MachineEvidence
from .step_statistics import StepStatistics

LOG_PERIOD = 0.1  # s, at least, between two points of a series
LEAST_EPISODES, LEAST_STEPS = 200, 20_000
"""From how many on a training may be said not to learn."""
MANY_EPISODES, MANY_STEPS = 1000, 50_000
"""From how many episodes on it may be, whatever the number of steps; steps after which a policy should have changed."""
IMAGE_STEPS = 250_000
"""The same steps for observations of at least `IMAGE` numbers: PPO on Breakout prefers actions after 60,000."""
IMAGE = 36 * 36
MANY_CHECKS = 300
LEAST_GAIN = 0.5
"""The share of the way from the first episodes to the best one that is considerable."""
LEAST_POINTS = 20
NOISE_FACTOR = 10.0
"""By how many times its usual jump a curve of returns must have risen, where single episodes are not known."""
EPISODE_FACTOR = 10.0  # times the median episode
MIN_EPISODE_SECONDS, FIRST_EPISODE_SECONDS = 60.0, 600.0
"""Seconds without the end of an episode that are no problem, and while no episode has ended."""


class Evidence:
    """What is known of a training.

    Attributes:
        steps: Environment steps so far, all environments.
        num_envs: Number of environments N.
        players: Seats of an environment.
        learners: The curves by learner.
        not_finite: Losses of the last iteration that are NaN or infinite, by name.
        stepped: What is known of the environments' steps.
        windows: The fps of all windows at the present N.
        silence: Seconds of training without an end of an episode, and after how many that is a problem.
        shares: Shares of the training thread's time by phase; empty while unknown.
        costs: Seconds that each phase took per frame, at the last checks with the present N.
        machine: What is known of the machine.
        scaling: The fps at each N that was measured.
        threads: Threads that PyTorch computes with; 0 without it.
        cores: Cores that this process may use.
        watched: Whether a script is watched.
        in_turn: Whether one thread steps the environments one after the other.
        reported: What was reported by others since the last check, by the name of its rule.
        tried: How many actions were tried out in a copy of the environment, and from how many states none mattered.
        main: Whether these environments are those in which the agent learns, and not those of its evaluation.
    """

    def __init__(self) -> None:
        self.steps = self.num_envs = 0
        self.players, self.main = 1, True
        self.observed = 1  # numbers of an observation
        self.learners: dict[int, LearnerCurves] = {}
        self.not_finite: dict[str, float] = {}
        self.stepped = StepStatistics()
        self.windows: Sequence[float] = ()
        self.silence = (0.0, math.inf)
        self.shares: Mapping[str, float] = {}
        self.costs: deque[Mapping[str, float]] = deque(maxlen=MANY_CHECKS)
        self.machine = MachineEvidence()
        self.scaling: Sequence[Scaling] = ()
        self.threads, self.cores, self.watched, self.in_turn = 0, usable_cores(), False, False
        self.reported: dict[str, tuple[str, int]] = {}
        self.tried = (0, 0)
        self._logged = 0.0
        self._episodes, self._ended = 0, 0.0

    def log(self, row: Mapping[str, float], steps: int, *, every: bool = False) -> bool:
        """Add the metrics of an iteration, if the last one was not just now or `every` one counts.

        Returns:
            Whether a loss is not finite.
        """
        self.steps = steps
        self.not_finite = {name: value for name, value in row.items() if not math.isfinite(value) and "loss" in name}
        if every or self.not_finite or perf_counter() >= self._logged + LOG_PERIOD:
            self._logged = perf_counter()
            add_row(self.learners, row, steps)
        return bool(self.not_finite)

    def pace(self, episodes: int, limit: float, now: float) -> None:
        """Note how many episodes have ended, and the limit for the next one in s; `now` in s of training."""
        if episodes != self._episodes:
            self._episodes, self._ended = episodes, now
        self.silence = now - self._ended, limit

    def spend(self, num_envs: int, shares: Mapping[str, float], fps: float) -> None:
        """Note what each phase takes of the time at a rate of frames."""
        if num_envs != self.num_envs:
            self.costs.clear()
        self.num_envs, self.shares = num_envs, shares
        if shares and fps > 0:
            self.costs.append({phase: share / fps for phase, share in shares.items()})

    def forget_moment(self) -> None:
        """Forget what was only true at one moment, after the rules were checked."""
        self.not_finite, self.reported = {}, {}
        self.stepped.nan_rewards.clear()
        self.stepped.nan_observations.clear()

    @property
    def improved(self) -> bool | None:
        """Whether episodes have become better since the first ones; None while too little is known."""
        if self.stepped.returns.count:
            return self.stepped.returns.improved
        series = self.learners[0].known("return", 2 * LEAST_POINTS) if 0 in self.learners else None
        if series is None:
            return None
        return series.late(LEAST_POINTS // 2) - series.early(LEAST_POINTS // 2) > NOISE_FACTOR * series.noise

    @property
    def improved_much(self) -> bool:
        """Whether episodes have come nearer to the best one by a considerable share since the first ones."""
        returns = self.stepped.returns
        if not self.improved or not returns.count:
            return bool(self.improved)
        first, last = map(fmean, returns.ends())
        return last - first > LEAST_GAIN * (returns.high - first)

    @property
    def stuck(self) -> bool:
        """Whether the training has gone on for long without better returns."""
        episodes = self.stepped.returns.count
        enough = episodes >= LEAST_EPISODES and (self.steps >= LEAST_STEPS or episodes >= MANY_EPISODES)
        return self.main and enough and self.improved is False

    @property
    def stuck_for_long(self) -> bool:
        """Whether it has gone on for so long that a policy that learns would have changed.

        That takes longer where rewards are rare, and with images.
        """
        image = self.observed >= IMAGE
        rare = image or self.stepped.zeros > self.stepped.rewards / 2
        soon = not rare and self.stepped.returns.count >= MANY_EPISODES and self.steps >= LEAST_STEPS
        return self.stuck and (soon or self.steps >= (IMAGE_STEPS if image else MANY_STEPS))


def patience(length: float, sps: float) -> float:
    """Return after how many seconds without the end of an episode there is a problem: ten median episodes or a minute.

    Args:
        length: Median length of the last episodes, in steps; NaN before the first.
        sps: Steps per second of one environment.
    """
    if math.isnan(length) or not sps > 0:
        return FIRST_EPISODE_SECONDS
    return max(MIN_EPISODE_SECONDS, EPISODE_FACTOR * length / sps)
