"""Round values on the axes of charts, and their labels."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from .numbers import clock, short

Ends: TypeAlias = tuple[float, float]
"""The places of the two ends of an axis. On a logarithmic axis, a value's place is its decimal logarithm."""

STEPS = (1, 2, 5)
SECONDS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)
GAPS = (3, 2, 1)
"""Lines between two labels of the y axis, best first."""
MOST = 6
"""Steps between labels of the y axis of a high chart, and half as many as those of the x axis of a wide one."""
WIDEST = 4 / 3
"""By how much an axis may be widened."""
ENOUGH = {False: 2, True: 3}
"""Labels of an axis, by whether it is logarithmic."""


def place_of(value: float, *, log: bool) -> float:
    """Return the place of a value on an axis."""
    return math.log10(value) if log else value


def value_at(place: float, *, log: bool) -> float:
    """Return the value at a place of an axis."""
    return float(10.0**place) if log else place


def spelled(value: float, unit: str) -> str:
    """Return the label of a value of the x axis; without a unit, it is in seconds."""
    return short(value) if unit else clock(value).removeprefix("0:")


def evened(axis: Ends, tall: int) -> Ends:
    """Return a linear y axis of `tall` lines, a little wider if round values are whole lines apart then."""
    first, last = axis
    span, least = last - first, max(GAPS[0], tall // MOST)
    if not 0 < span < math.inf or tall <= ENOUGH[False] * least:
        return axis
    found: list[Ends] = []
    for gap in range(least, 2 * least):  # with a larger one, `levels` would find smaller steps
        step = _round_step(span * gap / (tall - 1), time=False)
        low = math.floor(first / step * gap + 1e-9) * step / gap
        high = low + step / gap * (tall - 1)
        labels = math.floor(high / step + 1e-9) - math.ceil(low / step - 1e-9) + 1
        if last - 1e-9 * span <= high <= low + WIDEST * span and labels >= ENOUGH[False]:
            found.append((low, high))
    return min(found, key=lambda ends: ends[1] - ends[0], default=axis)


def levels(axis: Ends, tall: int, *, log: bool) -> dict[int, float]:
    """Return the values to label on a y axis of `tall` lines, by line from below."""
    found: dict[int, float] = {}
    for gap in (max(GAPS[0], tall // MOST), *GAPS):
        for values in round_values(axis, gap / max(1, tall - 1), log=log):
            places = _cells(values, axis, tall, log=log)
            if len(places) > len(found) and all(b - a >= gap for a, b in zip(places, list(places)[1:], strict=False)):
                found = places
        if len(found) >= ENOUGH[log]:
            break
    return found


def foot(axis: Ends, width: int, unit: str, *, log: bool) -> tuple[str, str]:
    """Return the x axis with marks, and the labels of as many marks as fit, the last one with the unit."""
    longest = max(len(spelled(value_at(end, log=log), unit)) for end in axis)
    marks: Mapping[int, str] = {}
    labels = " " * width
    for values in round_values(axis, max((longest + 3) / width, 1 / (2 * MOST)), log=log, time=not unit):
        places = {cell: spelled(value, unit) for cell, value in _cells(values, axis, width, log=log).items()}
        line = _labeled(places, unit, width)
        if len(line.split()) > len(labels.split()):
            marks, labels = places, line
        if len(labels.split()) > ENOUGH[log]:
            break
    return "".join("┴" if cell in marks else "─" for cell in range(width)), labels


def _cells(values: Sequence[float], axis: Ends, count: int, *, log: bool) -> dict[int, float]:
    """Return values by the cells of an axis in which they are."""
    first, last = axis
    span = (last - first) or 1.0
    return {round((place_of(value, log=log) - first) / span * (count - 1)): value for value in values}


def round_values(axis: Ends, least: float, *, log: bool = False, time: bool = False) -> Iterator[list[float]]:
    """Yield sets of round values on an axis, rising: powers of ten on a logarithmic one, and multiples of 1, 2 or 5.

    Args:
        least: The least distance of multiples, as a share of the axis.
        log: Whether it is logarithmic.
        time: Whether they are multiples of seconds, minutes and hours instead.
    """
    if log:
        powers = range(math.floor(axis[0]), math.ceil(axis[1]) + 1)
        for steps in (STEPS[:1], STEPS):
            fine = (step * 10.0**power for power in powers for step in steps)
            yield [value for value in fine if axis[0] <= math.log10(value) <= axis[1]]
    low, high = (value_at(end, log=log) for end in axis)
    step = _round_step((high - low) * least, time=time)
    if step > 0:
        yield [step * at for at in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def _round_step(least: float, *, time: bool) -> float:
    if not 0 < least < math.inf:
        return 0.0
    if time and least <= SECONDS[-1]:
        return next(step for step in SECONDS if step >= least)
    power = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in (*STEPS, 10) if step * power >= least * (1 - 1e-9))


def _labeled(places: Mapping[int, str], unit: str, width: int) -> str:
    """The line of the labels that fit, each below its cell. The unit is after the last one."""
    line, free = " " * width, width
    for cell, text in reversed(list(places.items())):
        last = free == width and unit and len(text) + len(unit) < width
        name = f"{text} {unit}" if last else text
        start = max(0, min(cell - len(text) // 2, width - len(name)))
        if start + len(name) <= free:
            line = line[:start] + name + line[start + len(name) :]
            free = start - 2
    return line
