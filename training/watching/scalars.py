"""Shows what a script logs elsewhere as curves: TensorBoard, Weights & Biases, MLflow, Stable-Baselines3 and others."""

from __future__ import annotations

import functools
import struct
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from types import ModuleType
from typing import Any, TypeAlias

from .after_import import Hook
from .hidden import hidden

SCRIPT = f"{__package__}.script"
Figures: TypeAlias = Callable[..., Mapping[str, Any]]
FORMATS = {1: "<f", 2: "<d"}
"""How numbers are packed, by the type of a tensor of TensorFlow."""


class _Calls(threading.local):
    """The calls of the running thread.

    Attributes:
        depth: Number of hooked functions that are running.
    """

    depth = 0


_calls = _Calls()


def show(figures: Callable[[], Mapping[str, Any]]) -> None:
    """Show figures in every session of this process. Values that are not numbers, and errors of pac-tui, are ignored.

    Args:
        figures: Returns the figures. It is not called before something is watched.
    """
    module = sys.modules.get(SCRIPT)
    if module is not None:
        with suppress(Exception):  # the script's own logging matters more
            module.log_numbers(figures())


def call_before(owner: Any, name: str, figures: Figures) -> None:
    """Show `figures` of a function's arguments whenever it is called. The function itself does the same as before.

    A logger that calls another one is shown once.

    Args:
        owner: The class or module that contains the function; one that does not is left as it is.
        name: The function.
        figures: Called with its arguments.
    """
    original = vars(owner).get(name)
    if not callable(original):
        return

    @hidden
    @functools.wraps(original)
    def logged(*args: Any, **kwargs: Any) -> Any:
        if not _calls.depth:
            show(lambda: figures(*args, **kwargs))
        _calls.depth += 1
        try:
            return original(*args, **kwargs)
        finally:
            _calls.depth -= 1

    setattr(owner, name, logged)


def flat(data: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the names and values of dicts in dicts, such as `train/loss`."""
    for name, value in dict.items(data):
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{name}/")
        else:
            yield f"{prefix}{name}", value


def _scalar(_writer: Any, tag: str, scalar_value: Any, *_: Any, **__: Any) -> Mapping[str, Any]:
    return {tag: scalar_value}


def _scalars(_writer: Any, main_tag: str, tag_scalar_dict: Mapping[str, Any], *_: Any, **__: Any) -> Mapping[str, Any]:
    return {f"{main_tag}/{tag}": value for tag, value in flat(tag_scalar_dict)}


def _hook_summary_writer(module: ModuleType) -> None:
    call_before(module.SummaryWriter, "add_scalar", _scalar)
    call_before(module.SummaryWriter, "add_scalars", _scalars)


def _event(_writer: Any, event: Any, *_: Any, **__: Any) -> Mapping[str, Any]:
    return dict(_of_event(event.summary.value))


def _of_event(values: Iterable[Any]) -> Iterator[tuple[str, float]]:
    """Yield the scalars of an event of TensorBoard, which are numbers or tensors of one number."""
    for value in values:
        kind = value.WhichOneof("value")
        if kind == "simple_value":
            yield value.tag, value.simple_value
        elif kind == "tensor" and value.tensor.dtype in FORMATS:
            tensor = value.tensor
            packed = struct.iter_unpack(FORMATS[tensor.dtype], tensor.tensor_content)
            found = [*tensor.float_val, *tensor.double_val, *(number for (number,) in packed)]
            if len(found) == 1:
                yield value.tag, found[0]


def _hook_event_writer(module: ModuleType) -> None:
    call_before(module.EventFileWriter, "add_event", _event)


def _named(name: str, data: Any, *_: Any, **__: Any) -> Mapping[str, Any]:
    return {name: data}


def _logged(_logger: Any, data: Any = None, *_: Any, metrics: Any = None, **__: Any) -> Mapping[str, Any]:
    """Return a dict that is the first argument of a method, whatever its name is."""
    return dict(flat(data if data is not None else metrics or {}))


def _experiment_metrics(_writer: Any, metrics_dict: Any, *_: Any, **__: Any) -> Mapping[str, Any]:
    return dict(flat(metrics_dict))


def _hook_csv_logger(module: ModuleType) -> None:
    for name in ("_ExperimentWriter", "ExperimentWriter"):
        if hasattr(module, name):
            call_before(getattr(module, name), "log_metrics", _experiment_metrics)


def _metric(_client: Any, _run_id: Any, key: str, value: Any, *_: Any, **__: Any) -> Mapping[str, Any]:
    return {key: value}


def _batch(_client: Any, run_id: Any = None, metrics: Any = (), *_: Any, **__: Any) -> Mapping[str, Any]:  # noqa: ARG001
    return {metric.key: metric.value for metric in metrics}


def _hook_mlflow(module: ModuleType) -> None:
    call_before(module.MlflowClient, "log_metric", _metric)
    call_before(module.MlflowClient, "log_batch", _batch)


def _tracked(_run: Any, value: Any, name: Any = None, *_: Any, **__: Any) -> Mapping[str, Any]:
    return dict(flat(value)) if isinstance(value, dict) else {name: value}


def _hook_aim(module: ModuleType) -> None:
    for name in ("BasicRun", "Run"):
        if hasattr(module, name):
            call_before(getattr(module, name), "track", _tracked)


def _written(_format: Any, key_values: Any, *_: Any, **__: Any) -> Mapping[str, Any]:
    return dict(key_values)


def _hook_sb3(module: ModuleType) -> None:
    call_before(module.Logger, "dump", lambda logger, *_, **__: dict(logger.name_to_value))
    call_before(module.CSVOutputFormat, "write", _written)


def scalar_hooks() -> dict[str, Hook]:
    """Return the function to call after the import of each module that logs scalars."""
    return {
        "torch.utils.tensorboard.writer": _hook_summary_writer,
        "tensorboardX.writer": _hook_summary_writer,
        "tensorboard.summary.writer.event_file_writer": _hook_event_writer,
        "tensorboardX.event_file_writer": _hook_event_writer,
        "tensorboard.plugins.scalar.summary_v2": lambda module: call_before(module, "scalar", _named),  # TensorFlow's
        "wandb.sdk.wandb_run": lambda module: call_before(module.Run, "log", _logged),
        "trackio.run": lambda module: call_before(module.Run, "log", _logged),
        "mlflow.tracking.client": _hook_mlflow,
        "lightning.fabric.loggers.csv_logs": _hook_csv_logger,
        "lightning_fabric.loggers.csv_logs": _hook_csv_logger,
        "pytorch_lightning.loggers.csv_logs": _hook_csv_logger,
        "aim.sdk.run": _hook_aim,
        "stable_baselines3.common.logger": _hook_sb3,
    }
