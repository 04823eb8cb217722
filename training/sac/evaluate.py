"""Plays a trained policy without learning."""

from __future__ import annotations

from torch import Tensor

from ..replay.trainer import Player
from .trainer import SAC


class SacPlayer(Player, SAC):
    """Plays a policy of SAC: always the middle of its actions, or drawn ones."""

    def _chosen(self, outputs: Tensor, noise: Tensor) -> Tensor:
        return super()._chosen(outputs, noise * 0 if self._greedy else noise)
