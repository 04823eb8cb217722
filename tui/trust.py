"""Asks whether to trust a task that a file names."""

from __future__ import annotations

import sys

from ..envs.trust import Vouch, accept


def asking(*, trust: bool) -> Vouch:
    """Return who decides about tasks of files: `--trust` accepts them all, else the person at the terminal is asked."""
    return accept if trust else ask


def ask(spec: str, file: str) -> bool:
    """Show the task and the file, and return whether the answer is yes; without a terminal nobody can say so."""
    if not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr)):
        return False
    print(  # noqa: T201 - stdout is for results
        f"{file!r} names the task {spec!r}, which is neither built in nor registered.\n"
        "Using it can run any code. Trust whoever wrote that file? [y/N] ",
        end="",
        file=sys.stderr,
        flush=True,
    )
    return sys.stdin.readline().strip().lower() in {"y", "yes"}
