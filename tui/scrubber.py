"""Where a paused session stands in time: a sentence on the step, and a line of the last ones with a cursor."""

from __future__ import annotations

import numpy as np

from ..training.description import Description
from ..training.past.moments import Line, Moment, Source
from .ink import ACCENT, BRIGHT, FAINT, GREEN, LINE, RED, SIGNS, SOFT, TEXT, YELLOW, Row, padded, part, width_of
from .numbers import decimal, percent, whole
from .views.thoughts import action_text

ENDS = ("", "terminated", "truncated")


def scrubber(about: Description, moment: Moment | None, line: Line | None, back: int, width: int) -> list[Row]:
    """Return two rows: what the step was, and where it is among the last ones."""
    if moment is None or line is None:
        return [(part(f" {SIGNS.paused} paused", SOFT, bold=True),), ()]
    return [padded(_sentence(about, moment, back), width), _marks(line, back, width)]


def _sentence(about: Description, moment: Moment, back: int) -> Row:
    """What the step was, what came of it, and what is decided next."""
    values, sep = moment.values, part(" · ", FAINT)
    if moment.source is Source.WORKING:
        text = f" {_back(back)}: playing again {percent(100 * moment.progress)}"
        return (part(text, YELLOW, bold=True),)
    head = part(f" {_back(back)} ", YELLOW, bold=True) if back else part(f" {SIGNS.paused} paused ", SOFT, bold=True)
    row: Row = (head, part(f"at step {moment.step:,}", BRIGHT))
    if moment.source is Source.MISSING:
        return (*row, sep, part(f"not kept: {moment.note}", YELLOW))
    if moment.info is not None:
        place = f"episode {whole(values['episode'] + 1)}, step {whole(values['episode_length'])}"
        row = (*row, sep, part(place, TEXT))
    if moment.action is not None:
        reward = float(values["reward"])
        color = GREEN if reward > 0 else RED if reward < 0 else SOFT
        taken = (part(action_text(about, moment.action), TEXT), part(" gave ", FAINT), part(decimal(reward), color))
        row = (*row, sep, *taken)
    if values["end"]:
        outcome = int(values["outcome"])
        name = about.outcomes[outcome - 1][0] if outcome else ENDS[int(values["end"])]
        row = (*row, sep, part(f"episode ended: {name}", YELLOW, bold=True))
    if moment.next_action is not None:
        row = (*row, sep, part("next: ", FAINT), part(action_text(about, moment.next_action), BRIGHT))
    if back:
        said = "as it was seen" if moment.source is Source.STORED else "played again"
        row = (*row, sep, part(f"{said}: {moment.note}" if moment.note else said, FAINT))
    return row


def _back(back: int) -> str:
    return f"{back} step{'s' * (back > 1)} back"


def _marks(line: Line, back: int, width: int) -> Row:
    """The last steps, oldest on the left: rewards above and below nothing, ends, and the cursor."""
    left, right = part(f" -{len(line.ends)} ", FAINT), part(" now ", FAINT)
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
    return (left, *(part(letter, color) for letter, color in cells), right)
