"""The last episodes of all environments, as viewers list them."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from ...envs.fields import Array
from .blocks import TelemetryWriter
from .records import EPISODE, MAX_EPISODES
from .step_results import StepResults


class EpisodeTable:
    """A ring of the last `MAX_EPISODES` episodes that ended, records of `EPISODE`.

    Attributes:
        count: Number of episodes that have ended.
    """

    def __init__(self) -> None:
        self.count = 0
        self._records: NDArray[np.void] = np.zeros(MAX_EPISODES, EPISODE.dtype)
        self._written: tuple[TelemetryWriter, int] | None = None

    def add(self, results: StepResults, outcomes: Array) -> None:
        """Add the episodes that ended, with their outcomes, `(ends,)`, as indices into `Counts.outcomes`."""
        numbers = ended_episodes(results)
        columns = {
            "number": self.count + 1 + np.arange(len(numbers)),
            "env": results.ended_envs,
            "episode": numbers,
            "ret": results.returns[:, 0],
            "length": results.lengths,
            "outcome": outcomes,
            "end": results.ends[results.ended_steps, results.ended_envs],
            "time": np.full(len(numbers), time.time()),
        }
        self.count += len(numbers)
        kept = slice(max(0, len(numbers) - MAX_EPISODES), None)
        at = (columns["number"][kept] - 1) % MAX_EPISODES
        for name, column in columns.items():
            self._records[name][at] = column[kept]

    def write(self, writer: TelemetryWriter) -> None:
        """Write the table, if it has changed."""
        if self._written != (writer, self.count):
            self._written = writer, self.count
            writer.put("episodes", self._records)


def ended_episodes(results: StepResults) -> NDArray[np.int64]:
    """Return the numbers of the episodes that ended, `(ends,)`, from 0 in each environment."""
    envs = results.ended_envs
    order = np.argsort(envs, kind="stable")
    by_env = envs[order]
    later = np.empty_like(order)  # ends of the same environment after this one
    later[order] = np.searchsorted(by_env, by_env, side="right") - 1 - np.arange(len(envs))
    numbers: NDArray[np.int64] = results.episodes[envs] - 1 - later
    return numbers
