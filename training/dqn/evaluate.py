"""Plays a trained network without learning."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch

from ..nets.weights import POLICY, load_weights
from ..trainer import Context
from .trainer import DQN, IQN

KEPT = 1_024
"""Decisions that the ring keeps: only the newest observations are needed."""


class _Player(DQN):
    """A trainer that only plays: always the best action, or exploring as at the end of the training."""

    def __init__(self, context: Context, greedy: bool = True) -> None:
        own = {"replay_size": KEPT, "learning_starts": 0, "save_replay": False}
        super().__init__(replace(context, settings={**context.settings, **own}))
        self._greedy = greedy
        self._learn_from = math.inf

    def _exploration(self) -> float:
        return 0.0 if self._greedy else super()._exploration()

    def _capacity(self, rows: int) -> int:
        return max(KEPT, rows * KEPT // 16)

    def load_state(self, tensors: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        """Play with the weights of a training's state, exploring as at its end if not greedy.

        Raises:
            WrongCheckpoint: They are weights of another network.
        """
        load_weights(self.policy, {name: torch.as_tensor(tensor) for name, tensor in tensors.items()}, POLICY)
        self.decisions = int(data["decisions"])


class DqnPlayer(_Player):
    """Plays a network of DQN."""


class IqnPlayer(_Player, IQN):
    """Plays a network of IQN."""
