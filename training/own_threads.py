"""Threads that a script does not find in `threading.enumerate`, since it may wait for the end of all threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


class OwnThread(threading.Thread):
    """A daemon thread that is not among the threads of the program while it runs.

    Args:
        target: What it runs.
        args: The arguments of `target`.
    """

    def __init__(self, target: Callable[..., object], name: str, args: tuple[Any, ...] = ()) -> None:
        super().__init__(name=name, daemon=True)
        self._runs, self._with = target, args

    def run(self) -> None:
        """Run the target."""
        known: dict[int | None, threading.Thread] = threading._active  # type: ignore[attr-defined]  # noqa: SLF001
        known.pop(self.ident, None)
        try:
            self._runs(*self._with)
        finally:
            known[self.ident] = self  # from where the end of the thread removes it
