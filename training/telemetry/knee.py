"""The knee of a table of fps over N: the N up to which more environments pay off."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .snapshot import Scaling

WORTH_IT = 50  # %, of the rounded figures that a table shows


@dataclass(frozen=True)
class Knee:
    """The last N before an added environment first brings less than half of what one alone does.

    Attributes:
        num_envs: That N; a larger one is never the knee, whatever it brings.
        least: What it could be at the lowest, by the spread of the measurements.
        most: What it could be at the highest.
        following: The next N that was measured, None if the knee is the largest.
    """

    num_envs: int
    least: int
    most: int
    following: int | None

    @property
    def sentence(self) -> str:
        """The result in a sentence, without a full stop."""
        if self.num_envs > 1:
            found = f"up to N = {self.num_envs:,}, an added environment brings at least half of what one alone does"
        else:
            found = f"at N = {self.following:,}, an added environment brings less than half of what one alone does"
        if self.least == self.most:
            return found
        return (
            f"{found}; the measurements vary so much that the knee is anywhere from N = {self.least:,} to {self.most:,}"
        )


def marginal_efficiencies(points: Sequence[Scaling]) -> list[float] | None:
    """Return for each N what each environment added since the previous N brings, in % of one alone.

    Args:
        points: The measurements, N rising; without one at N = 1 there is nothing to compare with, and no result.
    """
    if not points or points[0].num_envs != 1 or points[0].fps <= 0:
        return None
    return [_marginal(points, index, 0) for index in range(len(points))]


def is_worth_it(efficiency: float) -> bool:
    """Whether a marginal efficiency in % is at least half, as shown without decimals."""
    return math.isinf(efficiency) or round(efficiency) >= WORTH_IT


def find_knee(points: Sequence[Scaling]) -> Knee | None:
    """Return the knee; None unless N = 1 and another N were measured.

    Args:
        points: The measurements, N rising.
    """
    if len(points) < 2 or marginal_efficiencies(points) is None:
        return None
    found, least, most = (_last_worth_it(points, noise) for noise in (0, -1, 1))
    following = points[found + 1].num_envs if found + 1 < len(points) else None
    return Knee(points[found].num_envs, points[least].num_envs, points[most].num_envs, following)


def _last_worth_it(points: Sequence[Scaling], noise: int) -> int:
    """Return the index of the last row up to which every row is at least half as efficient as one environment."""
    last = 0
    while last + 1 < len(points) and is_worth_it(_marginal(points, last + 1, noise)):
        last += 1
    return last


def _marginal(points: Sequence[Scaling], index: int, noise: int) -> float:
    """Return a row's marginal efficiency in %: as measured, or the worst (-1) or best (1) that the noise allows."""
    one, now = points[0], points[index]
    if index == 0:
        return 100.0
    before = points[index - 1]
    added = now.fps - before.fps + noise * (_error(now) + _error(before))
    alone = one.fps - noise * _error(one)
    return 100 * added / (now.num_envs - before.num_envs) / alone if alone > 0 else math.copysign(math.inf, added)


def _error(entry: Scaling) -> float:
    """Return about how far the median may be from the true one: the range, less the more windows were measured."""
    return (entry.high - entry.low) / math.sqrt(entry.samples)
