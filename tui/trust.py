"""Asks whether to trust a file that names code, a server or another file; a yes to code of a folder is remembered."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..envs.files import KIB, UnreadableFile, read_bytes, read_json, write_whole
from ..envs.trust import Doubt, Vouch, accept

MOST, MAX_BYTES, MODULE_BYTES = 500, 256 * KIB, 4096 * KIB


def asking(*, trust: bool) -> Vouch:
    """Return what decides about what files name: `--trust` accepts all; otherwise the user is asked."""
    return accept if trust else ask


def ask(doubt: Doubt, file: str) -> bool:
    """Ask on the terminal whether to trust a file; return the answer, which is no without a terminal.

    A yes to modules of the current folder is remembered, until one of them changes.
    """
    known = _answers()
    mark, key = _mark_of(doubt), _key_of(doubt)
    if mark and known.get(key) == mark:
        return True
    if not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr)):
        return False
    remembered = " Yes is remembered until its module changes." if mark else ""
    print(  # noqa: T201 - stdout is for results
        f"{file!r} names {doubt}.\nDo you trust the author of that file?{remembered} [y/N] ",
        end="",
        file=sys.stderr,
        flush=True,
    )
    trusted = sys.stdin.readline().strip().lower() in {"y", "yes"}
    if trusted and mark:
        _remember(known, key, mark)
    return trusted


def path() -> Path:
    """Return the file with the answers of this user."""
    from ..training.runs.folder import user_state

    return user_state() / "trusted.json"


def _key_of(doubt: Doubt) -> str:
    """Return what an answer is remembered by: the user, the folder and the whole text that names the code."""
    return hashlib.sha256(repr((os.getuid(), str(Path.cwd()), doubt.option, doubt.value)).encode()).hexdigest()


def _mark_of(doubt: Doubt) -> str:
    """Return a hash of the modules that would be imported; empty if they are not all files of the current folder."""
    digest = hashlib.sha256()
    for module in doubt.modules:
        place = Path.cwd().joinpath(*module.split("."))
        # What is imported first, with the packages around it.
        around = [parent / "__init__.py" for parent in place.parents if parent.is_relative_to(Path.cwd())][:-1]
        own = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
        for source in (own, *(file for file in around if file.exists())):
            try:
                digest.update(repr((str(source), read_bytes(source, MODULE_BYTES))).encode())
            except (UnreadableFile, OSError):
                return ""
    return digest.hexdigest() if doubt.modules else ""


def _answers() -> dict[str, Any]:
    """Return the answers; none if others could have written them."""
    try:
        facts = path().lstat()
        if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.getuid() or facts.st_mode & 0o077:
            return {}
        found = read_json(path(), MAX_BYTES)
    except (UnreadableFile, OSError):
        return {}
    return found if isinstance(found, dict) else {}


def _remember(known: dict[str, Any], key: str, mark: str) -> None:
    """Add an answer; that it cannot be written does not matter."""
    newest = dict([*((one, value) for one, value in known.items() if one != key), (key, mark)][-MOST:])
    with suppress(OSError):
        path().parent.mkdir(parents=True, exist_ok=True)
        write_whole(path(), json.dumps(newest) + "\n", 0o600)
