"""What steps add up to: steps, frames, episodes, and how the last of these went."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...backends.core.layout import Buffer
from ...envs import Task
from ...envs.fields import DECIDES, Array
from .moments import info_scalars, terms_width

RECENT_EPISODES = 100
TOTALS = ("steps", "frames", "episodes", "iterations")
LAST_EPISODE = np.dtype([("ret", "f4"), ("length", "i4"), ("outcome", "u1"), ("time", "f8")])


class Counts:
    """Adds up what a buffer's slots say.

    Attributes:
        steps: Environment steps so far, all environments.
        frames: Frames so far.
        episodes: Episodes ended so far.
        iterations: Trainer iterations so far.
        outcomes: Episodes by outcome, the nameless first.
        terms: Every seat's terms of the rewards of the running episode, `(num_envs * players, terms)`.
        last_terms: Those of the last episode, NaN before the first.
        ended: The last episode of every environment, `(num_envs,)` of `LAST_EPISODE`.
    """

    def __init__(self, task: Task) -> None:
        self.steps = self.frames = self.episodes = self.iterations = 0
        self.outcomes = np.zeros(1 + len(task.outcomes), "u8")
        self._task = task
        self._scalars = info_scalars(task)
        self._recent: deque[list[float]] = deque(maxlen=RECENT_EPISODES)  # return, length, scalars
        self.resize(0)

    def resize(self, num_envs: int) -> None:
        """Begin anew what is of single environments."""
        self.terms = np.zeros((num_envs * self._task.players, terms_width(self._task)), "f4")
        self.last_terms = np.full_like(self.terms, np.nan)
        self.ended: NDArray[np.void] = np.zeros(num_envs, LAST_EPISODE)
        self.ended["ret"] = np.nan

    def add(self, buffer: Buffer, span: slice) -> list[int]:
        """Add what the slots of `span` say; return the environments that ended episodes, in that order."""
        players = self._task.players
        self.frames += int(buffer["frames"][span].sum())
        decides = buffer["active"][span] == DECIDES
        if players > 1:  # an environment makes a step whoever of its seats decides
            decides = decides.reshape(len(decides), -1, players).any(axis=2)
        self.steps += int(np.count_nonzero(decides))
        ended = (buffer["terminated"][span] | buffer["truncated"][span])[:, ::players]
        steps, envs = ended.nonzero()
        if self._task.reward_terms:
            self._add_terms(buffer["reward_terms"][span], steps, envs)
        if len(envs):
            self._add_ends(buffer, span.start + steps, envs)
        found: list[int] = envs.tolist()
        return found

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

    def _add_ends(self, buffer: Buffer, slots: NDArray[np.intp], envs: NDArray[np.intp]) -> None:
        """Record that `envs` ended an episode in `slots`; of those that did so twice, the last counts as theirs."""
        rows = envs * self._task.players
        returns, lengths = buffer["episode_return"][slots, rows], buffer["episode_length"][slots, envs]
        outcomes = np.minimum(buffer["outcome"][slots, envs], len(self.outcomes) - 1)
        infos = [
            buffer[item.name][slots if item.timed else 0, rows if item.per == "seat" else envs]
            for item in self._scalars
        ]
        self.episodes += len(envs)
        self._recent.extend(np.array([returns, lengths, *infos], np.float64).T.tolist())
        np.add.at(self.outcomes, outcomes, 1)
        for name, values in {"ret": returns, "length": lengths, "outcome": outcomes, "time": time.time()}.items():
            self.ended[name][envs] = values

    def totals(self) -> dict[str, int]:
        """Return what has been counted so far."""
        return {name: getattr(self, name) for name in TOTALS}

    def state(self) -> dict[str, Any]:
        """Return, as JSON data, what a resumed run counts on from: totals, ends by reason, the last episodes."""
        outcomes = dict(zip(self._reasons, self.outcomes.tolist(), strict=True))
        return {**self.totals(), "outcomes": outcomes, "recent": list(self._recent)}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue what `state` returned in a run that is resumed."""
        for name in TOTALS:
            setattr(self, name, state[name])
        outcomes = state.get("outcomes", {})
        self.outcomes[:] = [outcomes.get(name, 0) for name in self._reasons]
        self._recent.extend(row for row in state.get("recent", ()) if len(row) == 2 + len(self._scalars))

    @property
    def _reasons(self) -> list[str]:
        """The reasons of ends, the nameless first."""
        return ["", *(outcome.name for outcome in self._task.outcomes)]

    @property
    def return_mean(self) -> float:
        """Mean return of the last 100 episodes, NaN before the first."""
        return float(np.mean(self._column(0))) if self._recent else float("nan")

    @property
    def length_mean(self) -> float:
        """Mean length of these."""
        return float(np.mean(self._column(1))) if self._recent else float("nan")

    @property
    def length_median(self) -> float:
        """Median length of these."""
        return float(np.median(self._column(1))) if self._recent else float("nan")

    def _column(self, index: int) -> list[float]:
        return [row[index] for row in self._recent]

    def figures(self) -> dict[str, float]:
        """Return the means over these by name, none before the first."""
        if not self._recent:
            return {}
        names = ("return_mean", "length_mean", *(f"info/{item.name}" for item in self._scalars))
        return dict(zip(names, np.mean(self._recent, axis=0).tolist(), strict=True))
