"""The timeline of a paused environment: a sentence about the shown step, and the last steps with a cursor."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from rich.cells import cell_len
from rich.segment import Segment

from ..envs.fields import Array
from ..training.telemetry.description import Description
from ..training.telemetry.moments import Moment, MomentSource, RecentSteps
from .drawing.numbers import decimal, percent, whole
from .drawing.styles import (
    ACCENT,
    BRIGHT,
    FAINT,
    GREEN,
    LINE,
    RED,
    SIGNS,
    SOFT,
    TEXT,
    YELLOW,
    Row,
    fit,
    padded,
    styled,
    width_of,
)
from .views.environment_rows import action_text

ENDS = ("", "terminated", "truncated")
LEAST_FIRST = ("source", "step", "missing", "place", "next", "end")
"""The parts of the sentence that are left out if it is too long, in this order; of `missing` only the reason.

The action is never left out."""


def scrubber(about: Description, moment: Moment | None, line: RecentSteps | None, back: int, width: int) -> list[Row]:
    """Return two rows: what happened in the step, and where it is among the last ones."""
    if moment is None or line is None:
        return [(styled(f" {SIGNS.paused} paused", SOFT, bold=True),), ()]
    return [padded(_sentence(about, moment, back, width), width), _marks(line, back, width)]


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
    """The parts of a sentence, with dots between them."""
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


def _marks(line: RecentSteps, back: int, width: int) -> Row:
    """The last steps, oldest on the left: positive and negative rewards, ends of episodes, and the cursor."""
    left, right = styled(f" -{len(line.ends)} ", FAINT), styled(" now ", FAINT)
    room = width - width_of((left, right))
    count = len(line.ends) + 1
    if room < 8:
        return ()
    room = min(room, max(8, 2 * count))
    column = np.arange(1, count) * (room - 1) // (count - 1)
    cells = [(SIGNS.track if SIGNS.braille else "-", LINE)] * room
    for at in column[line.rewards > 0].tolist():
        cells[at] = ("╵" if SIGNS.braille else "'", GREEN)
    for at in column[line.rewards < 0].tolist():
        cells[at] = ("╷" if SIGNS.braille else ",", RED)
    for at in column[line.ends > 0].tolist():
        cells[at] = ("┃" if SIGNS.braille else "|", YELLOW)
    cells[(count - 1 - min(back, count - 1)) * (room - 1) // (count - 1)] = (SIGNS.dot, ACCENT)
    return (left, *(styled(letter, color) for letter, color in cells), right)
