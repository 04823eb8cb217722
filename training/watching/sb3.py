"""A callback of Stable-Baselines3 that shows what a model logs."""

from __future__ import annotations

from typing import Any

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import KVWriter

from . import watch


class _LogWriter(KVWriter):
    """An output of a model's logger, which shows what it gets."""

    def write(self, key_values: dict[str, Any], key_excluded: dict[str, Any], step: int = 0) -> None:  # noqa: ARG002
        """Show the numbers."""
        watch.log({name: value for name, value in key_values.items() if isinstance(value, int | float | np.number)})

    def close(self) -> None:
        """Do nothing."""


class LogCallback(BaseCallback):
    """Shows what the model logs."""

    def _on_training_start(self) -> None:
        self.logger.output_formats.append(_LogWriter())

    def _on_step(self) -> bool:
        return True
