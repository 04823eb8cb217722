"""Parts of a buffer that are in the memory of the host, or are being copied there from a device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

Key = tuple[str | int, str]
"""A group of arrays, and the name in it."""


class DeviceEvent(Protocol):
    """A point in the work of a device, such as `torch.cuda.Event`."""

    def query(self) -> bool:
        """Return whether the device is past it; never waits."""

    def synchronize(self) -> None:
        """Wait until the device is past it."""


@dataclass(frozen=True)
class Fetched:
    """Arrays that are being copied from a device.

    Attributes:
        arrays: The arrays, undefined until they have arrived. Those of a buffer on the host are views.
        event: Recorded after the copies; None if the arrays were there from the start.
    """

    arrays: Mapping[Key, Any]
    event: DeviceEvent | None = None

    def has_arrived(self, *, wait: bool = False) -> bool:
        """Return whether the arrays have arrived, after waiting for them if `wait`."""
        if wait and self.event is not None:
            self.event.synchronize()
        return self.event is None or self.event.query()
