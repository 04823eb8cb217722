"""The JSON of HTTP requests and answers.

Reading a written float returns the same float. JSON has no NaN and infinity, so these are the strings "NaN", "Infinity"
and "-Infinity". A number of an info that is unknown is null.
"""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias, TypeVar

import numpy as np

from ...envs import BadParameter, Task, UnknownName
from ...envs.errors import brief
from ...envs.family import Parameter
from ...envs.fields import Array
from ...envs.schema import Bounds, InvalidValue, checked_arguments
from ...envs.task import LARGE, LARGE_OF, LOOKED_AT, MASK_64
from ...envs.unknown import is_unknown, spelled
from ..servers.hosting import HostedEnvironment

Action: TypeAlias = float | list[float]


@dataclass(frozen=True, kw_only=True)
class EnvRequest:
    """The keys of every request about an environment.

    Attributes:
        env: The environment.
        fields: Whether to add the untimed fields to the answer, in base64.
        look: Whether environments that draw on request draw their board.
    """

    env: int = 0
    fields: bool = False
    look: bool = False


@dataclass(frozen=True, kw_only=True)
class ResetRequest(EnvRequest):
    """Starts the next episode, or the given one; with `seed`, the first one of that seed."""

    seed: Annotated[int, Bounds(ge=0, le=MASK_64)] | None = None
    episode: Annotated[int, Bounds(ge=0, le=MASK_64 >> 1)] | None = None


@dataclass(frozen=True, kw_only=True)
class StepRequest(EnvRequest):
    """Steps an environment with one seat."""

    action: Action


@dataclass(frozen=True, kw_only=True)
class StepMultiRequest(EnvRequest):
    """Steps an environment with an action per seat."""

    actions: list[Action]


Kind = TypeVar("Kind", bound=EnvRequest)


def request_of(kind: type[Kind], given: Any) -> Kind:
    """Return a request of a kind.

    Args:
        given: The value of a body in JSON.

    Raises:
        BadParameter: It is not such a request.
    """
    known = kind.__dataclass_fields__
    if not isinstance(given, dict):
        raise BadParameter(f"the body: expected a JSON object, got {brief(given)}")
    if unknown := next((name for name in given if name not in known), None):
        raise UnknownName("key", unknown, known)
    try:
        return kind(**checked_arguments(kind, given))
    except InvalidValue as error:
        raise BadParameter(error.sentence(given)) from None


def parsed(kind: type[EnvRequest], query: Mapping[str, str]) -> dict[str, Any]:
    """Return what a query gives, each value as the type of the key's default.

    Raises:
        BadParameter: A value has another type.
    """
    return {name: Parameter(name, getattr(kind, name, "")).parse(text) for name, text in query.items()}


def health(hosts: Sequence[HostedEnvironment]) -> Mapping[str, Any]:
    """Return the answer to /health."""
    return {
        "status": "ok",
        "task": hosts[0].task.spec,
        "envs": [host.env for host in hosts],
        "initialized": any(host.begun for host in hosts),
    }


def spaces(task: Task) -> Mapping[str, Any]:
    """Return the answer to /spaces."""
    item = task.observation
    return {
        "observation": math.prod(item.shape),
        "actions": task.num_actions,
        "players": task.players,
        "shape": item.shape,
        "dtype": item.dtype,
        "action_names": task.action_names,
        "choices": task.choices,
        "bounds": [numbers(np.array(pair)) for pair in task.bounds],
    }


def observed(host: HostedEnvironment) -> Mapping[str, Any]:
    """Return the answer to /observe: observations and legal actions of the seats."""
    observations, masks = host.observe()
    return _seats(
        [
            {"observation": numbers(observation), "action_mask": mask.astype(int).tolist()}
            for observation, mask in zip(observations, masks, strict=True)
        ]
    )


def result(host: HostedEnvironment, asked: EnvRequest, nanoseconds: int) -> Mapping[str, Any]:
    """Return the answer to a reset or a step.

    Args:
        nanoseconds: Time that the environment took, in ns.
    """
    task = host.task
    outcome = int(host.rows["outcome"])
    answer = {
        **_seats([_seat(host, seat) for seat in range(task.players)]),
        "info": {item.name: numbers_or_one(host.decoded(item.name)[_only(task, item.per)]) for item in task.info},
        "frames": int(host.rows["frames"]),
        "outcome": task.outcomes[outcome - 1].name if outcome else None,
        "episode": int(host.rows["episode"]),
        "episode_length": int(host.rows["episode_length"]),
    }
    if asked.fields:
        answer |= {"ended": host.ended, "nanoseconds": nanoseconds}
        answer["fields"] = {
            name: b64encode(host.stored(name).tobytes()).decode() for name in kept(task, look=asked.look)
        }
    return answer


def kept(task: Task, *, look: bool) -> list[str]:
    """Return the names of the untimed fields, without boards that are not drawn."""
    drawn = {item.name for item in task.boards}
    skip = {LARGE, LARGE_OF, *(item.name for item in task.last_boards)} | (
        {LOOKED_AT} if look or LOOKED_AT not in drawn else drawn
    )
    return [item.name for item in task.fields if not item.timed and item.name not in skip]


def numbers(array: Array) -> list[Any]:
    """Return the elements of an array as a flat list; None for those that are unknown."""
    values = array.ravel().tolist()
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        return [value if math.isfinite(value) else None if is_unknown(value) else spelled(value) for value in values]
    return list(values)


def numbers_or_one(array: Array) -> Any:
    """Return the element of an array without axes, else its elements as a flat list."""
    values = numbers(array)
    return values if array.ndim else values[0]


def _seat(host: HostedEnvironment, seat: int) -> dict[str, Any]:
    terminated, truncated = (bool(host.rows[name][seat]) for name in ("terminated", "truncated"))
    terms = numbers(host.rows["reward_terms"][seat]) if host.task.reward_terms else ()
    return {
        "observation": numbers(host.decoded("observation")[seat]),
        "action_mask": host.mask()[seat].astype(int).tolist(),
        "reward": numbers_or_one(host.rows["reward"][seat]),
        "done": terminated or truncated,
        "terminated": terminated,
        "truncated": truncated,
        "active": int(host.rows["active"][seat]),
        "episode_return": numbers_or_one(host.rows["episode_return"][seat]),
        "reward_terms": dict(zip(host.task.reward_terms, terms, strict=True)),
    }


def _only(task: Task, per: str) -> Any:
    """Return the index that removes the axis of seats if there is only one."""
    return 0 if per == "seat" and task.players == 1 else ...


def _seats(answers: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the answer of the only seat, or the list of all."""
    return answers[0] if len(answers) == 1 else {"results": answers}
