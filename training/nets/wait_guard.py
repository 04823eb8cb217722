"""Finds operations that wait for the device while a trainer collects, on any device, also on the CPU."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

READS = {"aten::_local_scalar_dense", "aten::equal", "aten::is_nonzero", "aten::item"}
SIZES = {"aten::nonzero", "aten::masked_select", "aten::_unique2", "aten::unique_dim", "aten::repeat_interleave.Tensor"}
"""Operations whose result the host must know: a number, or how large a tensor is."""
INDEXING = {"aten::index.Tensor", "aten::index_put", "aten::index_put_", "aten::_index_put_impl_"}
NOT_OURS = (str(Path(torch.__file__).parent), sysconfig.get_path("stdlib"), __file__)


class Wait(NamedTuple):
    """An operation that waits for the device.

    Attributes:
        where: `file:line` of the code that calls it.
    """

    what: str
    where: str


class WaitGuard(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Reports operations of this thread that wait for the device, as a context.

    It sees `.item()`, `bool(tensor)`, `float(tensor)`, `if tensor:`, boolean indices, operations whose result has an
    unknown size, and copies to the CPU from another device. On the CPU, PyTorch does nothing for `.cpu()`, `.numpy()`
    and `.tolist()`, so it cannot see these: a test keeps them out of the files that collect.

    Args:
        on_wait: Called with each.
    """

    def __init__(self, on_wait: Callable[[Wait], None]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._on_wait = on_wait

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Call an operation, and report it if it waits."""
        del types
        given = dict(kwargs or {})
        if what := _wait_of(func.name(), args, given):
            self._on_wait(Wait(what, _caller()))
        return func(*args, **given)


def _wait_of(name: str, args: Sequence[Any], given: Mapping[str, Any]) -> str:
    """Return how an operation waits; an empty text if it does not."""
    if name in READS:
        return "reads a number of a tensor"
    if name in SIZES:
        return f"{name.partition('::')[2].partition('.')[0]} needs the values to know the size of its result"
    if name in INDEXING and any(isinstance(each, Tensor) and each.dtype == torch.bool for each in args[1]):
        return "is indexed by a boolean tensor"
    target = given.get("device")
    if name == "aten::_to_copy" and target is not None and target.type == "cpu" != args[0].device.type:
        return "copies a tensor to the CPU"
    return ""


def _caller() -> str:
    frame = sys._getframe(2)  # noqa: SLF001 - as documented
    while frame.f_back is not None and frame.f_code.co_filename.startswith(NOT_OURS):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
