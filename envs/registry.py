"""Finds a task by its spec: a built-in game, a task of an installed package, or any Gymnasium environment."""

from __future__ import annotations

import logging
import pickle
import pkgutil
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

from .apart import MAKING_LIMIT
from .errors import BadParameter, NoSuchEnvironment, PacError, UnknownName, brief
from .family import TaskFamily
from .foreign import importing
from .specs import split_spec, split_wrappers
from .task import Task

log = logging.getLogger(__name__)

ENTRY_POINTS = "pac.tasks"
APART = True
"""Whether Gymnasium environments are described in processes of their own. Tests that need none set it to false."""


@cache
def families() -> dict[str, TaskFamily]:
    """Return all named tasks: `task.TASKS` of each game's folder, and those of the entry point group `pac.tasks`."""
    return _built_in() | _installed()[0]


@cache
def _built_in() -> dict[str, TaskFamily]:
    package = import_module(__package__)
    found: dict[str, TaskFamily] = {}
    for folder in pkgutil.iter_modules(package.__path__):
        if folder.ispkg and folder.name not in {"gym", "spaces"}:
            module = import_module(f".{folder.name}.task", __package__)
            found.update({family.name: family for family in module.TASKS})
    return found


@cache
def _installed() -> tuple[dict[str, TaskFamily], dict[str, BadParameter]]:
    """The tasks of installed packages, and why others of them could not be loaded. None replaces a built-in one."""
    loaded: dict[str, TaskFamily] = {}
    broken: dict[str, BadParameter] = {}
    for point in entry_points(group=ENTRY_POINTS):
        if point.name in _built_in():
            log.warning("%s", _clash(point))
            continue
        try:
            loaded[point.name] = _load(point)
        except BadParameter as error:
            log.warning("%s", error)
            broken[point.name] = error
    return loaded, broken


def _load(point: EntryPoint) -> TaskFamily:
    with importing(_of_package(point.name)):
        family = point.load()
    if not isinstance(family, TaskFamily):
        raise BadParameter(f"the entry point {point.name} of {ENTRY_POINTS} must be a TaskFamily, got {brief(family)}")
    return family


def _clash(point: EntryPoint) -> str:
    package = point.dist.name if point.dist is not None else point.module
    return f"the package {package} offers a task {point.name}, but {point.name} is built in: the built-in one is used"


def _of_package(name: str) -> str:
    return f"the task {name} of an installed package"


_known: dict[str, Task] = {}
"""Tasks of Gymnasium environments that were made once, to find out what they are, by spec."""


def known_tasks() -> str:
    """Return the tasks that this process has described, as text for a process that it starts, which calls no `find`."""
    return b64encode(pickle.dumps(_known)).decode()


def learn_tasks(text: str) -> None:
    """Take over the tasks that the parent of this process has described."""
    _known.update(pickle.loads(b64decode(text)))  # noqa: S301 - the parent's own objects


def find(spec: str, *, limit: float = MAKING_LIMIT, on_wait: Callable[[float], object] = lambda _seconds: None) -> Task:
    """Return the task that `spec` names.

    A Gymnasium environment is made and drawn once, in a process of its own: foreign code may hang, or end it.

    Args:
        spec: A named task (`drmario`, `drmario:level=5`) or a Gymnasium environment (`CartPole-v1`,
            `my_pkg.my_module:MyEnv`, with keyword arguments after a comma or another colon, and wrappers after ` + `).
        limit: Seconds in which an environment must be made.
        on_wait: Called with the seconds that this has taken so far, about once per second; may raise an exception.

    Raises:
        UnknownName: No task and no environment has the name.
        BadParameter: A parameter is unknown or has a bad value.
    """
    name, given = split_spec(spec)
    family = families().get(name)
    if broken := _installed()[1].get(name):
        raise broken
    if family is None:
        if spec not in _known or not APART:
            _known[spec] = _gymnasium_task(spec, name, given, limit, on_wait)
        return _known[spec]
    if wrappers := split_wrappers(spec)[1]:
        raise BadParameter(
            f"{name} is no Gymnasium environment, so it has no wrappers: leave out {', '.join(wrappers)}"
        )
    known = {parameter.name: parameter for parameter in family.parameters}
    for key in given:
        if key not in known:
            raise UnknownName(f"parameter of {name}", key, known)
    values = {key: parameter.parse(given.get(key, parameter.default)) for key, parameter in known.items()}
    try:
        return family.build(spec=spec, **values)
    except Exception as error:
        if isinstance(error, PacError) or name not in _installed()[0]:
            raise
        raise BadParameter(f"{_of_package(name)} could not be built: {type(error).__name__}: {error}") from error


def _gymnasium_task(
    spec: str, name: str, given: Mapping[str, str], limit: float, on_wait: Callable[[float], object]
) -> Task:
    from .gym.probing import describe_apart, describe_here

    try:
        try:
            return describe_apart(spec, name, given, limit, on_wait) if APART else describe_here(spec, name, given)
        except NoSuchEnvironment:  # this process may have registered it
            registered = getattr(sys.modules.get("gymnasium"), "registry", {})
            if not APART or name not in registered:
                raise
            return describe_here(spec, name, given)
    except NoSuchEnvironment as error:
        if ":" in name:
            raise BadParameter(str(error)) from error
        from .recommended import family

        if module := family(name).module:
            raise BadParameter(
                f"unknown task {name!r}: its id is registered by the module {module}; use {module}:{name}"
            ) from error
        if name.isascii() and all(part.isidentifier() for part in name.split(".")) and "." in name:
            raise BadParameter(
                f"unknown task {name!r}: name a class or function of a module as MODULE:NAME, like {name}:parallel_env"
            ) from error
        near = get_close_matches(name, error.known, n=3, cutoff=0.5)
        raise UnknownName("task", name, [*families(), *near]) from error
