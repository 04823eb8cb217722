"""Checks whether the object that a task names creates environments, before it is called."""

from __future__ import annotations

import inspect
import sysconfig
from functools import partial
from pathlib import Path
from typing import Any, get_origin, get_type_hints

import gymnasium

from ..errors import BadParameter

PARALLEL_ENV = "parallel_env"
"""The name of the function that creates an environment, in every module of PettingZoo."""
WANTED = "a gymnasium.Env or a parallel environment of PettingZoo"
PARALLEL = ("reset", "step", "action_space", "observation_space")
STANDARD_LIBRARY = Path(sysconfig.get_path("stdlib")).resolve()
INSTALLED = frozenset({"site-packages", "dist-packages"})
"""Names of folders of installed packages."""


def check_factory(name: str, found: Any) -> None:
    """Check that `found` creates environments, as far as can be known without calling it.

    It must be an environment class, a function whose return annotation is one, PettingZoo's `parallel_env`, or a
    function without a return annotation that is the user's own, not one of Python or of an installed package.

    Args:
        name: The task's name, `module:attribute`.
        found: The object of that name.

    Raises:
        BadParameter: It is something else.
    """
    while isinstance(found, partial):
        found = found.func
    if not callable(found):
        raise BadParameter(
            f"{name} must be a class or a callable that returns a gymnasium.Env, got {type(found).__name__}"
        )
    if isinstance(found, type):
        if not _makes_environments(found):
            raise BadParameter(f"{name} must return {WANTED}, got the class {found.__qualname__}, which was not called")
        return
    kind = _annotated(found)
    if kind is not None:
        if not _makes_environments(kind):
            raise BadParameter(
                f"{name} must return {WANTED}, got {kind.__qualname__} by its annotation; it was not called"
            )
    elif name.rpartition(":")[2] != PARALLEL_ENV and not _is_own(found):
        raise BadParameter(
            f"{name} must return {WANTED}. It was not called because it has no return annotation: annotate it "
            "with `-> gymnasium.Env`, or name a function or class of your own"
        )


def _makes_environments(kind: type) -> bool:
    """Return whether a class is an environment; those of PettingZoo are recognized by their methods."""
    parallel = all(callable(getattr(kind, name, None)) for name in PARALLEL) and not hasattr(kind, "agent_iter")
    return issubclass(kind, gymnasium.Env) or parallel


def _annotated(function: Any) -> type | None:
    """Return the class of a function's return annotation; None if it is missing or ambiguous."""
    try:
        annotation = get_type_hints(_routine(function)).get("return", Any)
    except (NameError, TypeError, AttributeError, SyntaxError):  # a name that only a type checker imports
        return None
    kind = get_origin(annotation) or annotation
    if not isinstance(kind, type) or kind is Any or issubclass(gymnasium.Env, kind):
        return None
    return kind


def _is_own(function: Any) -> bool:
    """Return whether a function's source is a file outside of Python and of installed packages."""
    code = getattr(inspect.unwrap(_routine(function)), "__code__", None)
    if code is None:  # not written in Python
        return False
    source = Path(code.co_filename).resolve()
    installed = source.is_relative_to(STANDARD_LIBRARY) or not INSTALLED.isdisjoint(source.parts)
    return source.is_file() and not installed


def _routine(function: Any) -> Any:
    """Return the underlying function of a method or of a callable object."""
    routine = function if inspect.isroutine(function) else function.__call__
    return getattr(routine, "__func__", routine)
