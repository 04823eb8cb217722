"""Copies from a device into page-locked memory of the host, which nobody waits for."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch import Tensor

from ..core.fetched import DeviceEvent

Transfer = Callable[[Iterable[tuple[Tensor, Tensor]]], DeviceEvent | None]
"""Begins to copy, of each pair, the second tensor into the first one. Returns an event after that; None if it is done.

The copies read what the work that was put on the device before has written, whatever is put there later.
"""


def copy_now(pairs: Iterable[tuple[Tensor, Tensor]]) -> None:
    """Copy between tensors that the CPU computes with."""
    for into, source in pairs:
        into.copy_(source)


class StreamTransfer:
    """Copies in PyTorch's current stream of a GPU."""

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def __call__(self, pairs: Iterable[tuple[Tensor, Tensor]]) -> DeviceEvent:
        """Put the copies into the stream, and an event after them."""
        for into, source in pairs:
            into.copy_(source, non_blocking=True)
        event: DeviceEvent = torch.cuda.current_stream(self._device).record_event()
        return event


def transfer_of(device: torch.device) -> Transfer:
    """Return what copies from a device."""
    return StreamTransfer(device) if device.type == "cuda" else copy_now
