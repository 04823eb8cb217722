"""Stdout whose errors carry its name: the system names no file when writing to one that is open already."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any, TextIO, cast

from ..output import unfiltered

NAME = "stdout"


class NamedStdout:
    """Passes everything on to a stream; an error of writing to it has `stdout` as its file.

    Args:
        stream: The stream.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write text."""
        with _named():
            return self._stream.write(text)

    def flush(self) -> None:
        """Write what is buffered."""
        with _named():
            self._stream.flush()

    @property
    def rich_proxied_file(self) -> TextIO:
        """Where Rich writes text in its own styles; see `PrintableStream`."""
        return cast("TextIO", NamedStdout(unfiltered(self._stream)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def named_stdout() -> Iterator[None]:
    """Let errors of writing to stdout say so."""
    with redirect_stdout(cast("TextIO", NamedStdout(sys.stdout))):
        yield


@contextmanager
def _named() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        error.filename = NAME
        raise
