"""Runs as rows of a table: their settings and results by name, conditions over these, and groups of runs.

A name is that of a setting (`learning_rate`, or `ppo.learning_rate`), of an option (`num_envs`, `seed`), of a counter
(`steps`), of a metric (`return`, `loss/value`), or one of `run`, `task`, `trainer`, `state`, `best`, `tags`, `note`;
`tag/WORD` is 1 for runs with that tag and 0 for others.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..envs import UnknownName
from ..training.diagnosis.of_run import FOUND
from ..training.guards.conditions import parse_of_runs
from ..training.runs.overview import RunOverview, goal_of
from ..training.runs.statistics import (
    Reals,
    band,
    interquartile_mean,
    interval_of_improvement,
    interval_of_iqm,
    probability_of_improvement,
)
from ..training.telemetry.changes import CHANGED
from ..training.units import LENGTH, RETURN, Figure

SETTINGS, OPTIONS = "config.settings.", "config."
SHORT = {"return": RETURN.name, "length": LENGTH.name, "eval": "eval/return", "N": "num_envs"}
OWN_WORDS = ("run", "task", "trainer", "state", "best", "tags", "note")
TAG = "tag/"
OF_ONE_RUN = frozenset({"name", "resume", "runs_dir", "checkpoint", "seed"})
"""Options that do not make runs another experiment."""
SEED = re.compile(r"--?[\w.-]*seed[\w.-]*")
SEED_END = re.compile(r"[-_]?s(eed)?[-_=]?\d+(-\d+)?$")


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested values as one level, with keys joined by points."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        found |= flat(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {f"{prefix}{key}": value}
    return found


def sheet_of(run: RunOverview) -> dict[str, Any]:
    """Return all that is known of a run, by full names: `config.settings.clip`, `loss/value`, `tags`."""
    if isinstance(run, GroupOverview) and run.group is not None:
        return run.group.sheet({one.name: sheet_of(one) for one in run.group.runs})
    facts = {name: value for name, value in run.metadata.items() if name not in {FOUND, CHANGED}}
    last = run.rows[-1] if run.rows else {}
    notes = run.notes
    own = {"run": run.name, "state": run.state, "best": run.best, "tags": " ".join(notes.tags), "note": notes.note}
    return {**last, **flat(facts), **own}


def value_of(sheet: Mapping[str, Any], name: str) -> Any:
    """Return what a run has under a name, as in the docstring of this module; None if it has nothing."""
    if name.startswith(TAG):
        return int(name.removeprefix(TAG) in str(sheet.get("tags", "")).split())
    if name in OWN_WORDS:
        return sheet.get(name)
    section, point, setting = name.partition(".")
    if point and section == sheet.get("trainer"):
        return sheet.get(SETTINGS + setting)
    full = SHORT.get(name, name)
    for key in (SETTINGS + full, full, OPTIONS + full):
        if sheet.get(key) is not None:
            return sheet[key]
    ends = [key for key in sheet if key.rpartition("/")[2] == name]
    return sheet[ends[0]] if len(ends) == 1 else None


def known_names(sheets: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names under which runs have something."""
    keys = dict.fromkeys(key for sheet in sheets for key in sheet)
    tags = dict.fromkeys(TAG + tag for sheet in sheets for tag in str(sheet.get("tags", "")).split())
    plain = (key.removeprefix(OPTIONS).removeprefix("settings.") for key in keys)
    return list(dict.fromkeys((*OWN_WORDS, *SHORT, *plain, *tags)))


def check_names(names: Sequence[str], sheets: Sequence[Mapping[str, Any]], place: str) -> None:
    """Make sure that at least one run has something under each name.

    Raises:
        UnknownName: None has; the known ones are listed.
    """
    for name in names:
        if sheets and not name.startswith(TAG) and name not in {*OWN_WORDS, *SHORT}:
            settings = {f"{sheet.get('trainer')}." for sheet in sheets}
            plain = next((name.removeprefix(one) for one in settings if name.startswith(one)), name)
            if all(value_of(sheet, plain) is None and plain not in known_names([sheet]) for sheet in sheets):
                raise UnknownName(place, name, known_names(sheets))


def chosen(sheets: Sequence[Mapping[str, Any]], where: str) -> list[bool]:
    """Return for which runs a condition such as `return > 100 and task == 'CartPole-v1'` holds.

    What a run has no value for is NaN, so that comparisons with it are false.

    Raises:
        BadCondition: It is not a condition.
        UnknownName: No run has anything under a name in it.
    """
    condition = parse_of_runs(where)
    check_names(sorted(condition.names), sheets, "name in --where")

    def lookup(name: str) -> Reals:
        return np.array([number(value_of(sheet, name)) for sheet in sheets], float)

    def number(value: Any) -> float:
        if isinstance(value, str):
            return condition.texts.get(value, math.nan)
        return float(value) if isinstance(value, int | float) else math.nan

    hits = set(condition.hits(lookup, len(sheets)).tolist())
    return [index in hits for index in range(len(sheets))]


def order_of(sheets: Sequence[Mapping[str, Any]], name: str) -> list[int]:
    """Return the indices of runs by what they have under a name, the highest first, or the lowest first after `-`.

    Those that have nothing come last.

    Raises:
        UnknownName: No run has anything under the name.
    """
    plain = name.removeprefix("-")
    check_names([plain], sheets, "name in --sort")
    values = [value_of(sheet, plain) for sheet in sheets]
    numbers = [index for index, value in enumerate(values) if _is_number(value)]
    texts = [index for index, value in enumerate(values) if isinstance(value, str) and value]
    rest = [index for index in range(len(sheets)) if index not in {*numbers, *texts}]
    lowest_first = name != plain
    return [
        *sorted(numbers, key=lambda index: values[index] if lowest_first else -values[index]),
        *sorted(texts, key=lambda index: str(values[index]), reverse=lowest_first),
        *rest,
    ]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not math.isnan(value)


class Against(NamedTuple):
    """How probable it is that a run of a group is better than one of another group, with its 95 % interval."""

    probability: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class RunGroup:
    """Runs that differ only in their seeds.

    Attributes:
        name: The beginning that their names share; the name of a single run.
        goal: The figure by which they are compared.
    """

    name: str
    runs: Sequence[RunOverview]
    goal: Figure

    @cached_property
    def values(self) -> Reals:
        """The last values of the goal, `(runs,)`, of those that have one."""
        found = (run.rows[-1].get(self.goal.name) if run.rows else None for run in self.runs)
        return np.array([value for value in found if value is not None and math.isfinite(value)], float)

    def figures(self) -> dict[str, float | int | None]:
        """Return the number of seeds, mean, interquartile mean and its 95 % interval of the last values."""
        values = self.values
        low, high = interval_of_iqm([values]) or (None, None)
        return {
            "seeds": len(values),
            "mean": float(values.mean()) if len(values) else None,
            "iqm": float(interquartile_mean(values)) if len(values) else None,
            "low": low,
            "high": high,
        }

    def better_than(self, other: RunGroup) -> Against | None:
        """Return how probable it is that one of its runs is better than one of another group's; None if unknown."""
        if not len(self.values) or not len(other.values) or self.goal.better == "neither":
            return None
        sign = -1.0 if self.goal.better == "lower" else 1.0
        mine, theirs = [sign * self.values], [sign * other.values]
        low, high = interval_of_improvement(mine, theirs) or (None, None)
        return Against(probability_of_improvement(mine, theirs), low, high)

    def sheet(self, sheets: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """Return what its runs have in common, and means of the results in which they differ.

        Args:
            sheets: What is known of runs, by their names.
        """
        own, found = [sheets[run.name] for run in self.runs], {}
        for key in dict.fromkeys(key for sheet in own for key in sheet):
            values = [sheet.get(key) for sheet in own]
            if all(value == values[0] for value in values):
                found[key] = values[0]
            elif all(map(_is_number, values)) and not key.startswith(OPTIONS):
                found[key] = float(np.mean(np.array(values, float)))
        return found

    @property
    def title(self) -> str:
        """Its name, and the number of its runs if it has several."""
        return f"{self.name} ({len(self.runs)} seeds)" if len(self.runs) > 1 else self.name

    def band(self, over: str) -> tuple[Reals, Reals, Reals]:
        """Return the mean of their curves of the goal and one standard deviation, as `x`, `mean` and `deviation`."""
        return band([np.array(points, float).T for run in self.runs if len(points := run.points(over)) > 1])


@dataclass(frozen=True)
class GroupOverview(RunOverview):
    """Several runs that differ only in their seeds, as one row; what is known of the first is shown."""

    group: RunGroup | None = None

    @property
    def members(self) -> tuple[Path, ...]:
        """The folders of the runs."""
        return tuple(run.folder for run in self.group.runs if run.folder is not None) if self.group is not None else ()

    def points(self, over: str) -> list[tuple[float, float]]:
        """Return the mean of their curves."""
        x, mean, _ = self.group.band(over) if self.group is not None else (np.zeros(0),) * 3
        return list(zip(x.tolist(), mean.tolist(), strict=True))


def grouped(runs: Sequence[RunOverview]) -> list[RunOverview]:
    """Return runs with a row for each group of several instead of its members."""
    found: list[RunOverview] = []
    for group in groups_of(runs):
        first = group.runs[0]
        if len(group.runs) == 1:
            found.append(first)
            continue
        found.append(
            GroupOverview(
                group.title,
                first.folder,
                {name: value for name, value in first.metadata.items() if name != "config"},
                first.state,
                max(run.when for run in group.runs),
                first.version,
                group=group,
            )
        )
    return found


def groups_of(runs: Sequence[RunOverview]) -> list[RunGroup]:
    """Return runs in groups of those that differ only in their seeds, in the order of their first ones."""
    found: dict[object, list[RunOverview]] = {}
    for run in runs:
        found.setdefault(experiment_of(run), []).append(run)
    first = runs[0] if runs else None
    goal = goal_of(first.metadata, first.rows[-1] if first.rows else ()) if first is not None else RETURN
    return [RunGroup(_name_of(members), members, goal) for members in found.values()]


def experiment_of(run: RunOverview) -> object:
    """Return what runs share that differ only in their seeds."""
    config = run.metadata.get("config")
    if not config or run.error:
        return run.name, run.folder  # nothing is known of how it was made
    kept = {name: value for name, value in config.items() if name not in OF_ONE_RUN}
    if isinstance(kept.get("arguments"), list):
        kept["arguments"] = _without_seed(list(map(str, kept["arguments"])))
    return (
        str(run.metadata.get("task")),
        str(run.metadata.get("trainer")),
        json.dumps(kept, sort_keys=True, default=str),
    )


def _without_seed(arguments: Sequence[str]) -> list[str]:
    """Return a script's arguments without `--seed 3` and `--seed=3`."""
    kept, skip = [], False
    for argument in arguments:
        name, equals, _ = argument.partition("=")
        if skip:
            skip = False
        elif SEED.fullmatch(name) is not None or (equals and name.endswith("seed")):
            skip = not equals
        else:
            kept.append(argument)
    return kept


def _name_of(runs: Sequence[RunOverview]) -> str:
    if len(runs) == 1:
        return runs[0].name
    stems = {SEED_END.sub("", run.name) for run in runs}
    return stems.pop() if len(stems) == 1 else min(run.name for run in runs)


def split_names(text: str) -> tuple[str, ...]:
    """Return the names in a text such as `learning_rate, return`."""
    return tuple(name for part in text.split(",") if (name := part.strip()))
