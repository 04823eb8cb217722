"""The terminal: whether there is one, and how its attributes are restored. This module does not import Textual."""

from __future__ import annotations

import contextlib
import io
import os
import select
import signal
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from ...backends.system.segment import remove_directories
from ...envs import BadParameter
from ...envs.signals import handling
from ...training.exits import INTERRUPTED

LEAVE_SCREEN = (
    b"\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1004l\x1b[?2004l\x1b[?2048l\x1b[?7h\x1b[<u\x1b[?1049l\x1b[?25h"
)
"""Turns off mouse, focus, paste and size reports and extra keys; turns on line wrap, the main screen, the cursor."""
END_LIMIT = 4
"""Seconds in which an app ends that was terminated or has lost its terminal, whatever it was doing."""
saving_here = threading.Event()
"""Set while this process saves a training after it has lost its terminal; it may take longer then."""


class Leaving:
    """What else must be undone in the terminal.

    Attributes:
        commands: They are written before the screen is left: of pictures, which terminals keep.
    """

    commands = b""


class NoTerminal(BadParameter):
    """The app was started without a terminal."""

    title = "No terminal"


def check_terminal(advice: str = "use --headless for a progress line") -> None:
    """Check that stdin and stdout are a terminal.

    Args:
        advice: What the user can do if they are not.

    Raises:
        NoTerminal: They are not.
    """
    if _in_browser():
        return
    for name, stream in (("stdin", sys.stdin), ("stdout", sys.stdout)):
        if stream is None or not stream.isatty():
            raise NoTerminal(f"{name} is not a terminal: {advice}")
    if os.environ.get("TERM", "dumb") == "dumb":
        raise NoTerminal(f"the terminal cannot move its cursor (TERM is dumb or not set): set TERM, or {advice}")
    if sys.__stderr__ is None or not sys.__stderr__.isatty():
        # Textual draws on stderr, but `2> errors.txt` is meant for errors, not for the screen.
        vars(sys)["__stderr__"] = Path(os.ttyname(sys.stdout.fileno())).open("w", encoding="utf-8")  # noqa: SIM115
    elif isinstance(sys.__stderr__, io.TextIOWrapper):  # terminals understand UTF-8, whatever the locale says
        sys.__stderr__.reconfigure(encoding="utf-8")


def _in_browser() -> bool:
    return "TEXTUAL_DRIVER" in os.environ


@contextlib.contextmanager
def borrowed_terminal(afterwards: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Restore the terminal's attributes and the signal handlers at the end of the block, however it ends.

    SIGINT raises `KeyboardInterrupt`. SIGHUP, which is also sent when the terminal or the browser's tab closes, ends
    the process, and so do SIGQUIT and SIGALRM, see `end_soon`.

    Args:
        afterwards: Called after the attributes were restored, while signals are still handled.
    """
    attributes = _attributes()
    ending = (signal.SIGHUP, signal.SIGQUIT, signal.SIGALRM)

    def on_hang_up(*_: object) -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # the system and `_watch_terminal` may both send it
        try:
            _leave_screen(attributes)
            null = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1, 2):
                os.dup2(null, descriptor)
            afterwards()
            remove_directories()
        finally:
            os._exit(INTERRUPTED)

    # With Python's own handler, asyncio would cancel a task instead, which Textual ignores while it starts.
    with handling({**dict.fromkeys(ending, on_hang_up), signal.SIGINT: _interrupt}):
        _watch_terminal()
        try:
            yield
        except BaseException:
            _leave_screen(attributes)
            raise
        else:
            _restore(attributes)
        finally:
            signal.alarm(0)
            afterwards()


def end_soon(*_: object) -> None:
    """Handle a signal that ends the app: send SIGALRM if that does not leave the terminal in time."""
    signal.alarm(END_LIMIT)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _attributes() -> list[Any] | None:
    """Return the terminal's attributes, if there is a terminal."""
    try:
        return termios.tcgetattr(0)
    except (termios.error, OSError):
        return None


def _restore(attributes: list[Any] | None) -> None:
    with contextlib.suppress(termios.error, OSError):
        if attributes is not None:
            termios.tcsetattr(0, termios.TCSANOW, attributes)


def _leave_screen(attributes: list[Any] | None) -> None:
    """Restore the attributes and the screen, in case Textual did not."""
    _restore(attributes)
    with contextlib.suppress(OSError):
        if attributes is not None:
            os.write(1, Leaving.commands + LEAVE_SCREEN)


@cache
def _watch_terminal() -> None:
    """Send SIGHUP when the terminal or the browser's tab closes; end the process if that does not.

    The system sends SIGHUP only to processes that the terminal controls. A handler does not run while the main thread
    is in foreign code; the thread started here does.
    """

    def wait() -> None:
        look = select.poll()
        look.register(0, 0)
        if any(event & select.POLLHUP for _, event in look.poll()):
            os.kill(os.getpid(), signal.SIGHUP)
            time.sleep(END_LIMIT)
            if not saving_here.is_set():
                os._exit(INTERRUPTED)

    if os.isatty(0) or _in_browser():
        threading.Thread(target=wait, name="terminal", daemon=True).start()
