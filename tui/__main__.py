"""Starts the command; Ctrl-C ends it quietly from the first moment on, while the rest is still being imported."""

import io
import os
import sys
from pathlib import Path


def main() -> int:
    """Run a command and return its exit code."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed: what is opened next would get its place
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115 - for as long as the process lives
    if isinstance(sys.stdout, io.TextIOWrapper):  # a terminal of few letters gets the others as question marks
        sys.stdout.reconfigure(errors="replace")
    try:
        from .terminal.output import guard_streams

        guard_streams()
        from ..training.imports import importing

        with importing():
            from .cli.commands import main as run
        return run()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
