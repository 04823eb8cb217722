"""The results of a grid: figures of each run, and over the seeds of each group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

import numpy as np

from ...training.grid.queue import GridRun
from ...training.runs.overview import RunOverview
from ...training.runs.statistics import Reals, band
from ...training.units import RETURN, Figure


@dataclass(frozen=True)
class Seen:
    """A run of a grid with what was read of it.

    Attributes:
        found: What is on disk; None before it has begun.
    """

    run: GridRun
    found: RunOverview | None

    @property
    def row(self) -> Mapping[str, Any]:
        """The last line of its metrics; empty before the first."""
        return self.found.rows[-1] if self.found is not None and self.found.rows else {}

    @property
    def last(self) -> float | None:
        """The last value of its main figure."""
        points = self.points()
        return points[-1][1] if points else None

    def points(self) -> list[tuple[float, float]]:
        """Return the curve of its main figure over what its trainer counts."""
        return self.found.points(self.found.units.over) if self.found is not None else []


@dataclass(frozen=True)
class Group:
    """Runs that differ in their seeds only.

    Attributes:
        name: The settings that they share and other groups do not.
        members: The runs.
    """

    name: str
    members: Sequence[Seen]

    @property
    def last(self) -> list[float]:
        """The last values of their main figure."""
        return [value for one in self.members if (value := one.last) is not None]

    def band(self) -> tuple[Reals, Reals, Reals]:
        """Return the mean of their curves and one standard deviation, as `x`, `mean` and `deviation` `(points,)`.

        Where some have no values yet, or no longer, it is that of the others.
        """
        return band([np.array(points, float).T for one in self.members if len(points := one.points()) > 1])


def groups_of(seen: Sequence[Seen]) -> list[Group]:
    """Return the runs by the settings that differ."""
    names = dict.fromkeys(one.run.member.group for one in seen)
    return [Group(name, [one for one in seen if one.run.member.group == name]) for name in names]


def goal_of(seen: Sequence[Seen]) -> Figure:
    """Return the main figure of the runs."""
    return next((one.found.goal for one in seen if one.found is not None and one.found.rows), RETURN)


def facts_of(name: str, seen: Sequence[Seen]) -> dict[str, Any]:
    """Return the results as JSON data."""
    return {
        "grid": name,
        "goal": goal_of(seen).name,
        "runs": [
            {
                "run": one.run.member.name,
                "seed": one.run.member.config.seed,
                "settings": dict(one.run.member.settings),
                "state": one.run.state,
                "error": one.run.error or None,
                "last": one.last,
                "best": one.found.best if one.found is not None else None,
                **{key: one.row.get(key) for key in ("steps", "episodes", "seconds")},
            }
            for one in seen
        ],
        "groups": [{"settings": group.name, **spread(group)} for group in groups_of(seen)],
    }


def spread(group: Group) -> dict[str, Any]:
    """Return mean, standard deviation, lowest and highest of the last values of a group's runs; None while unknown."""
    values = group.last
    return {
        "seeds": len(values),
        "mean": fmean(values) if values else None,
        "deviation": stdev(values) if len(values) > 1 else None,
        "lowest": min(values, default=None),
        "highest": max(values, default=None),
    }
