"""The terminal that is drawn on: whether there is one, and how it gets back its attributes. No Textual here."""

from __future__ import annotations

import contextlib
import io
import os
import select
import signal
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from ..envs import BadParameter
from ..training.exits import INTERRUPTED

LEAVE_SCREEN = (
    b"\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1004l\x1b[?2004l\x1b[?2048l\x1b[?7h\x1b[<u\x1b[?1049l\x1b[?25h"
)
"""No mouse, focus reports, bracketed paste or size reports; wrapped lines, plain keys, the first screen, the cursor."""


class NoTerminal(BadParameter):
    """The app was asked for where there is no terminal."""

    title = "No terminal"


def check_terminal(advice: str = "say --headless for a progress line") -> None:
    """Make sure that there is a terminal to draw on.

    Args:
        advice: What to do where there is none.

    Raises:
        NoTerminal: There is none.
    """
    if "TEXTUAL_DRIVER" in os.environ:  # a browser is the terminal
        return
    for name, stream in (("stdin", sys.stdin), ("stdout", sys.stdout)):
        if stream is None or not stream.isatty():
            raise NoTerminal(f"a terminal is needed, and {name} is none: {advice}")
    if os.environ.get("TERM", "dumb") == "dumb":
        raise NoTerminal(f"a terminal that can move its cursor is needed, and TERM is dumb: set TERM, or {advice}")
    if sys.__stderr__ is None or not sys.__stderr__.isatty():
        # Textual draws there: `2> errors.txt` is for what goes wrong, not for the screen.
        vars(sys)["__stderr__"] = Path(os.ttyname(sys.stdout.fileno())).open("w", encoding="utf-8")  # noqa: SIM115
    elif isinstance(sys.__stderr__, io.TextIOWrapper):  # terminals understand it, whatever the locale says
        sys.__stderr__.reconfigure(encoding="utf-8")


@contextlib.contextmanager
def borrowed_terminal(afterwards: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Restore the terminal's attributes and the signals' handlers at the end of the block, however it ends.

    A SIGINT raises `KeyboardInterrupt`. A SIGHUP, which also comes when the terminal goes, ends the process.

    Args:
        afterwards: Called when the attributes are restored; signals are still handled.
    """
    attributes = _attributes()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGHUP, signal.SIGINT)}

    def on_hang_up(*_: object) -> None:
        _leave_screen(attributes)
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        afterwards()
        os._exit(INTERRUPTED)

    signal.signal(signal.SIGHUP, on_hang_up)
    # Under Python's own handler asyncio would cancel a task instead, which Textual takes no notice of while it starts.
    signal.signal(signal.SIGINT, _interrupt)
    _watch_terminal()
    try:
        yield
    except BaseException:
        _leave_screen(attributes)
        raise
    else:
        _restore(attributes)
    finally:
        try:
            afterwards()
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _attributes() -> list[Any] | None:
    """Return how the terminal treats what is typed, if there is a terminal."""
    try:
        return termios.tcgetattr(0)
    except (termios.error, OSError):
        return None


def _restore(attributes: list[Any] | None) -> None:
    with contextlib.suppress(termios.error, OSError):
        if attributes is not None:
            termios.tcsetattr(0, termios.TCSANOW, attributes)


def _leave_screen(attributes: list[Any] | None) -> None:
    """Restore the attributes and the screen, where Textual may not have."""
    _restore(attributes)
    with contextlib.suppress(OSError):
        if attributes is not None:
            os.write(1, LEAVE_SCREEN)


@cache
def _watch_terminal() -> None:
    """Have a SIGHUP come when the terminal goes: the system sends it only to those whose controlling terminal it is."""

    def wait() -> None:
        look = select.poll()
        look.register(0, 0)
        if any(event & select.POLLHUP for _, event in look.poll()):
            os.kill(os.getpid(), signal.SIGHUP)

    if os.isatty(0):
        threading.Thread(target=wait, name="terminal", daemon=True).start()
