"""Splits the text that names a task into its name, its parameters and its wrappers."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .errors import BadParameter

BEFORE_WRAPPER = " + "
FIRST_PARAMETER = re.compile(r"[:,](?=\w*=)")


def split_spec(spec: str) -> tuple[str, dict[str, str]]:
    """Split `drmario:level=5,speed=hi` into its name and parameters.

    The parameters begin after the first colon or comma before a `key=`, so other colons are part of the name:
    `my_pkg.my_module:MyEnv,size=3`. Commas in brackets or quotes are part of a value.

    Wrappers are left out, see `split_wrappers`.

    Raises:
        BadParameter: A parameter is not `key=value`.
    """
    bare = split_wrappers(spec)[0]
    found = FIRST_PARAMETER.search(bare)
    if found is None:
        return bare, {}
    name, tail = bare[: found.start()], bare[found.end() :]
    pairs = [part.partition("=") for part in _parts(tail, ",")]
    for key, equals, value in pairs:
        if not (key and equals and value):
            raise BadParameter(f"task parameters are key=value separated by commas, got {tail!r} in {spec!r}")
    return name, {key: value for key, _, value in pairs}


def split_wrappers(spec: str) -> tuple[str, tuple[str, ...]]:
    """Split `ALE/Pong-v5 + ClipReward:min_reward=-1 + mine:Mine` into the task and its wrappers, innermost first."""
    if BEFORE_WRAPPER not in spec:
        return spec, ()
    task, *wrappers = _parts(spec, BEFORE_WRAPPER)
    return task, tuple(wrappers)


def with_wrappers(spec: str, wrappers: Sequence[str]) -> str:
    """Return the spec of a task in wrappers, each `NAME[:key=value,...]`, innermost first."""
    return BEFORE_WRAPPER.join((spec, *(wrapper.strip() for wrapper in wrappers)))


def _parts(text: str, mark: str) -> list[str]:
    """Split at each `mark` outside of brackets and quotes."""
    parts, depth, quote, at = [""], 0, "", 0
    while at < len(text):
        letter = text[at]
        if quote or letter in "'\"":
            quote = "" if letter == quote else quote or letter
        else:
            depth += (letter in "([{") - (letter in ")]}")
        if not depth and not quote and text.startswith(mark, at):
            parts.append("")
            at += len(mark)
        else:
            parts[-1] += letter
            at += 1
    return parts
