"""Plays trained agents without learning."""

from __future__ import annotations

from dataclasses import replace

from ..settings import scheduled
from ..trainer import Context
from .trainer import Independent

KEPT = 1_024
"""Decisions of each agent that the ring keeps: only the newest observations are needed."""


class IndependentPlayer(Independent):
    """Agents that only play: always the best action, or exploring as at the end of the training."""

    def __init__(self, context: Context, greedy: bool = True) -> None:
        own = {"replay_size": KEPT, "learning_starts": KEPT, "save_replay": False, "processes": False}
        super().__init__(replace(context, settings={**context.settings, **own}))
        self._greedy = greedy

    def _capacity(self, rows: int) -> int:
        return max(KEPT * self._players, rows * KEPT // 16)

    def _learn(self) -> None:
        """Do not learn."""

    def _epsilon(self, agent: int) -> float:
        return 0.0 if self._greedy else scheduled(self._settings.epsilon, int(self.decisions[agent]))
