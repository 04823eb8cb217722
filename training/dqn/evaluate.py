"""Plays a trained network without learning."""

from __future__ import annotations

from ..replay.trainer import Player
from .trainer import DQN, IQN


class DqnPlayer(Player, DQN):
    """Plays a network of DQN."""

    def _exploration(self) -> float:
        return 0.0 if self._greedy else super()._exploration()


class IqnPlayer(DqnPlayer, IQN):
    """Plays a network of IQN."""
