"""The files for reports, which the options `--report` and `--output` name."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from ...envs import BadParameter
from ...training.exits import DONE, FAILED
from .output import json_text


class NotWritable(BadParameter):
    """A file for results cannot be written."""

    title = "Cannot be written"


def check_writable(option: str, path: Path) -> None:
    """Check that the file of an option can be written, before anything is trained or measured.

    Raises:
        NotWritable: The file cannot be written, or is a pipe, where writing might wait forever.
    """
    if path.is_fifo():
        raise NotWritable(f"{option} {path} is a pipe; choose a regular file")
    try:
        with path.open("a"):
            pass
    except OSError as error:
        raise NotWritable(f"{option} {path} cannot be written: {error.strerror}; choose another file") from error


def write_report(path: Path, facts: Any) -> int:
    """Write JSON data into the file of `--report`, after they were printed; return the exit code.

    The disk may be full by now. With `--json`, stdout has its one object already, so the error goes to stderr only.
    """
    try:
        path.write_text(json_text(facts, 2) + "\n")
    except OSError as error:
        sys.stderr.write(f"pac-tui: --report {path} could not be written: {error.strerror}\n")
        return FAILED
    return DONE
