"""Asks whether to trust a file that names code, a server or another file."""

from __future__ import annotations

import sys

from ..envs.trust import Vouch, accept


def asking(*, trust: bool) -> Vouch:
    """Return what decides about what files name: `--trust` accepts all; otherwise the user is asked."""
    return accept if trust else ask


def ask(named: str, file: str) -> bool:
    """Ask on the terminal whether to trust a file; return the answer, which is no without a terminal."""
    if not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr)):
        return False
    print(  # noqa: T201 - stdout is for results
        f"{file!r} names {named}.\nDo you trust the author of that file? [y/N] ", end="", file=sys.stderr, flush=True
    )
    return sys.stdin.readline().strip().lower() in {"y", "yes"}
