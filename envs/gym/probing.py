"""Describes an environment in a process of its own: `python -m pac.envs.gym.probing`, see `apart.ask`.

Foreign code may print, hang, leave processes behind or end its process. It answers with the render mode that it tries
as a line of JSON, and then the description or an error.
"""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable, Mapping
from itertools import count
from typing import TYPE_CHECKING, Any

from .. import opengl
from ..apart import Answer, TooSlow, ask, receive
from ..errors import BadParameter, PacError
from ..opengl import GL

if TYPE_CHECKING:
    from ..task import Task
    from .task import DescribedTask

MODULE = "pac.envs.gym.probing"
Attempt = Callable[[int, str, Mapping[str, str]], "DescribedTask | Crash"]


class Crash(str):
    """How a process ended that was to describe an environment, while it tried to draw it."""

    __slots__ = ()


def describe_here(spec: str, name: str, params: Mapping[str, str]) -> Task:
    """Describe an environment in this process; raises as `describe`. Processes that it has started are ended."""
    from ..processes import ending_processes
    from ..signals import kept_signals
    from .making import import_environment
    from .task import describe

    import_environment(name)  # processes that its module starts serve all of its environments
    with ending_processes(), kept_signals():
        return _describe(
            name, lambda number, note, _: describe(spec, name, params, attempt=number, note=note), search=False
        )


def describe_apart(
    spec: str, name: str, params: Mapping[str, str], limit: float, on_wait: Callable[[float], object]
) -> Task:
    """Describe an environment in a process of its own.

    Args:
        spec: As in `describe`.
        name: As in `describe`.
        params: As in `describe`.
        limit: Seconds in which it must be described.
        on_wait: Called with the seconds so far, about once per second.

    Raises:
        BadParameter: The process was ended by foreign code, or was too slow; otherwise as `describe`.
    """

    def attempt(number: int, note: str, variables: Mapping[str, str]) -> DescribedTask | Crash:
        request: dict[str, Any] = {"spec": spec, "name": name, "params": dict(params), "attempt": number, "note": note}
        try:
            answer = ask(MODULE, {"describe": request}, limit=limit, variables=variables, on_wait=on_wait)
            if answer.code and answer.data:  # perhaps by its first step, without which the rest can be known
                request["steps"] = False
                answer = ask(MODULE, {"describe": request}, limit=limit, variables=variables, on_wait=on_wait)
        except TooSlow as error:
            raise BadParameter(
                f"making {name} was {error}; its limit is twice --hang-timeout, if that is longer: raise it"
            ) from None
        return _read(name, answer)

    return _describe(name, attempt, search=GL not in os.environ and opengl.installed())


def _describe(name: str, attempt: Attempt, *, search: bool) -> Task:
    """Describe an environment with the first render mode that draws it; if the first fails, as OpenGL works here.

    Args:
        name: The environment.
        attempt: Describes it once.
        search: Whether to find out how OpenGL works here.
    """
    note = ""
    for number in count():
        found = attempt(number, note, {})
        if not isinstance(found, Crash) and not found.undrawn:
            return found.task
        reason, hint = found if isinstance(found, Crash) else found.undrawn, ""
        if search and not number:
            working = opengl.working_opengl()
            variables = working.variables
            if working.backend and working.backend != opengl.WINDOW:
                why = "as the display cannot be used" if opengl.has_display() else "as there is no display"
                drawn = attempt(number, f"{name} is drawn with {GL}={working.backend}, {why}", variables)
                if not isinstance(drawn, Crash) and not drawn.undrawn:
                    os.environ.update(variables)  # for the environments that are made later, here and in workers
                    return drawn.task
                hint = f" (neither with {GL}={working.backend})"
            elif not working.backend:
                hint = f" (OpenGL does not work here: {opengl.INSTALL})"
        note = note or f"{name} cannot be rendered: {reason}{hint}"
    raise AssertionError


def _read(name: str, answer: Answer) -> DescribedTask | Crash:
    """Return what an answer contains, or how the process ended while it tried to draw.

    Raises:
        PacError: What the process has raised, or that it ended otherwise.
    """
    mode, line, rest = answer.data.partition(b"\n")
    if answer.code or not rest:
        last = answer.output.splitlines()[-1:] or ["it printed nothing"]
        crash = Crash(f"its process {answer.ending}: {last[0]}")
        if line and json.loads(mode) is not None:
            return crash
        raise BadParameter(f"{name} could not be made: {crash}")
    found = pickle.loads(rest)  # noqa: S301 - what this package has written, in a process of the same user
    if isinstance(found, tuple):
        kind, text, attributes = found
        error: PacError = kind.__new__(kind, text)
        vars(error).update(attributes)
        raise error
    described: DescribedTask = found
    return described


def main() -> None:
    """Answer a request."""
    request, answers = receive()
    said = []

    def say(mode: str | None) -> None:
        said.append(mode)
        answers.write(json.dumps(mode).encode() + b"\n")
        answers.flush()

    found: Any
    try:
        from ..processes import ending_processes
        from .task import describe

        with ending_processes():
            found = describe(**request["describe"], on_mode=say)
    except PacError as error:
        found = type(error), str(error), vars(error)
    if not said:
        say(None)
    answers.write(pickle.dumps(found))
    answers.flush()
    os._exit(0)  # whatever the environment has left running


if __name__ == "__main__":
    main()
