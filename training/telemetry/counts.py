"""Counts steps, frames and episodes, and keeps statistics of the last episodes."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...envs import Task
from ...envs.fields import Array
from ...envs.unknown import UNKNOWN, unknown_in
from .episodes import EpisodeTable
from .moments import info_scalars, terms_width
from .step_results import StepResults

RECENT_EPISODES = 100
TOTALS = ("steps", "frames", "episodes", "iterations")
RATES = ("rate/done", "rate/truncated", "rate/reset")
QUANTILES = {"p10": 0.1, "p50": 0.5, "p90": 0.9}
LAST_EPISODE = np.dtype([("ret", "f4"), ("length", "i4"), ("outcome", "u1"), ("time", "f8")])


class Counts:
    """Adds up the results of steps.

    Attributes:
        steps: Environment steps so far, all environments.
        frames: Frames so far.
        episodes: Episodes ended so far.
        iterations: Trainer iterations so far.
        outcomes: Number of episodes by outcome; the first one counts episodes without an outcome.
        terms: Sums of the reward terms in the running episode of every seat, `(num_envs * players, terms)`.
        last_terms: The same of the last episode, unknown before the first.
        last_returns: Returns of the last episode, `(num_envs, players)`, unknown before the first.
        ended: The last episode of every environment, `(num_envs,)` of `LAST_EPISODE`.
        table: The last episodes of all environments.
    """

    def __init__(self, task: Task) -> None:
        self.steps = self.frames = self.episodes = self.iterations = 0
        self.outcomes = np.zeros(1 + len(task.outcomes), "u8")
        self.table = EpisodeTable()
        self._task = task
        self._scalars = info_scalars(task)
        self._recent: deque[list[float]] = deque(maxlen=RECENT_EPISODES)  # return, length, scalars
        self._ends = np.zeros(3, np.int64)  # steps of this iteration by how they ended an episode: not, terminated, cut
        self._newest: dict[str, Array] = {}
        self.resize(0)

    def update_task(self, task: Task) -> None:
        """Count a task that has more scalars, which are missing in earlier episodes; with others, forget those."""
        before, self._task, self._scalars = self._scalars, task, info_scalars(task)
        names = [item.name for item in self._scalars]
        if names[: len(before)] != [item.name for item in before]:
            self._recent.clear()
        missing = [UNKNOWN] * (len(self._scalars) - len(before))
        for row in self._recent:
            row.extend(missing)

    @property
    def chosen(self) -> tuple[str, ...]:
        """The info fields whose quantiles over all environments are metrics: those in the task's headline."""
        return tuple(item.name for item in self._scalars if item.name in self._task.headline)

    def resize(self, num_envs: int) -> None:
        """Reset what is kept per environment."""
        self._newest = {}
        self.terms = np.zeros((num_envs * self._task.players, terms_width(self._task)), "f4")
        self.last_terms = np.full_like(self.terms, UNKNOWN)
        self.last_returns = np.full((num_envs, self._task.players), UNKNOWN, "f4")
        self.ended: NDArray[np.void] = np.zeros(num_envs, LAST_EPISODE)
        self.ended["ret"] = UNKNOWN

    def add(self, results: StepResults) -> None:
        """Add the results of some steps."""
        self.frames += results.frames
        self.steps += results.decisions
        self._ends += np.bincount(results.ends.ravel(), minlength=3)
        self._newest.update((name, results.newest[name].copy()) for name in self.chosen if name in results.newest)
        if self._task.reward_terms:
            self._add_terms(results.reward_terms, results.ended_steps, results.ended_envs)
        if len(results.ended_envs):
            self._add_ends(results)

    def _add_terms(self, terms: Array, steps: NDArray[np.intp], envs: NDArray[np.intp]) -> None:
        """Sum up the terms `(steps, rows, terms)` by episode; `envs` ended theirs at `steps`, which rise."""
        shape, added = (len(self.ended), self._task.players, -1), 0
        running, last = self.terms.reshape(shape), self.last_terms.reshape(shape)
        for step in np.unique(steps).tolist():
            self.terms += terms[added : step + 1].sum(axis=0)
            added = step + 1
            over = envs[steps == step]
            last[over] = running[over]
            running[over] = 0
        self.terms += terms[added:].sum(axis=0)

    def _add_ends(self, results: StepResults) -> None:
        """Record the episodes that ended. If an environment ended two, the last one is its last."""
        envs = results.ended_envs
        outcomes = np.minimum(results.outcomes, len(self.outcomes) - 1)
        self.episodes += len(envs)
        returns = results.returns[:, 0]
        columns = [returns, results.lengths, *results.infos]
        self._recent.extend(np.array(columns, np.float64).T.tolist())
        np.add.at(self.outcomes, outcomes, 1)
        self.table.add(results, outcomes)
        self.last_returns[envs] = results.returns
        values = {"ret": returns, "length": results.lengths, "outcome": outcomes, "time": time.time()}
        for name, column in values.items():
            self.ended[name][envs] = column

    def totals(self) -> dict[str, int]:
        """Return the totals so far."""
        return {name: getattr(self, name) for name in TOTALS}

    def state(self) -> dict[str, Any]:
        """Return what a resumed run continues from, as JSON data: totals, outcomes and the last episodes."""
        outcomes = dict(zip(self._reasons, self.outcomes.tolist(), strict=True))
        return {**self.totals(), "outcomes": outcomes, "recent": list(self._recent)}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from what `state` returned."""
        for name in TOTALS:
            setattr(self, name, state[name])
        outcomes = state.get("outcomes", {})
        self.outcomes[:] = [outcomes.get(name, 0) for name in self._reasons]
        width = 2 + len(self._scalars)  # scalars that were found later come last
        self._recent.extend(row[:width] for row in state.get("recent", ()) if len(row) >= width)

    def end_iteration(self) -> dict[str, float]:
        """End an iteration; return rates and quantiles by name. They are empty until an episode has ended.

        `rate/done`, `rate/truncated` and `rate/reset` are the shares of this iteration's steps, of all environments,
        that ended an episode by termination, by truncation, or in either way. The quantiles of return and length are
        over the last episodes of all environments, those of info fields over their newest values.
        """
        self.iterations += 1
        (_, done, truncated), steps = self._ends.tolist(), int(self._ends.sum())
        self._ends[:] = 0
        if not self.episodes or not steps:
            return {}
        rates = dict(zip(RATES, (done / steps, truncated / steps, (done + truncated) / steps), strict=True))
        known = self.ended[self.ended["time"] > 0]
        values = {"return": known["ret"], "length": known["length"]}
        values |= {f"info/{name}": numbers for name, numbers in self._newest.items()}
        return rates | {name: value for each, numbers in values.items() for name, value in quantiles(each, numbers)}

    @property
    def _reasons(self) -> list[str]:
        """The names of the outcomes, an empty one first."""
        return ["", *(outcome.name for outcome in self._task.outcomes)]

    @property
    def return_mean(self) -> float:
        """Mean return of the last 100 episodes, unknown before the first."""
        return self.metrics().get("return_mean", UNKNOWN)

    @property
    def length_mean(self) -> float:
        """Mean length of the last 100 episodes, in steps; unknown before the first."""
        return self.metrics().get("length_mean", UNKNOWN)

    @property
    def length_median(self) -> float:
        """Median length of the last 100 episodes, in steps; unknown before the first."""
        return median(row[1] for row in self._recent) if self._recent else UNKNOWN

    def metrics(self) -> dict[str, float]:
        """Return the means over the last 100 episodes by name, those of scalars over what is known; empty before."""
        if not self._recent:
            return {}
        rows = np.array(self._recent)
        known = [column[~unknown_in(column)] for column in rows[:, 2:].T]
        means = np.mean(rows[:, :2], axis=0).tolist()
        names = [f"info/{item.name}" for item in self._scalars]
        scalars = {name: float(column.mean()) for name, column in zip(names, known, strict=True) if len(column)}
        return {"return_mean": means[0], "length_mean": means[1], **scalars}


def quantiles(name: str, values: Array) -> list[tuple[str, float]]:
    """Return the quantiles of numbers that are known, such as `return/p10`; none if no number is."""
    known = values[np.isfinite(values)]
    if not len(known):
        return []
    found = np.quantile(known, list(QUANTILES.values())).tolist()
    return [(f"{name}/{level}", value) for level, value in zip(QUANTILES, found, strict=True)]
