"""Decides, before anything is called, whether the object that a task names can make an environment."""

from __future__ import annotations

import inspect
import sysconfig
from functools import partial
from pathlib import Path
from typing import Any, get_origin, get_type_hints

import gymnasium

from ..errors import BadParameter

PARALLEL_ENV = "parallel_env"
"""What every module of PettingZoo calls the function that makes its environment."""
WANTED = "a gymnasium.Env or a parallel environment of PettingZoo"
PARALLEL = ("reset", "step", "action_space", "observation_space")
STANDARD_LIBRARY = Path(sysconfig.get_path("stdlib")).resolve()
INSTALLED = frozenset({"site-packages", "dist-packages"})
"""Folders that hold installed packages."""


def check_factory(name: str, found: Any) -> None:
    """Make sure that calling `found` makes an environment, as far as can be known without calling it.

    It must be a class of environments; a function whose return annotation is one; PettingZoo's `parallel_env`; or a
    function without a return annotation that is the user's own, neither Python's nor an installed package's.

    Args:
        name: The task's name, `module:attribute`.
        found: What that is.

    Raises:
        BadParameter: It is something else.
    """
    while isinstance(found, partial):
        found = found.func
    if not callable(found):
        raise BadParameter(
            f"{name} must be a class or a callable that gives a gymnasium.Env, got {type(found).__name__}"
        )
    if isinstance(found, type):
        if not _makes_environments(found):
            raise BadParameter(f"{name} must give {WANTED}, got the class {found.__qualname__}, which was not called")
        return
    kind = _annotated(found)
    if kind is not None:
        if not _makes_environments(kind):
            raise BadParameter(
                f"{name} must give {WANTED}, got {kind.__qualname__} by its annotation; it was not called"
            )
    elif name.rpartition(":")[2] != PARALLEL_ENV and not _is_own(found):
        raise BadParameter(
            f"{name} must give {WANTED}, and it was not called because it does not say what it returns: annotate it "
            "with `-> gymnasium.Env`, or name a function or class of your own"
        )


def _makes_environments(kind: type) -> bool:
    """Whether a class is one of environments; PettingZoo's parallel ones are known by their methods."""
    parallel = all(callable(getattr(kind, name, None)) for name in PARALLEL) and not hasattr(kind, "agent_iter")
    return issubclass(kind, gymnasium.Env) or parallel


def _annotated(function: Any) -> type | None:
    """Return the class that a function says it returns; None if the annotation is missing or unclear."""
    try:
        said = get_type_hints(_routine(function)).get("return", Any)
    except (NameError, TypeError, AttributeError, SyntaxError):  # a name that only a type checker imports
        return None
    kind = get_origin(said) or said
    if not isinstance(kind, type) or kind is Any or issubclass(gymnasium.Env, kind):
        return None
    return kind


def _is_own(function: Any) -> bool:
    """Whether a function's source is a file outside of Python and of the installed packages."""
    code = getattr(inspect.unwrap(_routine(function)), "__code__", None)
    if code is None:  # not written in Python
        return False
    source = Path(code.co_filename).resolve()
    installed = source.is_relative_to(STANDARD_LIBRARY) or not INSTALLED.isdisjoint(source.parts)
    return source.is_file() and not installed


def _routine(function: Any) -> Any:
    """Return the function itself, of an object that can be called or of a method."""
    routine = function if inspect.isroutine(function) else function.__call__
    return getattr(routine, "__func__", routine)
