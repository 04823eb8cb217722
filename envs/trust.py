"""Guards tasks that a file names: somebody else may have written the file, and using a task can run code."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

from .errors import BadParameter
from .registry import families, split_spec

Vouch: TypeAlias = Callable[[str, str], bool]
"""Called with a task's spec and the file that names it; returns whether the user trusts them."""

NAMES_SOMETHING = re.compile(r"[:/\\]|[^\W\d]\w*\.\w")
"""What an argument that names a module, a file or an address contains."""


class NotTrusted(BadParameter):
    """A file names a task that would run code which is not installed here as a task."""

    title = "Not trusted"


def refuse(_spec: str, _file: str) -> bool:
    """Trust nothing."""
    return False


def accept(_spec: str, _file: str) -> bool:
    """Trust everything."""
    return True


def may_run_code(spec: str) -> bool:
    """Whether using a task may run other code than that of the named tasks and of Gymnasium's registered environments.

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
    """Make sure that the task which a file names may be used. To be called before `find`, which imports.

    Args:
        spec: The task, as the file names it.
        file: The file.
        vouch: Asked if the task may run code.

    Raises:
        NotTrusted: It may, and the user does not vouch for it.
        BadParameter: The parameters are not `key=value`.
    """
    if may_run_code(spec) and not vouch(spec, file):
        raise NotTrusted(
            f"{file} names the task {spec!r}, which is neither built in nor registered: using it can run any code. "
            "Add --trust if you trust whoever wrote that file"
        )
