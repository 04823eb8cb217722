"""Alarms: problems that a session detects by itself, reported once per occurrence.

An alarm is raised when its problem begins. It is not raised again while the problem lasts and for some time after.
"""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from statistics import median

import numpy as np
from numpy.typing import NDArray

from ..telemetry.metric_names import split_metric_name
from ..telemetry.step_results import StepResults

QUIET_SECONDS = 60.0  # s of training without the problem, after which an alarm may be raised again
QUIET_ITERATIONS = 10

EARLY_ITERATIONS = 20  # iterations whose median entropy is the early level
COLLAPSE_RATIO = 0.1  # of the early level
COLLAPSE_ITERATIONS = 10  # iterations

EPISODE_FACTOR = 10.0  # times the median episode
MIN_EPISODE_SECONDS = 60.0  # s
FIRST_EPISODE_SECONDS = 600.0  # s, while no episode has ended

SLOW_SHARE = 0.2  # below the median
SLOW_WINDOWS = 3  # windows
NOISE = 0.05  # the share of all windows that may be as slow without an alarm: other programs use the machine, too
BUSY = 1.5  # programs that want to run, per core, from which on they are named
MIN_WINDOWS = 30  # a minute; before that, a short disturbance would raise the alarm


KINDS = ("nan", "entropy", "episodes", "throughput")
"""The alarms that the user can mute, or make less sensitive by a factor."""


class Alarm:
    """Detects when a problem begins.

    Args:
        quiet: How long the problem must be absent before it can begin again, in the units of `now`.
    """

    def __init__(self, quiet: float) -> None:
        self._quiet = quiet
        self._seen = -math.inf

    def begins(self, now: float, *, active: bool) -> bool:
        """Return whether the problem begins `now`; `active` says whether it is present."""
        if not active:
            return False
        begins = now - self._seen > self._quiet
        self._seen = now
        return begins


class EntropyCollapse:
    """Detects that the policy's entropy stays below a tenth of its early level for ten iterations."""

    def __init__(self) -> None:
        self._early: list[float] = []
        self._low = 0

    def collapsed(self, entropy: float, limit: float = 1.0) -> bool:
        """Add an iteration's entropy, in nats; return whether it has collapsed to the usual share over `limit`."""
        if len(self._early) < EARLY_ITERATIONS:
            self._early.append(entropy)
            return False
        low = self.early > 0 and entropy * limit < COLLAPSE_RATIO * self.early
        self._low = self._low + 1 if low else 0
        return self._low >= COLLAPSE_ITERATIONS

    @property
    def early(self) -> float:
        """The early level: the median of the first iterations."""
        return median(self._early)


def episode_patience(length: float, sps: float) -> float:
    """Return after how many seconds without the end of an episode to raise an alarm: ten median episodes or a minute.

    Args:
        length: Median length of the last episodes, in steps; NaN before the first.
        sps: Steps per second of one environment.
    """
    if math.isnan(length) or not sps > 0:
        return FIRST_EPISODE_SECONDS
    return max(MIN_EPISODE_SECONDS, EPISODE_FACTOR * length / sps)


class Alarms:
    """All alarms of a session; used by the training thread.

    Attributes:
        on_alarm: Called with a sentence and an environment, or -1.
        messages: The sentences of all alarms, in order.
        marked: Environments with an alarm, until their episode ends.
        limits: By how much less sensitive the alarms of each kind are than usual; 0 mutes them. Any thread may replace
            it.
    """

    def __init__(self) -> None:
        self.on_alarm: Callable[[str, int], None] = lambda _text, _env: None
        self.messages: list[str] = []
        self.marked: set[int] = set()
        self.limits: Mapping[str, float] = dict.fromkeys(KINDS, 1.0)
        self._numbers = {name: Alarm(QUIET_SECONDS) for name in ("reward", "observation")}
        self._losses = Alarm(QUIET_ITERATIONS)
        self._collapse = Alarm(QUIET_ITERATIONS)
        self._entropies: defaultdict[int, EntropyCollapse] = defaultdict(EntropyCollapse)
        self._slowness = Alarm(QUIET_SECONDS)
        self._silence = Alarm(QUIET_SECONDS)
        self._episodes, self._ended = 0, 0.0
        self._iterations = 0

    def report(self, text: str, env: int = -1) -> None:
        """Raise an alarm."""
        self.messages.append(text)
        self.on_alarm(text, env)

    def check_environments(self, results: StepResults, players: int, now: float) -> None:
        """Check rewards and observations for NaN; `now` in s of training."""
        if not self.limits["nan"]:
            return
        self._report_nan("reward", results.nan_returns // players, now)
        self._report_nan("observation", results.nan_observations // players, now)

    def _report_nan(self, name: str, envs: NDArray[np.intp], now: float) -> None:
        """Report the environments whose reward or observation is NaN."""
        found = sorted(set(envs.tolist()))
        self.marked.update(found)
        if self._numbers[name].begins(now, active=bool(found)):
            count = len(found) - 1
            more = f", and in {count:,} more environment{'s' if count > 1 else ''}" if count else ""
            self.report(f"alarm: env {found[0] + 1}: {name} is NaN{more}", found[0])

    def check_pace(self, episodes: int, patience: float, now: float) -> None:
        """Check that one of the `episodes` so far has ended within `patience` seconds; `now` in s of training."""
        if episodes != self._episodes:
            self._episodes, self._ended = episodes, now
        silent, patience = now - self._ended, patience * (self.limits["episodes"] or math.inf)
        if self._silence.begins(now, active=silent > patience):
            self.report(f"alarm: no episode has ended for {silent:.0f} s; the limit is {patience:.0f} s")

    def check_iteration(self, metrics: Mapping[str, float], windows: Sequence[float], now: float) -> None:
        """Check a trainer's metrics, and the fps of all windows at the current N; `now` in s of training."""
        self._iterations += 1
        limits = self.limits
        losses = [name for name, value in metrics.items() if "loss" in name and not math.isfinite(value)]
        if self._losses.begins(self._iterations, active=bool(losses and limits["nan"])):
            self.report(f"alarm: {losses[0]} is {metrics[losses[0]]}")
        entropies, limit = _entropies(metrics), limits["entropy"] or math.inf
        collapsed = [each for each, value in entropies.items() if self._entropies[each].collapsed(value, limit)]
        if self._collapse.begins(self._iterations, active=bool(collapsed)):
            entropy, early = entropies[collapsed[0]], self._entropies[collapsed[0]].early
            self.report(f"alarm: the policy's entropy has collapsed to {entropy:.3g} nats, from {early:.3g} at first")
        if len(windows) >= MIN_WINDOWS and limits["throughput"]:
            self._check_throughput(windows, SLOW_SHARE * limits["throughput"], now)

    def _check_throughput(self, windows: Sequence[float], share: float, now: float) -> None:
        """Check that the last windows are not slower than usual by a share, and than nearly all others were."""
        fps, usual = max(windows[-SLOW_WINDOWS:]), median(windows)
        noisy = float(np.quantile(windows[:-SLOW_WINDOWS], NOISE))
        if self._slowness.begins(now, active=fps < min((1 - share) * usual, noisy)):
            under = 100 * (1 - fps / usual)
            text = f"alarm: throughput is {fps:,.0f}/s, {under:.0f} % below the median of {usual:,.0f}/s"
            self.report(text + busy(os.getloadavg()[0], os.cpu_count() or 1))

    def reset(self) -> None:
        """Unmark all environments, because they are replaced."""
        self.marked.clear()


def busy(load: float, cores: int) -> str:
    """Return that many programs use the machine, if so."""
    return f"; {load:.0f} programs want to run on {cores} cores" if load > BUSY * cores else ""


def _entropies(metrics: Mapping[str, float]) -> dict[int, float]:
    """Return the entropy of each learner's policy, under the names that PPO and other libraries use."""
    found: dict[int, float] = {}
    for full_name, value in metrics.items():
        learner, name = split_metric_name(full_name)
        match name.rpartition("/")[2]:
            case "entropy":
                found.setdefault(learner, value)
            case "entropy_loss":
                found.setdefault(learner, -value)
    return found
