"""How often an off-policy model of Stable-Baselines3 uses what it collects, against what its settings say."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import FrameType
from typing import Any

OFF_POLICY = "stable_baselines3.common.off_policy_algorithm"
COLLECTING = "collect_rollouts"
"""The method that steps the environments; its first variable is the model."""
LEAST_STEPS = 1000
REPLAY_USE = "optimizer/replay_use"


class ReplayUse:
    """Finds the model once, and reads its counters."""

    def __init__(self) -> None:
        self._model: Callable[[], Any] = lambda: None

    def take(self, frame: FrameType | None) -> dict[str, float]:
        """Return updates per environment step as a share of those that the settings say; empty if it is unknown.

        Args:
            frame: Where the thread is that steps the environments.
        """
        if OFF_POLICY not in sys.modules:
            return {}
        with suppress(Exception):  # of a version that is not known
            model = self._model() or self._found(frame)
            return {} if model is None else use_of(vars(model))
        return {}

    def _found(self, frame: FrameType | None) -> Any:
        own = sys.modules[OFF_POLICY].__file__
        while frame is not None:
            if frame.f_code.co_name == COLLECTING and frame.f_code.co_filename == own:
                model = frame.f_locals["self"]
                self._model = weakref.ref(model)
                return model
            frame = frame.f_back
        return None


def use_of(model: Mapping[str, Any]) -> dict[str, float]:
    """Return the use of a replay from the attributes of its model."""
    steps = int(model["num_timesteps"]) - int(model["learning_starts"])
    frequency, unit, wanted = model["train_freq"].frequency, model["train_freq"].unit.value, model["gradient_steps"]
    if steps < LEAST_STEPS or unit != "step":
        return {}
    intended = 1.0 if wanted < 0 else wanted / frequency
    return {REPLAY_USE: int(model["_n_updates"]) / steps / intended}
