"""Keeps the handlers of signals as they are, whatever an environment's libraries do to them.

SDL, with which pygame draws, installs handlers for SIGTERM and SIGINT where the program has none. A process that drew a
picture then ignores SIGTERM. `signal.getsignal` does not show them: it knows only handlers that were set from Python.
"""

from __future__ import annotations

import ctypes
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

NO_SDL_HANDLERS = "SDL_NO_SIGNAL_HANDLERS"
SENT = (
    *(signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2),
    *(signal.SIGALRM, signal.SIGPIPE, signal.SIGCHLD),
)
"""The signals that are kept: those that people, schedulers and the system send, and not those of a fault."""
ACTION_BYTES = 512  # more than any system's struct sigaction has


@contextmanager
def kept_signals() -> Iterator[None]:
    """Restore at the block's end the handlers of the signals `SENT`; any thread may.

    What Python code in other threads changes meanwhile is kept: only the main thread can, and it may be the user's.
    """
    handlers = {number: signal.getsignal(number) for number in SENT}
    actions = {number: _action(number) for number in SENT}
    try:
        with _without_sdl_handlers():
            yield
    finally:
        main = threading.current_thread() is threading.main_thread()
        for number, handler in handlers.items():
            changed = signal.getsignal(number) is not handler
            if changed and not main:
                continue
            if changed and handler is not None:
                signal.signal(number, handler)
            if _action(number) != actions[number]:
                _libc().sigaction(int(number), actions[number], None)


@contextmanager
def _without_sdl_handlers() -> Iterator[None]:
    """Tell SDL to handle no signals if it is started in the block, unless the user has told it already."""
    if NO_SDL_HANDLERS in os.environ:
        yield
        return
    os.environ[NO_SDL_HANDLERS] = "1"
    try:
        yield
    finally:
        os.environ.pop(NO_SDL_HANDLERS, None)


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None)


def _action(number: int) -> bytes:
    """Return what the system does at a signal, as the C library describes it."""
    buffer = ctypes.create_string_buffer(ACTION_BYTES)
    _libc().sigaction(int(number), None, buffer)
    return buffer.raw


class WithoutSdlHandlers(str):
    """The name of an attribute; a process that it is sent to tells SDL to handle no signals when it unpickles it.

    Sent as an argument to the worker processes of somebody's vector environment, where no code of ours runs.
    """

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        """Be made in the worker by `_told`."""
        return _told, (str(self),)


def _told(name: str) -> str:
    os.environ.setdefault(NO_SDL_HANDLERS, "1")
    return name
