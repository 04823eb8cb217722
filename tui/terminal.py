"""The terminal that is drawn on."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

from ..envs import BadParameter


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
