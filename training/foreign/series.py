"""FoundSeries of numbers, of which a bounded number of evenly spaced points is kept while they are read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ..telemetry.snapshot import MAX_CURVES, MAX_NAME_LENGTH, Curve
from ..units import LENGTH, RETURN

MOST_POINTS = 2048
"""Points that are kept of a series, at least half of it."""
LARGEST = float(np.finfo("f4").max)
ALIASES = {
    RETURN.name: (
        *("rollout/ep_rew_mean", "charts/episodic_return", "rollout/episodic_return", "ep_rew_mean", "episode_reward"),
        *("episodic_return", "train/episode_reward", "return", "r", "charts/avg_episodic_return"),
    ),
    LENGTH.name: ("rollout/ep_len_mean", "charts/episodic_length", "ep_len_mean", "episodic_length", "l"),
    "eval/return": ("eval/mean_reward",),
    "loss/value": ("train/value_loss", "losses/value_loss"),
    "loss/policy": ("train/policy_gradient_loss", "losses/policy_loss"),
    "loss/entropy": ("losses/entropy",),
    "approx_kl": ("train/approx_kl", "losses/approx_kl"),
    "clip_fraction": ("train/clip_fraction", "losses/clipfrac"),
    "explained_variance": ("train/explained_variance", "losses/explained_variance"),
    "learning_rate": ("train/learning_rate", "charts/learning_rate"),
    "fps": ("time/fps", "charts/SPS"),
}
"""What the curves of other programs are called here."""


class FoundSeries:
    """Points of one metric, in the order in which they were written."""

    def __init__(self) -> None:
        self._points: list[tuple[float, float, float]] = []
        self._every, self._seen = 1, 0
        self._last: tuple[float, float, float] | None = None

    def add(self, step: float, seconds: float, value: float) -> None:
        """Add a point. One at an earlier step replaces all from there on: the training was resumed."""
        if self._last is not None and step < self._last[0]:
            while self._points and self._points[-1][0] >= step:
                self._points.pop()
        self._last = step, seconds, value
        if self._seen % self._every == 0:
            self._points.append(self._last)
            if len(self._points) >= MOST_POINTS:
                del self._points[1::2]
                self._every *= 2
        self._seen += 1

    def __len__(self) -> int:
        """How many points were added."""
        return self._seen

    def points(self) -> list[tuple[float, float, float]]:
        """Return steps, seconds and values, the last one included."""
        last = [self._last] if self._last is not None and self._points[-1:] != [self._last] else []
        return [*self._points, *last]


class AllSeries:
    """The series of a log by name.

    Attributes:
        notice: What is wrong with the log; empty if nothing is.
    """

    def __init__(self) -> None:
        self.by_name: dict[str, FoundSeries] = {}
        self.notice = ""

    def add(self, name: str, step: float, seconds: float, value: float) -> None:
        """Add a point, unless there are too many series."""
        series = self.by_name.get(name)
        if series is None:
            if len(self.by_name) >= MAX_CURVES or not 0 < len(name) <= MAX_NAME_LENGTH:
                self.notice = self.notice or f"only the first {MAX_CURVES:,} curves are read"
                return
            series = self.by_name[name] = FoundSeries()
        series.add(step, seconds, value)

    def curves(self) -> dict[str, Curve]:
        """Return the curves by their names, and by those that they have here."""
        starts = [points[0][1] for one in self.by_name.values() if (points := one.points())]
        begun = min((start for start in starts if math.isfinite(start)), default=0.0)
        found = {name: _curve(name, series, begun) for name, series in self.by_name.items()}
        return {**found, **_known(found)}


def _known(found: Mapping[str, Curve]) -> dict[str, Curve]:
    """Return curves by the names that they have here."""
    pairs = ((ours, next((found[name] for name in names if name in found), None)) for ours, names in ALIASES.items())
    return {ours: curve for ours, curve in pairs if curve is not None and ours not in found}


def _curve(name: str, series: FoundSeries, begun: float) -> Curve:
    table = np.array(series.points(), float).reshape(-1, 3)
    table[:, 1] -= begun
    with np.errstate(invalid="ignore"):
        table[np.abs(table) > LARGEST] = math.nan
    steps, seconds, values = table.astype("f4").T.copy()
    return Curve(name, 0, steps=steps, seconds=seconds, frames=steps, values=values)


class Log(NamedTuple):
    """What was read of a log.

    Attributes:
        curves: Its curves by name.
        points: How many points each of its own names has.
        notice: What is wrong with it; empty if nothing is.
    """

    curves: dict[str, Curve]
    points: dict[str, int]
    notice: str


def log_of(series: AllSeries) -> Log:
    """Return what was read of a log."""
    return Log(series.curves(), {name: len(one) for name, one in series.by_name.items()}, series.notice)
