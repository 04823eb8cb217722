"""A moment: all that is known about one environment after one step, the newest or an earlier one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...envs import Field, Task
from ...envs.fields import Array, Buffers
from ...envs.task import LAST, LAST_DRAWN
from ...envs.unknown import UNKNOWN
from ..trainer import Saliency
from .declared import ANY, FLAG, OUTCOME, SHARE, Range, Record, decoded, number, one_of, text
from .description import Description
from .records import TERMINATED, TRUNCATED

NOTE_BYTES = 160
MOST_SALIENT = 1 << 20
"""The most numbers of an observation whose saliency is published."""
MOST_GIVEN, MOST_AXES = 40_960, 8
"""The most numbers that the first layer of a script's policy is given, and axes of an observation."""
NUMBERS = ("episode", "episode_length", "episode_return", "end", "outcome", "frames", "reward", "value")


class MomentSource(IntEnum):
    """How a moment was obtained."""

    NOTHING = 0
    NOW = 1
    STORED = 2
    REBUILT = 3
    WORKING = 4
    MISSING = 5


def moment_dtype(task: Task) -> np.dtype[Any]:
    """Return the dtype of a moment's record. Fields per seat are those of one seat."""
    return moment_record(task, field_named(task, "action"), len(info_scalars(task))).dtype


def moment_record(about: Task | Description, action: Field, scalars: int) -> Record:
    """Return a moment's record for a task with so many scalars, or from its description."""
    terms = (len(about.reward_terms),)
    return Record(
        number("env", "i4", ANY),
        number("seat", "u2", ANY),  # from 0
        number("step", "i8", ANY),  # of the backend, from 0: the newest is `now`
        number("now", "i8", ANY),
        number("source", "u1", one_of(MomentSource)),
        number("progress", "f4", SHARE),  # while it is being rebuilt
        text("note", NOTE_BYTES),
        number("episode", "i8", ANY),
        number("episode_length", "i4", ANY),
        number("episode_return", "f4", ANY),
        number("end", "u1", Range(0, TRUNCATED)),  # whether the step ended an episode, and how
        number("begun", "u1", FLAG),  # whether it did, and this is the state in which the next episode begins
        number("outcome", "u1", OUTCOME),
        number("frames", "i4", ANY),
        number("reward", "f4", ANY),
        number("value", "f4", ANY),  # of the decision that `next_action` is, else of the one before; NaN if unknown
        number("acted", "u1", FLAG),  # whether there is an action that led here
        number("action", action.dtype, ANY, action.shape),
        number("decided", "u1", FLAG),  # whether the next action is known
        number("next_action", action.dtype, ANY, action.shape),
        number("full", "u1", FLAG),  # whether observation, mask, terms and info are known, not only the boards
        number("observation", about.observation.dtype, ANY, about.observation.stored_shape),
        number("mask", "u1", ANY, (-(-about.num_actions // 8) if about.masked else 0,)),
        number("reward_terms", "f4", ANY, terms),  # of the step
        number("terms", "f4", ANY, terms),  # of the episode so far
        number("info", "f4", ANY, (scalars,)),
        *(number(f"board:{item.name}", item.dtype, ANY, item.stored_shape) for item in drawn_fields(about)),
    )


def saliency_record(about: Task | Description, action: Field) -> Record:
    """Return the record of what the policy's choice depends on; of large observations without numbers."""
    count = MOST_GIVEN if about.watched else math.prod(about.observation.shape)
    return Record(
        number("env", "i4", ANY),
        number("seat", "u2", ANY),
        number("step", "i8", ANY),
        text("of", 8),  # empty if it is unknown
        number("chosen", "u1", FLAG),  # whether it is that of an action
        number("action", action.dtype, ANY, action.shape),
        text("note", NOTE_BYTES),
        number("axes", "u1", Range(0, MOST_AXES)),
        number("shape", "u4", Range(0, MOST_SALIENT), (MOST_AXES,)),
        number("gradient", "f4", ANY, (count if count <= MOST_SALIENT else 0,)),
        number("given", "f4", ANY, (count if about.watched else 0,)),  # to the first layer of a script's policy
        number("named", "u1", FLAG),
    )


def read_saliency(record: Array, env: int, seat: int) -> Saliency:
    """Return what the choice for a seat depends on; with an empty `of` if that cannot be known or is not known yet."""
    if (int(record["env"]), int(record["seat"])) != (env, seat):
        return Saliency(np.zeros(0, np.float32), "")
    shape = tuple(record["shape"][: record["axes"]].tolist())
    of, note, count = decoded(record["of"].tolist()), decoded(record["note"].tolist()), math.prod(shape)
    step, named = int(record["step"]), bool(record["named"])
    if not of or count > len(record["gradient"]):
        return Saliency(np.zeros(0, np.float32), "", step=step, note=note)
    given = record["given"][:count].reshape(shape) if len(record["given"]) else None
    action = record["action"] if record["chosen"] else None
    return Saliency(record["gradient"][:count].reshape(shape), of, action, step, given, named, note)


def field_named(task: Task, name: str) -> Field:
    """Return a field of a task by its name."""
    return next(item for item in task.fields if item.name == name)


def info_scalars(task: Task) -> list[Field]:
    """Return the task's scalars."""
    return [item for item in task.info if not item.shape]


def drawn_fields(about: Task | Description) -> list[Field]:
    """Return the fields that panels draw."""
    drawn = {name for panel in about.panels for name in panel.fields}
    return [item for item in about.boards if item.name in drawn]


def terms_width(about: Task | Description) -> int:
    """Return how many columns a table of reward terms has."""
    return max(1, len(about.reward_terms))


def fill_moment(
    moment: Array, task: Task, buffers: Buffers, slot: int, env: int, *, seat: int = 0, begun: bool = False
) -> None:
    """Write the results of a slot for a seat into a record: everything except source, action and value.

    A step that ended an episode led to two states: the last one of the episode, and with `begun` the first one of the
    next. What the task counts at such a step belongs to the former.
    """
    row = env * task.players + seat
    moment["env"], moment["seat"], moment["full"] = env, seat, 1
    for name in ("episode_length", "outcome", "frames"):
        moment[name] = buffers[name][slot, env]
    for name in ("episode_return", "reward"):
        moment[name] = buffers[name][slot, row]
    if task.watched and not moment["frames"]:
        moment["reward"] = UNKNOWN  # it made no step in this slot
    ended = TERMINATED if buffers["terminated"][slot, row] else TRUNCATED if buffers["truncated"][slot, row] else 0
    moment["end"] = ended
    moment["episode"] = buffers["episode"][0, env] - (ended > 0)  # the next one has begun in the same step
    moment["observation"] = buffers["observation"][slot, row]
    if task.masked:
        moment["mask"] = buffers["action_mask"][slot, row]
    if task.reward_terms:
        moment["reward_terms"] = buffers["reward_terms"][slot, row]
    for index, item in enumerate(info_scalars(task)):
        found = buffers[item.name][slot if item.timed else 0]
        moment["info"][index] = found[row if item.per == "seat" else env]
    moment["begun"] = begun = bool(begun and ended and task.begins_at_once)
    over = ended and task.begins_at_once and not begun
    last = over and has_last_boards(buffers, env)
    for item in drawn_fields(task):
        moment[f"board:{item.name}"] = buffers[LAST + item.name if last else item.name][0, env]
    if over:
        moment["observation"], moment["mask"] = buffers["final_observation"][slot, row], 0
    if begun:
        _begin(moment, int(buffers["episode"][0, env]))


def _begin(moment: Array, episode: int) -> None:
    """Make the first state of the next episode out of a record of the step that ended one."""
    moment["episode"], moment["info"] = episode, UNKNOWN
    for name in ("episode_length", "episode_return", "frames", "reward", "end", "outcome", "reward_terms"):
        moment[name] = 0


def has_last_boards(buffers: Buffers, env: int) -> bool:
    """Whether the buffers have the last boards of the episode before the one that runs."""
    return LAST_DRAWN in buffers and bool(buffers[LAST_DRAWN][0, env] == buffers["episode"][0, env])


@dataclass(frozen=True, kw_only=True)
class Moment:
    """A moment, as a viewer gets it.

    Attributes:
        env: The environment, from 0.
        seat: The seat, from 0.
        step: The number of the step; the newest is `now`.
        source: How it was obtained.
        progress: How much of a replay is done, 0 to 1.
        note: Why it is missing or incomplete.
        values: The plain numbers of the record, by name.
        action: The action that led here, if one did.
        next_action: The one that is decided, if it is known.
        observation: In its logical shape; None where only boards were kept, as all that follow but the boards.
        mask: Which actions are legal, `(num_actions,)`; None if the task has no mask.
        reward_terms: Of the step.
        terms: Of the episode so far.
        info: The task's scalars.
        boards: What panels draw, by field.
        begun: Whether the step ended an episode, and this is the state in which the next one begins.
    """

    env: int
    seat: int
    step: int
    now: int
    source: MomentSource
    progress: float
    note: str
    values: Mapping[str, float]
    action: Array | None
    next_action: Array | None
    observation: Array | None
    mask: NDArray[np.bool_] | None
    reward_terms: NDArray[np.float32] | None
    terms: NDArray[np.float32] | None
    info: NDArray[np.float32] | None
    boards: Mapping[str, Array]
    begun: bool = False

    @property
    def back(self) -> int:
        """How many steps ago it was."""
        return self.now - self.step

    @property
    def shown(self) -> bool:
        """Whether there is a board to show."""
        return self.source in {MomentSource.NOW, MomentSource.STORED, MomentSource.REBUILT}

    @classmethod
    def read(cls, record: Array, description: Description) -> Moment | None:
        """Return the moment in a record; None if nothing was written yet."""
        if record["source"] == MomentSource.NOTHING:
            return None
        full = bool(record["full"])
        mask = None
        if description.masked and full:
            bits = np.unpackbits(record["mask"], count=description.num_actions, bitorder="little")
            mask = bits.astype(np.bool_)
        return cls(
            env=int(record["env"]),
            seat=int(record["seat"]),
            step=int(record["step"]),
            now=int(record["now"]),
            source=MomentSource(int(record["source"])),
            progress=float(record["progress"]),
            note=decoded(record["note"].tolist()),
            values={name: record[name].item() for name in NUMBERS},
            action=record["action"] if record["acted"] else None,
            next_action=record["next_action"] if record["decided"] else None,
            observation=description.observation.decode(record["observation"]) if full else None,
            mask=mask,
            reward_terms=record["reward_terms"] if full else None,
            terms=record["terms"] if full else None,
            info=record["info"] if full else None,
            boards={name: record[f"board:{name}"] for panel in description.panels for name in panel.fields},
            begun=bool(record["begun"]),
        )


def _unknown() -> NDArray[np.float32]:
    return np.zeros(0, np.float32)


@dataclass(frozen=True)
class RecentSteps:
    """The last steps, oldest first, `(steps,)` each.

    Attributes:
        now: The newest step.
        ends: How steps ended episodes.
        rewards: The rewards of one seat.
        values: What its policy estimated before each step; NaN if unknown.
        entropies: Of its policy's distribution for each step, in nats; NaN if nobody looked at it then.
        actions: The first numbers of its actions; NaN where it waited.
    """

    now: int
    ends: NDArray[np.uint8]
    rewards: NDArray[np.float32]
    values: NDArray[np.float32] = field(default_factory=_unknown)
    entropies: NDArray[np.float32] = field(default_factory=_unknown)
    actions: NDArray[np.float32] = field(default_factory=_unknown)

    @classmethod
    def read(cls, record: Array, env: int, seat: int) -> RecentSteps | None:
        """Return the steps in a record; None if they are those of another seat."""
        count = int(record["ends_count"])
        if record["env"] != env or record["seat"] != seat or not count:
            return None
        columns = ("ends", "rewards", "values", "entropies", "actions")
        return cls(int(record["now"]), *(record[name][:count] for name in columns))
