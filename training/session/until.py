"""The condition of `--until`: a training ends with the iteration in which its metrics fulfil it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from ...envs import BadParameter, Task, UnknownName
from ...envs.fields import Array
from ...envs.unknown import is_unknown
from ..config import Config
from ..guards.conditions import Condition, parse_of_metrics
from ..playing import PREFIX, evaluation_names
from ..telemetry.counts import QUANTILES, RATES, RECENT_EPISODES, TOTALS
from ..telemetry.metric_names import split_metric_name
from ..telemetry.moments import info_scalars
from ..telemetry.throughput import RATE_NAMES
from ..trainers import TrainerKind
from ..units import LENGTH, RETURN

SHORT = {"return": RETURN.name, "length": LENGTH.name, "eval": f"{PREFIX}return"}
"""Short names of metrics. The last part of a name and its title on the screen are short names, too."""
ANY = np.array([-np.inf, np.inf])
"""Stands for a number that is not known: a condition holds if it does whatever the number is."""


@dataclass(frozen=True)
class Until:
    """A condition over the metrics of an iteration.

    Attributes:
        condition: The condition.
        metrics: The metrics of the names in it.
        seen: The metrics that have had a value.
    """

    condition: Condition
    metrics: Mapping[str, str]
    seen: set[str]

    @classmethod
    def of(cls, config: Config, kind: TrainerKind, task: Task) -> Until | None:
        """Return the condition of a configuration; None without one.

        Raises:
            BadCondition: It is not a condition.
            UnknownName: The training has no metric of a name in it.
            BadParameter: It is about evaluations, and there are none.
        """
        if not config.until:
            return None
        condition = parse_of_metrics(config.until)
        known = _known_names(kind, task)
        metrics = {name: _metric_of(name, known, kind, task) for name in sorted(condition.names)}
        evaluated = [name for name, metric in metrics.items() if metric.startswith(PREFIX)]
        if evaluated and not config.eval_every:
            raise BadParameter(f"--until {config.until!r} is about {evaluated[0]}, so it needs --eval-every")
        return cls(condition, metrics, set())

    def holds(self, row: Mapping[str, float], episodes: int) -> bool:
        """Return whether the condition holds.

        Args:
            row: Counters and metrics of the last iteration.
            episodes: Episodes so far. Means over the last 100 count only when so many have ended.
        """
        known = {
            name: row[metric]
            for name, metric in self.metrics.items()
            if not is_unknown(row.get(metric)) and (episodes >= RECENT_EPISODES or not _is_mean(metric))
        }
        self.seen.update(self.metrics[name] for name in known)

        def lookup(name: str) -> Array:
            return np.full(2, known[name], np.float64) if name in known else ANY

        return len(self.condition.hits(lookup, len(ANY))) == len(ANY)

    def text(self, row: Mapping[str, float]) -> str:
        """Return the condition with the values that fulfil it."""
        values = ", ".join(f"{name} {row[metric]:,.6g}" for name, metric in self.metrics.items() if metric in row)
        return f"{self.condition.text}{f' ({values})' if values else ''}"

    @property
    def missing(self) -> list[str]:
        """The names without a value so far."""
        return [name for name, metric in self.metrics.items() if metric not in self.seen]


def _is_mean(metric: str) -> bool:
    """Whether a metric is a mean over the last episodes."""
    return metric in {RETURN.name, LENGTH.name} or (metric.startswith("info/") and metric.count("/") == 1)


def _known_names(kind: TrainerKind, task: Task) -> tuple[str, ...]:
    """Return the names of the counters and the metrics that a training may have."""
    scalars = [item.name for item in info_scalars(task)]
    spread = ["return", "length", *(f"info/{name}" for name in scalars if name in task.headline)]
    return (
        *(*TOTALS, "seconds", *RATE_NAMES, *RATES),
        *((RETURN.name, LENGTH.name) if kind.units.episodes else ()),
        *(f"info/{name}" for name in scalars),
        *(f"{name}/{level}" for name in spread for level in QUANTILES),
        *(PREFIX + name for name in (*evaluation_names(task), "iteration") if kind.player),
        *(kind.metrics or ()),
    )


def _metric_of(name: str, known: Collection[str], kind: TrainerKind, task: Task) -> str:
    """Return the metric that a name in the condition stands for.

    Raises:
        UnknownName: There is no such metric.
    """
    titles = {figure.title.lower(): figure.name for figure in kind.figures}
    own = split_metric_name(name)[1]
    if own in known:
        return name
    short = {**titles, **SHORT}.get(name.lower(), "")
    if short in known:
        return short
    ends = [metric for metric in known if metric.rpartition("/")[2] == name]
    if len(ends) == 1:
        return ends[0]
    if kind.metrics is None or (task.late and name.startswith("info/")):
        return name
    raise UnknownName("name in --until", name, (*known, *(word for word, metric in SHORT.items() if metric in known)))
