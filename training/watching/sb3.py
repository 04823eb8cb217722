"""A callback of Stable-Baselines3 that shows what a model logs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import KVWriter


class _LogWriter(KVWriter):
    """An output of a model's logger, which shows what it gets."""

    def __init__(self, log: Callable[[Mapping[str, Any]], None]) -> None:
        self._log = log

    def write(self, key_values: dict[str, Any], key_excluded: dict[str, Any], step: int = 0) -> None:  # noqa: ARG002
        """Show the numbers."""
        self._log({name: value for name, value in key_values.items() if isinstance(value, int | float | np.number)})

    def close(self) -> None:
        """Do nothing."""


class LogCallback(BaseCallback):
    """Shows what the model logs.

    Args:
        log: Shows metrics.
    """

    def __init__(self, log: Callable[[Mapping[str, Any]], None]) -> None:
        super().__init__()
        self._log = log

    def _on_training_start(self) -> None:
        self.logger.output_formats.append(_LogWriter(self._log))

    def _on_step(self) -> bool:
        return True
