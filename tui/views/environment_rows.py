"""One environment as rows: its episode, reward, policy and scalars, and actions as text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
from rich.segment import Segment

from ...envs.fields import Array
from ...envs.unknown import is_unknown
from ...training.telemetry.description import Description
from ...training.telemetry.snapshot import Snapshot
from ...training.trainer import PolicyOutput
from ...training.units import plural
from ..drawing.numbers import NA, decimal, percent, readable, spoken, whole
from ..drawing.panels import beside
from ..drawing.styles import ACCENT, BRIGHT, CYAN, FAINT, GREEN, RED, SOFT, TEXT, TONES, Row, bar, blank, fit, styled
from .action_values import action_values
from .number_rows import REPEATED, Entry, hint, one_frame, pair, pairs, sign_of, speeds

COLUMN, LABEL = 8, 7
REPLAY = "replay"
"""The backend of recorded episodes, see `EpisodeSession`."""
NAME, SHARE, LEAST_BAR = 15, 8, 4
PAIRED, GAP = 40, 4
MOST_PARTS = 5
"""Rows of an action with named parts."""


def counted(number: int, first: int = 0) -> str:
    """Return `number` plus `first` as text; N/A if it is unknown, which is a negative number."""
    return whole(number + first) if number >= 0 else NA


def episode(snapshot: Snapshot, env: int, width: int) -> list[Row]:
    """The running episode beside the last one, and the last step."""
    record = snapshot.environments[env]
    outcome, reward = int(record["last_outcome"]), float(record["reward"])
    name, tone = snapshot.description.outcomes[outcome - 1] if outcome else (NA, "neutral")
    mark = TONES.get(tone, TEXT)
    label, count = _columns(width, LABEL)
    length = whole(int(record["last_length"])) if outcome else NA
    now, before = decimal(float(record["episode_return"])), decimal(float(record["last_return"]))
    old, this = TEXT if outcome else FAINT, label + COLUMN
    return [
        _heading(label, count),
        (styled(fit("return", label), SOFT), _cell(now, BRIGHT), _cell(before, old))[: 1 + count],
        (
            styled(fit("length", label), SOFT),
            _cell(counted(int(record["episode_length"])), TEXT),
            _cell(length, old),
        )[: 1 + count],
        _ended("end", f"{sign_of(mark)} {name}" if outcome else name, width, mark if outcome else FAINT),
        _ended("reward", decimal(reward), this, GREEN if reward > 0 else RED if reward < 0 else TEXT),
        *action_rows("action", snapshot.description, last_actions(snapshot, env), width, this),
    ]


def _columns(width: int, least: int) -> tuple[int, int]:
    """Return the columns of labels, and the number of episodes: 2 if that leaves `least` columns for labels, else 1."""
    count = 2 if width - 2 * COLUMN >= least else 1
    return max(0, width - count * COLUMN), count


def _heading(label: int, count: int) -> Row:
    """The heading of the columns for this episode and the last one."""
    return (blank(label), *(styled(f"{name:>{COLUMN}}", FAINT) for name in ("this", "last")[:count]))


def _cell(value: str, color: str) -> Segment:
    return styled(f"{value:>{COLUMN}}", color)


def _ended(label: str, value: str, width: int, color: str) -> Row:
    """A label on the left and a value that ends at `width`."""
    room = max(0, width - len(label) - 1)
    return (styled(f"{label} ", SOFT), styled(fit(value, min(room, len(value))).rjust(room), color))


def seat_of(snapshot: Snapshot) -> str:
    """Return the selected seat, `seat 2/8` or `archer_0 2/8`; an empty text if there is only one."""
    about = snapshot.description
    return about.seat_title(snapshot.seat) if about.players > 1 else ""


def last_actions(snapshot: Snapshot, env: int) -> Array:
    """Return the last action of an environment."""
    description = snapshot.description
    several = description.bounds or description.choices
    found: Array = (snapshot.actions if several else snapshot.environments["action"])[env]
    return found


def action_rows(label: str, description: Description, action: Array | None, width: int, end: int) -> list[Row]:
    """Return an action with a label; if it has named parts, each in a row of its own, else up to column `end`."""
    parts = action_parts(description, action)
    if len(parts) < 2:
        return [_ended(label, " ".join(parts), end, TEXT)]
    more = len(parts) - MOST_PARTS
    rows = [_ended("" if index else label, part, width, TEXT) for index, part in enumerate(parts[:MOST_PARTS])]
    return [*rows, *([_ended("", f"and {more} more", width, FAINT)] if more > 0 else [])]


def action_text(description: Description, action: Array | None) -> str:
    """Return an action, `(*action_shape)`, as text."""
    return ", ".join(action_parts(description, action))


def action_parts(description: Description, action: Array | None) -> list[str]:
    """Return an action, `(*action_shape)`, as text: its named parts, or else one text."""
    if action is None:
        return [NA]
    numbers = action.reshape(-1).tolist()
    if not (description.bounds or description.choices):
        return [action_name(description, int(numbers[0]))]
    texts = [decimal(number) if description.bounds else str(int(number)) for number in numbers]
    if not description.component_names:
        return [" ".join(texts)]
    for index, ((low, high), number) in enumerate(zip(description.bounds, numbers, strict=False)):
        if (
            low == 0 and float(high).is_integer() and float(number).is_integer()
        ):  # a choice beside numbers is kept as a number
            texts[index] = str(int(number))
    names = [_part_name(name) for name in description.component_names]
    if len(list(groupby(names))) > len(set(names)):  # numbers that are parts of names, as in `hip 1, knee 1, hip 2`
        names = list(description.component_names)
    parts = groupby(zip(names, texts, strict=False), itemgetter(0))
    return [f"{name}={' '.join(text for _, text in numbers)}" for name, numbers in parts]


def _part_name(component: str) -> str:
    """Return the name of a component without its number."""
    name, _, number = component.rpartition(" ")
    return name if name and number.isdigit() else component


def _probable(description: Description, index: int, action: int) -> str:
    """Return the name of one of the most probable actions; of several components, the choice of one."""
    if description.choices:
        return f"{_component(description, index, f'{index}:')} {action}"
    return action_name(description, action)


def _component(description: Description, index: int, default: str) -> str:
    """Return the name of a component of an action."""
    return description.component_names[index] if description.component_names else default


def action_name(description: Description, action: int) -> str:
    """Return an action's name, its place in the grid of actions, or its number; N/A for a negative number."""
    if action < 0:
        return NA
    if action < len(description.action_names):
        return description.action_names[action]
    if len(description.action_shape) < 2 or action >= math.prod(description.action_shape):
        return str(action)
    first, *place = (int(at) for at in np.unravel_index(action, description.action_shape))
    named = description.action_planes[first : first + 1] or (str(first),)
    return f"{named[0]} {','.join(map(str, place))}"


def info(snapshot: Snapshot, env: int, width: int) -> list[Row]:
    """The task's own scalars."""
    entries = [
        Entry(spoken(name), readable(value))
        for name, value in zip(snapshot.description.info, snapshot.info[env].tolist(), strict=False)
        if name not in REPEATED
    ]
    if width < PAIRED or len(entries) < 2:
        return pairs(entries, width)
    wide, high = (width - GAP) // 2, -(-len(entries) // 2)
    halves = [pairs(part, wide) for part in (entries[:high], entries[high:])]
    return beside(halves, [wide + GAP, wide])


def replayed(snapshot: Snapshot) -> bool:
    """Return whether a recorded episode is shown in place of a session."""
    return snapshot.description.backend == REPLAY


def has_policy(snapshot: Snapshot) -> bool:
    """Return whether something of the policy may be known: scripts and recorded episodes may have none."""
    if replayed(snapshot):
        return snapshot.line is not None and bool(np.isfinite(snapshot.line.values).any())
    return not snapshot.description.watched or snapshot.policy is not None


def perf(snapshot: Snapshot, env: int, width: int) -> list[Row]:
    """The speed of this environment and of all."""
    state, units, n = snapshot.state, snapshot.description.units, max(1, snapshot.num_envs)
    record = snapshot.environments[env]
    worker = int(record["worker"])
    entries = [
        *speeds(snapshot),
        *(
            []
            if one_frame(snapshot)
            else [Entry(f"{units.sps}(per-{units.env})", decimal(float(state["sps"]) / n, 1), "/s")]
        ),
        Entry(f"{plural(units.frame)}, last {units.step}", counted(int(record["frames"]))),
        Entry("worker", counted(worker, first=1)),
    ]
    return pairs(entries, width)


def in_place(output: PolicyOutput, description: Description) -> PolicyOutput:
    """Return what a policy computed, with actions in their own order if these are all: so rows stay in place."""
    if len(output.actions) != description.num_actions or description.choices:
        return output
    order = np.argsort(output.actions).tolist()

    def sorted_by_action(values: Sequence[Any]) -> list[Any]:
        return [values[at] for at in order] if len(values) == len(order) else list(values)

    return replace(
        output,
        actions=sorted_by_action(output.actions),
        probabilities=sorted_by_action(output.probabilities),
        values=sorted_by_action(output.values),
        ranges=sorted_by_action(output.ranges),
    )


def policy(snapshot: Snapshot, env: int, width: int) -> list[Row]:
    """Value, entropy, and the most probable actions, their values, or the mean and deviation of continuous ones."""
    output = snapshot.policy if snapshot.focus == env else None
    if output is None:
        return hint("shown after the next action", width)
    output = in_place(output, snapshot.description)
    if output.values:
        names = [action_name(snapshot.description, int(action)) for action in output.actions]
        chosen = int(snapshot.environments["action"][env])
        return action_values(output, names, width, chosen, watched=snapshot.description.watched)
    value, entropy = Entry("value", decimal(output.value, 3), color=CYAN), decimal(output.entropy, 3)
    rows = pairs([value, Entry("entropy", entropy, "nats")], width)
    if output.critics:
        critics = " and ".join(decimal(each, 3) for each in output.critics)
        rows.append(pair(Entry("Q of the critics", critics), width))
    rows += distributed(snapshot.description, output, width)
    for index, (action, share) in enumerate(zip(output.actions, output.probabilities, strict=False)):
        name = _probable(snapshot.description, index, int(action))
        label = min(NAME, max(0, width - SHARE - LEAST_BAR - 1))
        room = max(0, width - label - SHARE - 1)
        rows.append(
            (
                styled(fit(name, label), SOFT),
                blank(1),
                *bar(float(share), room, ACCENT),
                styled(f"{percent(100 * float(share), 1):>{SHARE}}", TEXT),
            )
        )
    return rows


def distributed(description: Description, output: PolicyOutput, width: int) -> list[Row]:
    """The mean and the standard deviation of each number of a continuous action."""
    spreads = enumerate(zip(output.means, output.deviations, strict=True))
    texts = [(index, f"{decimal(mean, 3)} ± {decimal(deviation, 3)}") for index, (mean, deviation) in spreads]
    return [pair(Entry(_component(description, index, f"number {index}"), text), width) for index, text in texts]


def reward(snapshot: Snapshot, env: int, width: int) -> list[Row]:
    """The reward terms of this episode and the last one, with their sums."""
    names = snapshot.description.reward_terms
    now, last = snapshot.terms[env].tolist(), snapshot.last_terms[env, 0].tolist()
    label, count = _columns(width, max(map(len, names), default=0))
    rows = [_heading(label, count)]
    for name, *values in zip(names, now, last, strict=False):
        rows.append((styled(fit(name, label), SOFT), *map(_amount, values[:count])))
    sums = (sum(now), sum(last))[:count]
    rows.append((styled(fit("sum", label), SOFT), *(_amount(value, bold=True) for value in sums)))
    return rows


def _amount(value: float, *, bold: bool = False) -> Segment:
    text = "-" if is_unknown(value) else decimal(value)
    color = FAINT if is_unknown(value) or value == 0 else GREEN if value > 0 else RED
    return styled(f"{text:>{COLUMN}}", color, bold=bold)
