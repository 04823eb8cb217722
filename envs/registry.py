"""Finds a task by its text: a built-in game, an installed package's task, or any Gymnasium environment."""

from __future__ import annotations

import pkgutil
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from .errors import BadParameter, UnknownName
from .task import Task, TaskFamily

ENTRY_POINTS = "pac.tasks"


@cache
def families() -> dict[str, TaskFamily]:
    """All named tasks: each game folder's `task.TASKS`, then those of the entry point group `pac.tasks`."""
    package = import_module(__package__)
    found: dict[str, TaskFamily] = {}
    for folder in pkgutil.iter_modules(package.__path__):
        if folder.ispkg and folder.name != "gym":
            module = import_module(f".{folder.name}.task", __package__)
            found.update({family.name: family for family in module.TASKS})
    for point in entry_points(group=ENTRY_POINTS):
        found[point.name] = point.load()
    return found


def split_spec(spec: str) -> tuple[str, dict[str, str]]:
    """Split `drmario:level=5,speed=hi` into its name and parameters.

    A colon that no `key=value` follows belongs to the name: `my_pkg.my_module:MyEnv`.

    Raises:
        BadParameter: A parameter is not `key=value`.
    """
    name, colon, tail = spec.rpartition(":")
    if not colon or "=" not in tail:
        return spec, {}
    pairs = [part.partition("=") for part in tail.split(",")]
    for key, equals, value in pairs:
        if not (key and equals and value):
            raise BadParameter(f"task parameters are key=value separated by commas, got {tail!r} in {spec!r}")
    return name, {key: value for key, _, value in pairs}


def find(spec: str) -> Task:
    """Return the task that `spec` names.

    Args:
        spec: A named task (`drmario`, `drmario:level=5`) or a Gymnasium environment (`CartPole-v1`,
            `my_pkg.my_module:MyEnv`, with keyword arguments after another colon).

    Raises:
        UnknownName: No task and no environment has the name.
        BadParameter: A parameter is unknown or does not fit.
    """
    name, given = split_spec(spec)
    family = families().get(name)
    if family is None:
        return _gymnasium_task(spec, name, given)
    known = {parameter.name: parameter for parameter in family.parameters}
    for key in given:
        if key not in known:
            raise UnknownName(f"parameter of {name}", key, known)
    values = {key: parameter.parse(given.get(key, parameter.default)) for key, parameter in known.items()}
    return family.build(spec=spec, **values)


def _gymnasium_task(spec: str, name: str, given: dict[str, Any]) -> Task:
    """Describe any Gymnasium environment; imports gymnasium."""
    from .gym.task import NoSuchEnvironment, describe

    try:
        return describe(spec, name, given)
    except NoSuchEnvironment as error:
        if ":" in name:
            raise BadParameter(str(error)) from error
        near = get_close_matches(name, error.known, n=3, cutoff=0.5)
        raise UnknownName("task", name, [*families(), *near]) from error
