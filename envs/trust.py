"""Guards against tasks that a file names: another person may have written the file, and a task can run code."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

from .errors import BadParameter
from .registry import families, split_spec

Vouch: TypeAlias = Callable[[str, str], bool]
"""Called with a task's spec and the file that names it; returns whether the user trusts the file."""

NAMES_SOMETHING = re.compile(r"[:/\\]|[^\W\d]\w*\.\w")
"""Matches arguments that may name a module, a file or an address."""


class NotTrusted(BadParameter):
    """A file names a task that is neither built in nor registered, so that using it could run any code."""

    title = "Not trusted"


def refuse(_spec: str, _file: str) -> bool:
    """Trust nothing."""
    return False


def accept(_spec: str, _file: str) -> bool:
    """Trust everything."""
    return True


def may_run_code(spec: str) -> bool:
    """Return whether a task may run other code than that of named tasks and of registered Gymnasium environments.

    `module:name` and `module:Id-v0` import a module. An argument of a registered environment can name one, too:
    `GymV26Environment-v0,env_id=module:Id-v0`. Nothing is imported to find out.

    Raises:
        BadParameter: The parameters are not `key=value`.
    """
    name, given = split_spec(spec)
    if name in families():
        return False
    return ":" in name or any(NAMES_SOMETHING.search(value) for value in given.values())


def check_trusted(spec: str, file: str, vouch: Vouch) -> None:
    """Check that a task which a file names may be used. Call this before `find`, which imports.

    Args:
        spec: The task, as the file names it.
        file: The file.
        vouch: Called if the task may run code.

    Raises:
        NotTrusted: The task may run code, and the user does not trust the file.
        BadParameter: The parameters are not `key=value`.
    """
    if may_run_code(spec) and not vouch(spec, file):
        raise NotTrusted(
            f"{file} names the task {spec!r}, which is neither built in nor registered: using it can run any code. "
            "Add --trust if you trust whoever wrote that file"
        )
