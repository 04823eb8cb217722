"""Numbers as text: with separators, with units, and of a width that does not change all the time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TypeGuard

from ...envs.printable import printable
from ...envs.unknown import is_unknown

NA = "N/A"
STEPS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
ROUNDED_UP = 0.9995
"""A number of at least this many of a unit is rounded up to one: `1M`, not `1000k`."""


def known(value: float | None) -> TypeGuard[float]:
    """Whether a number is finite; others are written by `special`."""
    return value is not None and math.isfinite(value)


def special(value: float | None) -> str:
    """Return `N/A` for an unknown number, and `NaN`, `inf` or `-inf`, which `styled` shows in red."""
    if value is None or is_unknown(value):
        return NA
    return "NaN" if math.isnan(value) else "inf" if value > 0 else "-inf"


def whole(value: float | None) -> str:
    """Return `12,345`."""
    return f"{value:,.0f}" if known(value) else special(value)


def decimal(value: float | None, digits: int = 2) -> str:
    """Return `123.50`, and numbers from 1,000 on without decimals."""
    if not known(value):
        return special(value)
    return steady(value, digits if abs(value) < 1000 else 0)


def steady(value: float, digits: int) -> str:
    """Return `value` with a fixed number of digits, without a minus sign before zero."""
    text = f"{value:,.{digits}f}"
    return text.removeprefix("-") if not text.strip("-0.,") else text


def spoken(name: str) -> str:
    """Return the name of a number as a heading: `updates/s` for `updates_per_second`."""
    return printable(name).replace("_per_second", "/s")


def readable(value: float | None) -> str:
    """Return a number of any size in about seven characters: `0.00030`, `12.5`, `3.20e-05`, `12.30M`."""
    if not known(value):
        return special(value)
    size = abs(value)
    if size >= 1e13:
        return f"{value:.2e}"
    if size >= 1e7:
        return f"{value / 1e6:.2f}M" if size < 1e10 else f"{value / 1e9:.2f}G"
    if value == int(value) or size >= 1000:
        return f"{value:,.0f}"
    return f"{value:.{2 if size >= 10 else 3 if size >= 0.1 else 5}f}" if size >= 1e-4 else f"{value:.1e}"


def alike(values: Iterable[float]) -> Callable[[float], str]:
    """Return what formats the numbers of a column, with as many digits as the largest of `values` needs.

    Numbers of which all are integers, or all are small, or some are in millions, are formatted as by `readable`.
    """
    found = [value for value in values if known(value)]
    largest = max(map(abs, found), default=0.0)
    if not 0.1 <= largest < 1e7 or all(value == int(value) for value in found):
        return readable
    digits = 0 if largest >= 1000 else 2 if largest >= 10 else 3
    return lambda value: steady(value, digits) if known(value) else special(value)


def short(value: float) -> str:
    """Return `1.23M`, `123.4M`, for axes and narrow columns: up to six characters and a sign."""
    if not known(value):
        return special(value)
    for size, letter in STEPS:
        if abs(value) >= ROUNDED_UP * size:
            text = f"{value / size:.{2 if abs(value) < 10 * size else 1}f}".rstrip("0").rstrip(".")
            return f"{text}{letter}"
    return f"{value:.3g}"


def headline(value: float) -> str:
    """Return `0.890`, `31.78`, `317.8`, `12.3k`, for large digits: four significant ones, or as `short`."""
    size = abs(value)
    if not known(value) or size >= 1000 or 0 < size < 1e-3:
        return short(value)
    return steady(value, 1 if size >= 100 else 2 if size >= 10 else 4 if 0 < size < 0.1 else 3)


def percent(value: float | None, digits: int = 0) -> str:
    """Return `12 %`; `value` is in percent."""
    return f"{value:.{digits}f} %" if known(value) else special(value)


def times(value: float | None) -> str:
    """Return `3.21x`."""
    return f"{value:,.2f}x" if known(value) else special(value)


def clock(seconds: float) -> str:
    """Return `1:02:03`."""
    total = int(max(0.0, seconds)) if known(seconds) else 0
    return f"{total // 3600}:{total // 60 % 60:02}:{total % 60:02}"


def age(seconds: float) -> str:
    """Return a long time in a suitable unit: `12 s`, `5 min`, `3 h`, `2 d`."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"


def duration(seconds: float) -> str:
    """Return a short time in a suitable unit: `12.3 us`, `4.56 ms`, `1.20 s`."""
    if not known(seconds):
        return special(seconds)
    for scale, unit in ((1.0, "s"), (1e-3, "ms")):
        if abs(seconds) >= scale:
            return f"{seconds / scale:.2f} {unit}"
    return f"{steady(seconds * 1e6, 1)} us"
