"""The values of actions, of a policy that chooses the action with the highest value."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...training.trainer import PolicyOutput
from ..drawing.numbers import decimal, percent
from ..drawing.styles import ACCENT, BRIGHT, CYAN, FAINT, LINE, SIGNS, SOFT, Row, blank, fit, styled
from .number_rows import Entry, pair

NAME, NUMBER, LEAST_STRIP = 14, 9, 6
EXPLAINED = "80 % of returns"


def action_values(output: PolicyOutput, names: Sequence[str], width: int, chosen: int, *, watched: bool) -> list[Row]:
    """Return epsilon, and a row for each of the best actions: its name, its value on a strip and in digits.

    Of a watched script, epsilon is unknown, and so is whether its outputs are values.

    Args:
        output: The policy's output, with `values`.
        names: The names of its actions.
        width: Columns.
        chosen: The action that was taken, which is marked.
        watched: Whether the policy is a watched script's.
    """
    rows = [] if watched else [pair(Entry("epsilon", percent(100 * output.epsilon, 1)), width)]
    name = min(NAME, width // 3)
    room = max(0, width - 2 - name - NUMBER)
    ranges = list(output.ranges) or [(value, value) for value in output.values]
    least = min([*(low for low, _ in ranges), *output.values])
    most = max([*(high for _, high in ranges), *output.values])
    explained = EXPLAINED if output.ranges and room >= len(EXPLAINED) else ""
    rows.append(
        (
            blank(2 + name),
            styled(fit(explained, room), FAINT),
            styled(f"{'output' if watched else 'Q':>{NUMBER}}", FAINT),
        )
    )
    for action, text, value, (low, high) in zip(output.actions, names, output.values, ranges, strict=False):
        marked = int(action) == chosen
        color = BRIGHT if marked else SOFT
        rows.append(
            (
                styled(f"{SIGNS.stepping if marked else ' '} ", ACCENT, bold=marked),
                styled(fit(text, name), color, bold=marked),
                *_strip([_place(number, least, most, room) for number in (low, value, high)], room),
                styled(f"{decimal(float(value), 3):>{NUMBER}}", color, bold=marked),
            )
        )
    return rows


def _place(number: float, least: float, most: float, width: int) -> int:
    """Return the column of a number on a strip from `least` to `most`; the middle if these are equal."""
    share = (number - least) / (most - least) if most > least else 0.5
    return round(share * (width - 1)) if math.isfinite(share) else 0


def _strip(places: list[int], width: int) -> Row:
    """Return a strip with a thick part from the first to the last place and a dot at the middle one."""
    if width < LEAST_STRIP:
        return (blank(width),)
    low, at, high = places
    low, high = min(low, at), max(high, at)
    return (
        styled(SIGNS.track * low, LINE),
        styled(SIGNS.full * (at - low), ACCENT),
        styled(SIGNS.dot, CYAN),
        styled(SIGNS.full * (high - at), ACCENT),
        styled(SIGNS.track * (width - 1 - high), LINE),
    )
