"""Adds the name stdout to errors of writing to it, which the system reports without a file name."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any, TextIO, cast

from ..terminal.output import unfiltered

NAME = "stdout"


class NamedStdout:
    """Wraps a stream; errors of writing to it have the file name `stdout`."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write text."""
        with _named():
            return self._stream.write(text)

    def flush(self) -> None:
        """Flush the stream."""
        with _named():
            self._stream.flush()

    @property
    def rich_proxied_file(self) -> TextIO:
        """The stream for Rich's styled text; see `PrintableStream`."""
        return cast("TextIO", NamedStdout(unfiltered(self._stream)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def named_stdout() -> Iterator[None]:
    """Name stdout in errors of writing to it."""
    with redirect_stdout(cast("TextIO", NamedStdout(sys.stdout))):
        yield


@contextmanager
def _named() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        error.filename = NAME
        raise
