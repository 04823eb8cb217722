"""Preserves signal handlers, which an environment's libraries may replace.

SDL, with which pygame draws, installs handlers for SIGTERM and SIGINT where the program has none. A process that drew a
picture then ignores SIGTERM. `signal.getsignal` does not show them: it knows only handlers that were set from Python.
"""

from __future__ import annotations

import ctypes
import operator
import os
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

NO_SDL_HANDLERS = "SDL_NO_SIGNAL_HANDLERS"
NO_DEVICES = {"SDL_VIDEODRIVER": "dummy", "SDL_AUDIODRIVER": "dummy"}
"""Variables with which SDL neither opens a display nor reports that it cannot."""
SDL_VARIABLES = {NO_SDL_HANDLERS: "1", **NO_DEVICES}
SENT = (
    *(signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2),
    *(signal.SIGALRM, signal.SIGPIPE, signal.SIGCHLD),
)
"""The signals that users, schedulers and the system send."""
FAULTS = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)
"""The signals of faults, for which pygame installs handlers that change the exit code."""
ACTION_BYTES = 512  # more than any system's struct sigaction has


@contextmanager
def kept_signals() -> Iterator[None]:
    """Restore the handlers of `SENT` and `FAULTS` at the end of the block. It can be used in any thread.

    Handlers that Python code sets in the main thread meanwhile are left in place, as they may be the user's.
    """
    handlers = {number: signal.getsignal(number) for number in (*SENT, *FAULTS)}
    actions = {number: _action(number) for number in handlers}
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
def handling(handlers: Mapping[signal.Signals, Any]) -> Iterator[None]:
    """Handle signals in the block by other handlers."""
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)


@contextmanager
def deferred_signals() -> Iterator[None]:
    """Call the handlers that Python code has set only at the end of the block, so that none of them raises within it.

    Other threads than the main one, in which handlers run, are not concerned.
    """
    noted: list[tuple[int, Any]] = []
    handlers: dict[signal.Signals, Any] = {}
    if threading.current_thread() is threading.main_thread():
        handlers = {number: handler for number in SENT if callable(handler := signal.getsignal(number))}
    try:
        with handling(dict.fromkeys(handlers, lambda given, frame: noted.append((given, frame)))):
            yield
    finally:
        for number, frame in noted:
            handlers[signal.Signals(number)](number, frame)


@contextmanager
def _without_sdl_handlers() -> Iterator[None]:
    """Configure SDL to handle no signals if it starts in the block, unless the user has configured this."""
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
    """Return the C library's `struct sigaction` of a signal."""
    buffer = ctypes.create_string_buffer(ACTION_BYTES)
    _libc().sigaction(int(number), None, buffer)
    return buffer.raw


class WithoutSdlHandlers(str):
    """The name of an attribute. A process that unpickles it configures SDL to handle no signals and to need no devices.

    It is sent as an argument to the worker processes of a user's vector environment, which run none of our code and
    may not be able to import it: the pickle names functions of the standard library only.
    """

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        """Unpickle as a plain string, after the variables were set, unless the user has configured them."""
        missing = [name for name in SDL_VARIABLES if name not in os.environ]  # workers inherit the others
        return operator.getitem, ((*map(_SetVariable, missing), str(self)), -1)


class _SetVariable:
    """Sets a variable of the C library, which SDL reads, in the process that unpickles it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __reduce__(self) -> tuple[Any, ...]:
        return os.putenv, (self._name, SDL_VARIABLES[self._name])
