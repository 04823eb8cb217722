"""Threads that a script does not find in `threading.enumerate`, since it may wait for the end of all threads."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

_own: dict[int | None, threading.Thread] = {}
"""The running ones. Each adds and removes only itself."""


class _Active(dict[int | None, threading.Thread]):
    """The threads by their numbers, as `threading` keeps them.

    A thread that is asked which one it is, and is not among them, would be added to them as a dummy, which no program
    can wait for. Modules do ask while they are imported, and so does each record of a log.
    """

    def __missing__(self, number: int | None) -> threading.Thread:
        return _own[number]


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
        _own[self.ident] = self
        known = _known_threads()
        known.pop(self.ident, None)
        try:
            self._runs(*self._with)
        finally:
            known = _known_threads()
            known[self.ident] = self  # from where the end of the thread removes it
            _own.pop(self.ident, None)


def _known_threads() -> _Active:
    """Return the threads of the program; the first time, exchange what `threading` keeps them in."""
    module: Any = threading
    with module._active_limbo_lock:  # noqa: SLF001 - held by whoever changes the threads
        if not isinstance(module._active, _Active):  # noqa: SLF001
            module._active = _Active(module._active)  # noqa: SLF001
        found: _Active = module._active  # noqa: SLF001
    return found


os.register_at_fork(after_in_child=_own.clear)
