"""The output of the command line: only printable characters reach the terminal."""

from __future__ import annotations

import json
import re
import sys
import traceback
from collections.abc import Iterable
from types import TracebackType
from typing import Any, TextIO

PLAIN = re.compile(r"[\n\t -~]*")


class PrintableStream:
    """A stream that writes out what is not printable; everything else is the stream's own.

    Args:
        stream: Where the text goes.

    Attributes:
        rich_proxied_file: The stream itself, for those who style their text: Rich looks for this name.
    """

    def __init__(self, stream: TextIO) -> None:
        self.rich_proxied_file = stream

    def write(self, text: str) -> int:
        """Write a text of any number of lines."""
        if not PLAIN.fullmatch(text):
            from ...envs.printable import LINES, printable  # brings NumPy, for which `--help` need not wait

            text = printable(text, LINES)
        return self.rich_proxied_file.write(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write texts one after the other."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)


def guard_streams() -> None:
    """Pass everything that this process prints, warns, logs or raises through a `PrintableStream`."""
    for name in ("stdout", "stderr"):
        setattr(sys, name, PrintableStream(getattr(sys, name)))
    sys.excepthook = _print_exception  # Python's own writes tracebacks past the stream


def unfiltered(stream: TextIO) -> TextIO:
    """Return the stream for text that is already printable, and may contain escape sequences of this program."""
    found: TextIO = getattr(stream, "rich_proxied_file", stream)
    return found


def json_text(data: Any, indent: int | None = None) -> str:
    """Return data as JSON in printable ASCII, with null where a number is NaN or infinite."""
    from ...training.json_data import jsonable

    return json.dumps(jsonable(data), indent=indent, default=str).replace("\x7f", r"\u007f")


def _print_exception(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    sys.stderr.write("".join(traceback.format_exception(kind, error, trace)))
