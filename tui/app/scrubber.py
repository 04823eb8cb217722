"""The timeline of an environment: its last steps as strips, and while it is paused the shown step and a cursor."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len
from rich.segment import Segment

from ...envs.fields import Array
from ...envs.unknown import is_unknown
from ...training.telemetry.description import Description
from ...training.telemetry.moments import Moment, MomentSource, RecentSteps
from ..drawing.numbers import decimal, percent, readable, whole
from ..drawing.styles import (
    ACCENT,
    BRIGHT,
    CYAN,
    FAINT,
    GREEN,
    GROUND,
    LINE,
    MAGENTA,
    RED,
    SIGNS,
    SOFT,
    TEXT,
    YELLOW,
    Row,
    fit,
    mixed,
    padded,
    styled,
    width_of,
)
from ..views.environment_rows import action_text
from ..views.observation import LEVELS, PLAIN_LEVELS

LEFT, RIGHT, LEAST = 9, 12, 8
"""Columns on both sides of the last steps, and the least columns for these."""
LOWEST = 0.1
"""The height of the lowest value, so that it is seen."""
DIM = 0.6
"""Share of the color of strips, which are filled."""
ENDS = ("", "terminated", "truncated")
LEAST_FIRST = ("source", "step", "missing", "place", "next", "end")
"""The parts of the sentence that are left out if it is too long, in this order; of `missing` only the reason.

The action is never left out."""


def scrubber(about: Description, moment: Moment | None, line: RecentSteps | None, back: int, width: int) -> list[Row]:
    """Return two rows: what happened in the step, and where it is among the last ones."""
    if moment is None or line is None:
        return [(styled(f" {SIGNS.paused} paused", SOFT, bold=True),), ()]
    return [padded(_sentence(about, moment, back, width), width), marks(line, back, width)]


def strips(about: Description, line: RecentSteps, width: int) -> list[Row]:
    """Return reward, value, entropy and action over the last steps, one row each, in the columns of `marks`.

    A column has the sum of the rewards of its steps, and the mean of the others.
    """
    room = _room(line, width)
    if not room:
        return []
    column = _columns(len(line.ends), room)
    sums = np.bincount(column, np.nan_to_num(line.rewards), minlength=room)
    most = float(np.abs(sums).max()) or 1.0
    colors = [GREEN if total > 0 else RED for total in sums.tolist()]
    rows = [_strip("reward", np.abs(sums) / most, colors, _number(line.rewards))]
    several = (about.bounds or about.choices) and len(about.component_names) > 1
    named = about.component_names[0] if several else "action"
    for name, values, color in (
        ("value", line.values, CYAN),
        ("entropy", line.entropies, MAGENTA),
        (named, line.actions, ACCENT),
    ):
        known = np.isfinite(values)
        if known.any():
            low, high = float(values[known].min()), float(values[known].max())
            counts = np.bincount(column[known], minlength=room)
            means = np.bincount(column[known], values[known], minlength=room) / np.maximum(counts, 1)
            shares = LOWEST + (1 - LOWEST) * (means - low) / ((high - low) or 1.0)
            newest = _number(values)
            if name == "action" and known[-1] and not about.bounds:
                newest = action_text(about, values[-1:])
            rows.append(_strip(name, np.where(counts, shares, 0), [color] * room, newest))
    return rows


def _number(values: NDArray[np.float32]) -> str:
    return "" if is_unknown(float(values[-1])) else readable(float(values[-1]))


def _strip(name: str, shares: NDArray[np.float64], colors: list[str], newest: str) -> Row:
    """A name, a letter of a height for each share from 0 to 1, and the newest value."""
    levels = LEVELS if SIGNS.braille else PLAIN_LEVELS
    dim = {color: mixed(color, GROUND, DIM) for color in set(colors)}
    heights = np.ceil(shares.clip(0, 1) * (len(levels) - 1)).astype(int).tolist()
    letters = Segment.simplify(
        styled(levels[height], dim[color]) for height, color in zip(heights, colors, strict=True)
    )
    return (
        styled(f" {fit(name, LEFT - 2)} ", FAINT),
        *letters,
        styled(fit(f" {newest}", RIGHT), FAINT),
    )


def _sentence(about: Description, moment: Moment, back: int, width: int) -> Row:
    """The step, its action and reward, and the next action; shortened to `width` columns."""
    if moment.source is MomentSource.WORKING:
        text = f" {_back(back)}: replaying {percent(100 * moment.progress)}"
        return (styled(text, YELLOW, bold=True),)
    head = (
        styled(f" {_back(back)} ", YELLOW, bold=True) if back else styled(f" {SIGNS.paused} paused ", SOFT, bold=True)
    )
    at = (styled(f"at step {moment.step:,}", BRIGHT),)
    source: Row = ()
    missing: Row = ()
    if moment.source is MomentSource.MISSING:
        what = "last board not kept" if moment.values["end"] else "not kept"
        missing = (styled(what, YELLOW), styled(f": {moment.note}", YELLOW))
    elif back:
        how = "stored board" if moment.source is MomentSource.STORED else "replayed"
        source = (styled(f"{how}: {moment.note}" if moment.note else how, FAINT),)
    known = {"step": at, **_known(about, moment, width // 3), "source": source, "missing": missing}
    for least in LEAST_FIRST:
        if width_of(_joined(head, known.values())) <= width:
            break
        known[least] = missing[:1] if least == "missing" else ()
    return _joined(head, known.values())


def _joined(head: Segment, pieces: Iterable[Row]) -> Row:
    parts = [piece for piece in pieces if piece]
    dot = (styled(" · ", FAINT),)
    return (head, *(segment for index, piece in enumerate(parts) for segment in (*(dot if index else ()), *piece)))


def _known(about: Description, moment: Moment, most: int) -> dict[str, Row]:
    """The place in the episode, the action and its reward, the end of the episode, and the next action.

    An action, which may be many numbers, takes up to `most` columns.
    """

    def named(action: Array) -> str:
        text = action_text(about, action)
        return fit(text, min(most, cell_len(text)))

    values = moment.values
    pieces: dict[str, Row] = {}
    if values["episode_length"] >= 0:
        place = f"episode {whole(values['episode'] + 1)}, step {whole(values['episode_length'])}"
        pieces["place"] = (styled(place, TEXT),)
    waited = moment.action is None and about.players > 1 and values["episode_length"] > 0
    if moment.action is not None or waited:
        reward = float(values["reward"])
        color = GREEN if reward > 0 else RED if reward < 0 else SOFT
        done = styled("waited" if moment.action is None else named(moment.action), TEXT)
        pieces["done"] = (done, styled(" reward ", FAINT), styled(decimal(reward), color))
    if values["end"]:
        outcome = int(values["outcome"])
        name = about.outcomes[outcome - 1][0] if outcome else ENDS[int(values["end"])]
        pieces["end"] = (styled(f"episode ended: {name}", YELLOW, bold=True),)
    if values["end"] and about.begins_at_once:
        pieces["next"] = (styled(f"{SIGNS.stepping} next episode", FAINT),)
    elif moment.next_action is not None:
        pieces["next"] = (styled("next: ", FAINT), styled(named(moment.next_action), BRIGHT))
    return pieces


def _back(back: int) -> str:
    return f"{back} step{'s' * (back > 1)} back"


def _room(line: RecentSteps, width: int) -> int:
    """Return the columns for the last steps; 0 if there is no room."""
    room = width - LEFT - RIGHT
    return 0 if room < LEAST else min(room, max(LEAST, 2 * (len(line.ends) + 1)))


def _columns(count: int, room: int) -> NDArray[np.int64]:
    """Return the columns of the last steps; the state before the first one is in column 0."""
    return np.arange(1, count + 1) * (room - 1) // count


def marks(line: RecentSteps, back: int | None, width: int) -> Row:
    """The last steps, oldest on the left: positive and negative rewards, ends of episodes, and the cursor if any."""
    count, room = len(line.ends) + 1, _room(line, width)
    if not room:
        return ()
    column = _columns(count - 1, room)
    cells = [(SIGNS.track if SIGNS.braille else "-", LINE)] * room
    for at in column[line.rewards > 0].tolist():
        cells[at] = ("╵" if SIGNS.braille else "'", GREEN)
    for at in column[line.rewards < 0].tolist():
        cells[at] = ("╷" if SIGNS.braille else ",", RED)
    for at in column[line.ends > 0].tolist():
        cells[at] = ("┃" if SIGNS.braille else "|", YELLOW)
    if back is not None:
        cells[(count - 1 - min(back, count - 1)) * (room - 1) // (count - 1)] = (SIGNS.dot, ACCENT)
    left = styled(f" -{len(line.ends)}".ljust(LEFT), FAINT)
    return (left, *(styled(letter, color) for letter, color in cells), styled(" now".ljust(RIGHT), FAINT))
