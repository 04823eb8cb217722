"""Workers that are started before it is known what they are to do, and load meanwhile what takes long."""

from __future__ import annotations

import json
import os
import secrets
import select
import sys

from ..system.segment import own_directory
from . import member


class SpareWorkers:
    """Workers that load the kernels of a task; a fleet takes them before it starts others.

    The first compiles the kernels, or loads them from the disk; the others load them when it has: each would compile
    them anew.

    Args:
        kernels: `module:function` that compiles or loads them.
        count: Number of workers.
    """

    def __init__(self, kernels: str, count: int) -> None:
        self._loaded, pending = os.pipe()
        try:
            for index in range(count):
                pipe = self._loaded if index else pending
                told = {"parent": os.getpid(), "path": sys.path, "kernels": kernels, "pipe": pipe, "first": index == 0}
                log = own_directory() / f"reserve-{secrets.token_hex(6)}.log"
                member.start_spare(log, json.dumps(told).encode(), pipe)
        finally:
            os.close(pending)

    def close(self) -> None:
        """Let those go that nobody took."""
        member.stop_spares()
        os.close(self._loaded)

    def loaded(self, patience: float) -> bool:
        """Return whether the first worker has loaded the kernels, or has failed to; wait so many seconds for it."""
        return bool(select.select([self._loaded], [], [], patience)[0])
