"""Shows what a script logs elsewhere as curves: TensorBoard, Weights & Biases, MLflow, Stable-Baselines3 and others."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from threading import get_ident
from types import ModuleType
from typing import Any, Literal, TypeAlias

from .after_import import Hook
from .hidden import hidden

SCRIPT = f"{__package__}.script"
MetricsOf: TypeAlias = Callable[..., Mapping[str, Any]]
FORMATS: dict[int, Literal["f", "d"]] = {1: "f", 2: "d"}
"""How numbers are packed, by the type of a tensor of TensorFlow."""
_logging: set[int] = set()
"""The threads that are within a hooked function: a logger that calls another one is shown once."""


def call_before(owner: Any, name: str, metrics: MetricsOf) -> None:
    """Show `metrics` of a function's arguments whenever it is called. The function itself does the same as before.

    Values that are not numbers, and errors of pac-tui, are ignored.

    Args:
        owner: The class or module that contains the function; one that does not is left as it is.
        name: The function.
        metrics: Called with its arguments, but not before something is watched.
    """
    original = getattr(owner, "__dict__", {}).get(name)
    if not callable(original):
        return

    @hidden
    @functools.wraps(original)
    def logged(*args: Any, **kwargs: Any) -> Any:
        thread, script = get_ident(), sys.modules.get(SCRIPT)
        if script is None or thread in _logging:
            return original(*args, **kwargs)
        _logging.add(thread)
        try:
            with suppress(Exception):  # the script's own logging matters more
                script.log_numbers(metrics(*args, **kwargs))
            return original(*args, **kwargs)
        finally:
            _logging.discard(thread)

    setattr(owner, name, logged)


def _flat(data: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the names and values of dicts in dicts, such as `train/loss`."""
    for name, value in dict.items(data):
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}/")
        else:
            yield f"{prefix}{name}", value


def _first_dict(_logger: Any, *args: Any, **kwargs: Any) -> Mapping[str, Any]:
    return dict(_flat(next(value for value in (*args, *kwargs.values()) if isinstance(value, dict))))


def _scalars(_writer: Any, main_tag: str, tag_scalar_dict: Mapping[str, Any], *_: Any, **__: Any) -> Mapping[str, Any]:
    return dict(_flat(tag_scalar_dict, f"{main_tag}/"))


def _event(_writer: Any, event: Any, *_: Any, **__: Any) -> Mapping[str, Any]:
    """Return the scalars of an event of TensorBoard, which are numbers or tensors of one number."""
    found = {}
    for value in event.summary.value:
        kind = value.WhichOneof("value")
        if kind == "simple_value":
            found[value.tag] = value.simple_value
        elif kind == "tensor" and value.tensor.dtype in FORMATS:
            tensor = value.tensor
            packed = memoryview(tensor.tensor_content).cast(FORMATS[tensor.dtype])
            numbers = [*tensor.float_val, *tensor.double_val, *packed]
            if len(numbers) == 1:
                found[value.tag] = numbers[0]
    return found


def _batch(_client: Any, _run_id: Any = None, metrics: Any = (), *_: Any, **__: Any) -> Mapping[str, Any]:
    return {metric.key: metric.value for metric in metrics}


def _tracked(_run: Any, value: Any, name: Any = None, *_: Any, **__: Any) -> Mapping[str, Any]:
    return dict(_flat(value if isinstance(value, dict) else {name: value}))


LOGGERS: tuple[tuple[str, str, MetricsOf], ...] = (
    ("torch.utils.tensorboard.writer", "SummaryWriter.add_scalars", _scalars),
    ("tensorboardX.writer", "SummaryWriter.add_scalars", _scalars),
    ("tensorboard.summary.writer.event_file_writer", "EventFileWriter.add_event", _event),
    ("tensorboardX.event_file_writer", "EventFileWriter.add_event", _event),
    ("tensorboard.plugins.scalar.summary_v2", "scalar", lambda name, data, *_, **__: {name: data}),  # TensorFlow's
    ("wandb.sdk.wandb_run", "Run.log", _first_dict),
    ("trackio.run", "Run.log", _first_dict),
    ("mlflow.tracking.client", "MlflowClient.log_metric", lambda _, _run="", key="", value=0, *__, **___: {key: value}),
    ("mlflow.tracking.client", "MlflowClient.log_batch", _batch),
    ("lightning.fabric.loggers.csv_logs", "_ExperimentWriter.log_metrics", _first_dict),
    ("lightning_fabric.loggers.csv_logs", "_ExperimentWriter.log_metrics", _first_dict),
    ("pytorch_lightning.loggers.csv_logs", "ExperimentWriter.log_metrics", _first_dict),
    ("aim.sdk.run", "BasicRun.track", _tracked),
    ("aim.sdk.run", "Run.track", _tracked),
    ("stable_baselines3.common.logger", "Logger.dump", lambda logger, *_, **__: dict(logger.name_to_value)),
    ("stable_baselines3.common.logger", "CSVOutputFormat.write", _first_dict),
)
"""A module, a function in it, and what a call of it logs."""


def _hook(module: ModuleType) -> None:
    for name, function, metrics in LOGGERS:
        if name == module.__name__:
            owner, _, method = function.rpartition(".")
            call_before(getattr(module, owner, None) if owner else module, method, metrics)


def scalar_hooks() -> dict[str, Hook]:
    """Return the function to call after the import of each module that logs scalars."""
    return dict.fromkeys((name for name, *_ in LOGGERS), _hook)
