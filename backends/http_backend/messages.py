"""What an HTTP request may say, and what its answer says: the JSON of the endpoints, both ways.

A float is written with as many digits as give the same float when it is read. JSON knows no number that is not finite:
these are the strings "NaN", "Infinity" and "-Infinity".
"""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ...envs import Task, UnknownName
from ...envs.fields import Array
from ...envs.task import LOOKED_AT, MASK_64
from ..servers.hosting import HostedEnvironment

Action: TypeAlias = int | float | list[int] | list[float]
LONGEST = 80
"""Letters of a refused value that its refusal repeats."""


class EnvRequest(BaseModel):
    """What every request about an environment may say.

    Attributes:
        env: The environment.
        fields: Whether the answer is to hold the fields that have no slots, in base64.
        look: Whether somebody looks at the board.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    env: int = 0
    fields: bool = False
    look: bool = False


class ResetRequest(EnvRequest):
    """To begin the next episode, or that one; with `seed`, the first of that seed."""

    seed: int | None = Field(None, ge=0, le=MASK_64)
    episode: int | None = Field(None, ge=0, le=MASK_64 >> 1)


class StepRequest(EnvRequest):
    """To step the environment of one seat."""

    action: Action


class StepMultiRequest(EnvRequest):
    """To step an environment with an action for each seat."""

    actions: list[Action]


def refusal(error: ValidationError, kind: type[BaseModel]) -> str:
    """Return in a sentence why a request was not understood."""
    item = min(error.errors(), key=lambda item: item["type"] != "extra_forbidden")
    place = str(item["loc"][0]) if item["loc"] else ""
    if item["type"] == "extra_forbidden":
        return str(UnknownName("key", place, kind.model_fields))
    given = "" if item["type"] in {"json_invalid", "missing"} else f", got {item['input']!r:.{LONGEST}}"
    return f"{place or 'the body'}: {item['msg'][0].lower()}{item['msg'][1:]}{given}"


def health(hosts: Sequence[HostedEnvironment]) -> Mapping[str, Any]:
    """Answer whether somebody is at home."""
    return {
        "status": "ok",
        "task": hosts[0].task.spec,
        "envs": [host.env for host in hosts],
        "initialized": any(host.begun for host in hosts),
    }


def spaces(task: Task) -> Mapping[str, Any]:
    """Answer what an observation is, and what actions there are."""
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
    """Answer what the seats see, and which actions are legal."""
    observations, masks = host.observe()
    return _seats(
        [
            {"observation": numbers(observation), "action_mask": mask.astype(int).tolist()}
            for observation, mask in zip(observations, masks, strict=True)
        ]
    )


def result(host: HostedEnvironment, asked: EnvRequest, nanoseconds: int) -> Mapping[str, Any]:
    """Answer a reset or a step.

    Args:
        host: The environment.
        asked: The request.
        nanoseconds: What the environment took.
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
    """Return the names of the fields without slots; boards that are not drawn are none."""
    drawn = {item.name for item in task.boards}
    skip = {item.name for item in task.last_boards} | ({LOOKED_AT} if look or LOOKED_AT not in drawn else drawn)
    return [item.name for item in task.fields if not item.timed and item.name not in skip]


def numbers(array: Array) -> list[Any]:
    """Return an array's elements, one after the other."""
    values = array.ravel().tolist()
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        return [value if math.isfinite(value) else _spelled(value) for value in values]
    return list(values)


def numbers_or_one(array: Array) -> Any:
    """Return the one element of an array without axes, else its elements one after the other."""
    values = numbers(array)
    return values if array.ndim else values[0]


def _seat(host: HostedEnvironment, seat: int) -> dict[str, Any]:
    """Return the observation and the result of one seat."""
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
    """Return the index of what a field holds, without the axis of seats where there is only one."""
    return 0 if per == "seat" and task.players == 1 else ...


def _seats(answers: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the answer of the only seat, or of all."""
    return answers[0] if len(answers) == 1 else {"results": answers}


def _spelled(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
