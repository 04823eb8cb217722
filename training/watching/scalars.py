"""Shows what a script logs elsewhere as curves: TensorBoard's writers, Weights & Biases, Stable-Baselines3's logger."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import ModuleType
from typing import Any

from .after_import import Hook

SCRIPT = f"{__package__}.script"


def show(figures: Callable[[], Mapping[str, Any]]) -> None:
    """Show figures in every session of this process. Values that are not numbers, and errors of pac-tui, are ignored.

    Args:
        figures: Returns the figures. It is not called while nothing is watched.
    """
    module = sys.modules.get(SCRIPT)
    if module is not None:
        with suppress(Exception):  # the script's own logging matters more
            module.log_numbers(figures())


def call_before(owner: Any, name: str, figures: Callable[..., Mapping[str, Any]]) -> None:
    """Show `figures` of a method's arguments whenever it is called. The method itself does the same as before."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def logged(*args: Any, **kwargs: Any) -> Any:
        show(lambda: figures(*args, **kwargs))
        return original(*args, **kwargs)

    setattr(owner, name, logged)


def _scalar(_writer: Any, tag: str, scalar_value: Any, *_: Any, **__: Any) -> Mapping[str, Any]:
    return {tag: scalar_value}


def _scalars(_writer: Any, main_tag: str, tag_scalar_dict: Mapping[str, Any], *_: Any, **__: Any) -> Mapping[str, Any]:
    return {f"{main_tag}/{tag}": value for tag, value in tag_scalar_dict.items()}


def _hook_summary_writer(module: ModuleType) -> None:
    call_before(module.SummaryWriter, "add_scalar", _scalar)
    call_before(module.SummaryWriter, "add_scalars", _scalars)


def _logged_data(_run: Any, data: Mapping[str, Any] | None = None, *_: Any, **__: Any) -> Mapping[str, Any]:
    return data or {}


def scalar_hooks() -> dict[str, Hook]:
    """Return the function to call after the import of each module that logs scalars."""
    return {
        "torch.utils.tensorboard.writer": _hook_summary_writer,
        "tensorboardX.writer": _hook_summary_writer,
        "wandb.sdk.wandb_run": lambda module: call_before(module.Run, "log", _logged_data),
        "stable_baselines3.common.logger": lambda module: call_before(
            module.Logger, "dump", lambda logger, *_, **__: dict(logger.name_to_value)
        ),
    }
