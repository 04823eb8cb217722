"""Workers that are started before their work is known, and load kernels in the meantime."""

from __future__ import annotations

import os
import secrets
import select

from ..system.segment import own_directory
from . import fleet
from .worker import instructions_with


class SpareWorkers:
    """Workers that load the kernels of a task; a fleet takes them before it starts others.

    The first compiles the kernels or loads them from disk. The others wait for it, to load instead of compiling too.

    Args:
        kernels: `module:function` that compiles or loads them.
    """

    def __init__(self, kernels: str, count: int) -> None:
        self._loaded, pending = os.pipe()
        try:
            for index in range(count):
                pipe = self._loaded if index else pending
                instructions = instructions_with(kernels=kernels, pipe=pipe, first=index == 0)
                log = own_directory() / f"reserve-{secrets.token_hex(6)}.log"
                fleet.start_spare(log, instructions.encode(), pipe)
        finally:
            os.close(pending)

    def close(self) -> None:
        """Kill the workers that no fleet took."""
        fleet.stop_spares()
        os.close(self._loaded)

    def loaded(self, patience: float) -> bool:
        """Wait at most `patience` s; return whether the first worker has loaded the kernels, or failed to."""
        return bool(select.select([self._loaded], [], [], patience)[0])
