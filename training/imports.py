"""Imports that take long."""

from __future__ import annotations

import ctypes
import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self


@contextmanager
def importing() -> Iterator[None]:
    """Import without garbage being collected: what is imported stays, and is not gone through any more.

    The collector would take a sixth of the time.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


class Loading:
    """A block of one thread that other threads, and handlers of signals, may end before it is done.

    Args:
        error: What is raised in the block to end it.
    """

    def __init__(self, error: type[Exception]) -> None:
        self._error = error
        self._thread: int | None = None
        self._ended = False
        self._changing = threading.RLock()

    def __enter__(self) -> Self:
        self._thread = threading.get_ident()
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: TracebackType | None) -> None:
        with self._changing:
            self._thread = None
        if self._ended and isinstance(error, Exception):  # an import that is broken off may fail of something else
            raise self._error from None

    def end(self) -> None:
        """End the block, if there is somebody in it."""
        with self._changing:
            if self._thread is not None:
                thread, self._thread, self._ended = self._thread, None, True
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(self._error))
