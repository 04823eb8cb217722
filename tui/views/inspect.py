"""Everything known of one environment at one step: decision, reward, observation, mask, scalars, actions taken."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from rich.segment import Segment

from ...envs.fields import Array
from ...envs.spaces.names import labels_of
from ...training.telemetry.description import Description
from ...training.telemetry.moments import Moment
from ...training.telemetry.snapshot import Snapshot
from ..drawing.numbers import age, decimal, percent, readable, spoken, whole
from ..drawing.panels import Rows, Section, column, columns, pages, shares
from ..drawing.styles import ACCENT, BRIGHT, CYAN, FAINT, GREEN, RED, SIGNS, SOFT, TEXT, Row, bar, blank, fit, styled
from .action_values import action_values
from .environment_rows import (
    action_name,
    action_rows,
    action_text,
    distributed,
    episode,
    in_place,
    perf,
    replayed,
    seat_of,
)
from .number_rows import Entry, hint, pair, pairs, wrapped
from .observation import LEVELS, PLAIN_LEVELS, observed, planes
from .saliency import salient, target

WIDE, LEFT, SHORT, FEW = 70, 34, 30, 4
NAME = 14
MOST_ACTIONS = 8
MOST_NUMBERS, LEAST_BINS = 8, 8
"""Numbers that have a histogram, and the least columns of one whose ends are written."""
MOST_LEGAL = 4
"""Lines of legal actions."""
OLD = 1.0
"""Seconds from which on it is said that values are old."""


def inspected(
    snapshot: Snapshot,
    width: int,
    height: int,
    page: int = 0,
    *,
    details: Sequence[Section] = (),
    old: float = 0.0,
    alone: bool = True,
) -> tuple[Rows, int]:
    """Return the panels of the selected environment, side by side if there is room, and the number of pages.

    Args:
        snapshot: The session.
        width: Columns for the panels.
        height: Lines for the panels.
        page: The page, from 0, of panels that do not fit below each other; after the last one, the last one.
        details: The task's panels that only the inspector shows.
        old: Seconds since what is shown was known, if the last step is not known yet.
        alone: Whether there is no panel of the episode beside it.
    """
    moment = snapshot.moment
    if moment is None:
        waiting = Section("Inspect", lambda room, _: hint("waiting for the next step", room), fills=True)
        return column([waiting], width, height), 1
    about = snapshot.description
    note = " · ".join(filter(None, (seat_of(snapshot), f"{age(old)} ago" if old >= OLD else "")))
    thought = [
        Section("Decision", lambda room, _: decided(snapshot, moment, room), note=note),
        Section("Reward", lambda room, _: rewarded(about, moment, room)),
    ]
    seen = [Section("Observation", lambda *room: observed(about, moment, *room), fills=True, note=_size(about))]
    if (depends := snapshot.saliency) is not None:
        said = target(about, depends) if depends.given is None else ""
        salience = partial(salient, about, moment, depends)
        seen.insert(0, Section("Saliency", salience, fills=True, note=said))
    if about.masked:
        seen.append(Section("Legal", lambda room, _: legal(about, moment, room), note=_legal_note(moment)))
    step = [Section("Step", lambda room, _: stated(about, moment, room))]
    counts = [Section("Actions taken", lambda room, _: taken(snapshot, moment.env, room))]
    counts = counts if snapshot.action_counts is not None else []
    if snapshot.seen_spreads is not None and len(snapshot.seen_spreads):
        spread = Section("All observations", lambda room, _: observed_by_all(snapshot, moment, room), note="now")
        counts.append(spread)
    speed = [] if replayed(snapshot) else [Section("Perf", lambda room, _: perf(snapshot, moment.env, room))]
    if width >= WIDE:
        left, sides = max(LEFT, width // 3), shares(width, 2)
        groups = pages(details, sides[1], height) if details else []
        pairs_of = [groups[at : at + 2] for at in range(0, len(groups), 2)]
        shown = min(page, len(pairs_of))
        if not shown:
            return columns([[*thought, *counts, *step, *speed], seen], [left, width - left], height), 1 + len(pairs_of)
        pair_of = pairs_of[shown - 1]
        return columns(pair_of, sides[: len(pair_of)], height), 1 + len(pairs_of)
    last = [Section("Episode", lambda room, _: episode(snapshot, moment.env, room))]
    last = last if alone and about.units.episodes else []
    if height >= SHORT:
        found = pages([*thought, *seen, *last, *counts, *step, *speed, *details], width, height)
    else:
        brief = Section("Decision", lambda room, _: decided(snapshot, moment, room, FEW), note=note)
        rest = [*thought, *last, *step, *counts, *seen[1:], *speed, *details]
        found = [[brief, seen[0]], *pages(rest, width, height)]
    return column(found[min(page, len(found) - 1)], width, height), len(found)


def decided(snapshot: Snapshot, moment: Moment, width: int, most: int = sys.maxsize) -> list[Row]:
    """The last or next action, and the policy's value with its entropy and probabilities, or the values of actions.

    If there is room for only some lines, the probability of the action that was chosen is among them.
    """
    about = snapshot.description
    chosen = moment.next_action if moment.next_action is not None else moment.action
    title = "next" if moment.next_action is not None else "last"
    acted = (
        action_rows(title, about, chosen, width, width)
        if about.component_names
        else [pair(Entry(title, action_text(about, chosen), color=BRIGHT), width)]
    )
    rows = [
        *acted,
        pair(Entry("value", decimal(moment.values["value"], 3), color=CYAN), width),
    ]
    output = snapshot.policy if moment.back == 0 else None
    if output is None:
        if moment.back:
            rows += hint("the policy's output of past steps is not stored", width)
        return rows
    output = in_place(output, about)
    sampled = int(chosen) if chosen is not None and chosen.ndim == 0 else -1
    if output.values:
        names = [action_name(about, int(action)) for action in output.actions]
        rows = [*acted, *action_values(output, names, width, sampled, watched=about.watched)]
        marked = next((row for row in rows[most:] if row[0].text.startswith(SIGNS.stepping)), None)
        return [*rows[: most - 1], marked] if marked else rows[:most]
    value, entropy = Entry("value", decimal(output.value, 3), color=CYAN), decimal(output.entropy, 3)
    rows[len(acted) :] = pairs([value, Entry("entropy", entropy, "nats")], width)
    rows += distributed(about, output, width)
    shares_of = list(zip(map(int, output.actions), map(float, output.probabilities), strict=False))
    if len(rows) + len(shares_of) > most:
        shares_of.sort(key=lambda pair: (pair[0] != sampled, -pair[1]))
    rows += [_share(about, action, share, width, marked=action == sampled) for action, share in shares_of]
    return rows[:most]


def _share(about: Description, action: int, share: float, width: int, *, marked: bool) -> Row:
    """An action's name, its probability as a bar and in percent; marked if it is the sampled one."""
    color, name = BRIGHT if marked else SOFT, min(NAME, width // 3)
    sign = SIGNS.stepping if marked else " "
    return (
        styled(f"{sign} ", ACCENT, bold=marked),
        styled(f"{fit(action_text(about, np.array(action)), name)} ", color, bold=marked),
        *bar(share, max(0, width - name - 11), ACCENT),
        styled(f"{percent(100 * share, 1):>8}", color),
    )


def rewarded(about: Description, moment: Moment, width: int) -> list[Row]:
    """The reward of the step and of the episode, by term."""
    rows: list[Row] = [
        (blank(width - 18), styled(f"{'step':>9}{'episode':>9}", FAINT)),
    ]
    if moment.reward_terms is not None and moment.terms is not None:
        for name, step, total in zip(about.reward_terms, moment.reward_terms, moment.terms, strict=False):
            rows.append((styled(fit(name, width - 18), SOFT), *_amount(float(step)), *_amount(float(total))))
    step, total = moment.values["reward"], moment.values["episode_return"]
    label = fit("sum" if about.reward_terms else "reward", width - 18)
    return [*rows, (styled(label, SOFT), *_amount(step, bold=True), *_amount(total, bold=True))]


def _amount(value: float, *, bold: bool = False) -> Row:
    color = GREEN if value > 0 else RED if value < 0 else FAINT
    return (styled(f"{decimal(value):>9}", color, bold=bold),)


def taken(snapshot: Snapshot, env: int, width: int) -> list[Row]:
    """How often each action was taken in the last steps, by this environment and by all."""
    counts = snapshot.action_counts
    if snapshot.action_spreads is not None and snapshot.action_spreads.size:
        return _action_spreads(snapshot, snapshot.action_spreads, env, width)
    if counts is None or not counts.shape[1]:
        return hint("only discrete actions are counted", width)
    totals = counts.sum(axis=1)
    if not totals.all():
        return hint("counted after the next step", width)
    shares_of = counts / totals[:, None]
    name = min(NAME, width // 3) + 1
    room = max(0, (width - name - 14) // 2)
    rows: list[Row] = [
        (blank(name), *(styled(fit(of, room + 6) + " ", FAINT) for of in (snapshot.description.env_title(env), "all"))),
    ]
    most_first = np.argsort(-shares_of.max(axis=0), kind="stable")[:MOST_ACTIONS]
    for action in most_first.tolist() if counts.shape[1] > MOST_ACTIONS else range(counts.shape[1]):
        if counts.shape[1] > MOST_ACTIONS and shares_of[:, action].max() == 0:
            break
        bars = [
            segment
            for share in shares_of[:, action].tolist()
            for segment in (*bar(share, room, ACCENT), styled(f"{percent(100 * share):>6} ", TEXT))
        ]
        label = fit(action_text(snapshot.description, np.array(action)), name - 1)
        rows.append((styled(f"{label} ", SOFT), *bars))
    return rows


def _action_spreads(snapshot: Snapshot, spreads: Array, env: int, width: int) -> list[Row]:
    """Histograms of the numbers of continuous actions in the last steps, of this environment and of all."""
    about, name = snapshot.description, min(NAME, width // 3)
    room = max(0, (width - name - 2) // 2)
    titles = (about.env_title(env), "all")
    rows: list[Row] = [(blank(name + 1), *(styled(fit(title, room) + " ", FAINT) for title in titles))]
    for index, pair_of in enumerate(spreads.T[:MOST_ACTIONS]):
        label = about.component_names[index] if index < len(about.component_names) else f"number {index}"
        parts = [segment for spread in pair_of for segment in (*histogram(spread, room), blank(1))]
        rows.append((styled(f"{fit(label, name)} ", SOFT), *parts))
    return rows


def observed_by_all(snapshot: Snapshot, moment: Moment, width: int) -> list[Row]:
    """Histograms of the numbers that all environments observe now; where the shown environment is, is marked."""
    spreads = np.zeros(0) if snapshot.seen_spreads is None else snapshot.seen_spreads
    labels = labels_of({name: (low, high) for name, low, high in snapshot.description.slices}, len(spreads))
    seen = moment.observation.reshape(-1) if moment.observation is not None else np.zeros(0)
    name = min(NAME, width // 3)
    return [
        (
            styled(f"{fit(label, name)} ", SOFT),
            *histogram(spread, max(0, width - name - 1), float(seen[at]) if at < len(seen) else math.nan),
        )
        for at, (label, spread) in enumerate(zip(labels[:MOST_NUMBERS], spreads, strict=False))
    ]


def histogram(spread: Any, width: int, mark: float = math.nan) -> Row:
    """Return the counts of a histogram as letters of different heights between its ends; that of `mark` is bright."""
    counts, low, high = spread["counts"].astype(float), float(spread["low"]), float(spread["high"])
    if not counts.any() or not math.isfinite(low + high):
        return (styled(fit("none yet", width), FAINT),)
    ends = f"{readable(low)} ", f" {readable(high)}"
    room = min(len(counts), width - sum(map(len, ends)))
    if room < LEAST_BINS:
        ends, room = ("", ""), min(len(counts), width)
    bins = np.add.reduceat(counts, np.arange(room) * len(counts) // room) if room else counts[:0]
    levels = LEVELS if SIGNS.braille else PLAIN_LEVELS
    heights = np.ceil(bins / (bins.max(initial=0) or 1) * (len(levels) - 1)).astype(int).tolist()
    at = min(room - 1, int((mark - low) / ((high - low) or 1) * room)) if low <= mark <= high else -1
    letters = [
        styled(levels[tall] if tall else " ", BRIGHT if index == at else ACCENT) for index, tall in enumerate(heights)
    ]
    return (
        styled(ends[0], FAINT),
        *Segment.simplify(letters),
        styled(ends[1], FAINT),
        blank(width - room - sum(map(len, ends))),
    )


def stated(about: Description, moment: Moment, width: int) -> list[Row]:
    """The episode, its length and the task's scalars."""
    values = moment.values
    entries = [Entry("episode", whole(values["episode"] + 1))]
    if (length := values["episode_length"]) >= 0:
        entries.append(Entry("length", whole(length), "step" if length == 1 else "steps"))
    if moment.info is None:
        missing = hint("the scalars of this step are not stored", width) if about.info else []
        return [*pairs(entries, width), *missing]
    scalars = zip(about.info, moment.info.tolist(), strict=False)
    return pairs([*entries, *(Entry(spoken(name), readable(value)) for name, value in scalars)], width)


def legal(about: Description, moment: Moment, width: int) -> list[Row]:
    """The legal actions: by name, or as small pictures if they are a grid."""
    mask = moment.mask
    if mask is None:
        return hint(moment.note or "the mask of this step is not stored", width)
    if len(about.action_shape) == 3:
        shape = about.action_shape
        names = about.action_planes or [str(index) for index in range(shape[0])]
        return planes(mask.reshape(shape).astype(np.float32), names, width, 5)
    names = [action_text(about, np.array(action)) for action in np.flatnonzero(mask).tolist()]
    text = " ".join(name.replace(" ", "-") for name in names)
    lines = wrapped(text, width)
    rows: list[Row] = [(styled(line, TEXT),) for line in lines[:MOST_LEGAL]]
    if len(lines) > MOST_LEGAL:
        more = len(names) - sum(len(line.split()) for line in lines[: MOST_LEGAL - 1])
        rows[-1:] = hint(f"and {more:,} more", width)
    return rows


def _legal_note(moment: Moment) -> str:
    return "" if moment.mask is None else f"{int(moment.mask.sum()):,} of {len(moment.mask):,}"


def _size(about: Description) -> str:
    return " x ".join(str(length) for length in about.observation.shape)
