"""How a record of the telemetry is declared: once, with the dtype of each field and the numbers that it may contain.

The layout of a block, its writer, its reader, its copy on another machine and the check of what was read follow from
the declaration. Segments also come from other machines and from killed sessions, so `TelemetryReader.read` checks every
record. What uses a record does not check it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from math import inf
from typing import Any, NamedTuple

import numpy as np

from ...envs import PacError
from ...envs.fields import Array

MOST_SECONDS = 1e11
"""Of times since the epoch or since the start of the machine: 3,000 years."""
COUNT = "_count"
"""What the name of a list's length ends with."""


class Range(NamedTuple):
    """The smallest and the largest value of a number, and whether it may be NaN, which is unknown."""

    low: float
    high: float
    nan: bool = False


ANY = Range(-inf, inf, nan=True)
"""Of a number that is only shown. One that counts or indexes something has a limit."""
AMOUNT = Range(-1e18, 1e18)
RATE = AMOUNT._replace(nan=True)
TIME = Range(0, MOST_SECONDS)
SHARE = Range(0, 1, nan=True)
FLAG = Range(0, 1)
FROM_0, FROM_NONE = Range(0, inf), Range(-1, inf)
OUTCOME = Range(0, np.nan)
"""Of a number that is 0, or 1 + an index into the outcomes of the session's description."""


class DamagedTelemetry(PacError):
    """A block contains what no session writes."""

    title = "Damaged telemetry"


def one_of(kind: type[IntEnum]) -> Range:
    """Return the range of an enumeration."""
    return Range(min(kind), max(kind))


class Declared(NamedTuple):
    """A field of a record, see `number`, `text` and `several`."""

    name: str
    dtype: Any
    shape: tuple[int, ...] = ()
    range: Range | None = None
    is_list: bool = False


def number(name: str, dtype: Any, allowed: Range, shape: tuple[int, ...] = ()) -> Declared:
    """Declare a number, or an array of numbers."""
    return Declared(name, dtype, shape, allowed)


def text(name: str, size: int, shape: tuple[int, ...] = ()) -> Declared:
    """Declare a text of at most `size` bytes of UTF-8."""
    return Declared(name, f"S{size}", shape)


def several(name: str, dtype: str, allowed: Range, most: int, shape: tuple[int, ...] = ()) -> Declared:
    """Declare a list of up to `most` numbers or arrays of numbers."""
    return Declared(name, dtype, (most, *shape), allowed, is_list=True)


class Record:
    """A record of the telemetry.

    Args:
        fields: Its fields, in order.

    Attributes:
        dtype: The dtype of a block with such records.
        ranges: Which numbers a field may contain; of a list, also how long it is.
    """

    def __init__(self, *fields: Declared) -> None:
        self._lists = {item.name: item.shape[0] for item in fields if item.is_list}
        counts = [number(name + COUNT, "u2", Range(0, most)) for name, most in self._lists.items()]
        self.dtype = np.dtype([(item.name, item.dtype, item.shape) for item in (*fields, *counts)])
        self.ranges = {item.name: item.range for item in (*fields, *counts) if item.range is not None}

    def put(self, record: Array, values: Mapping[str, Any]) -> None:
        """Write the values of some fields into a record. Texts and lists may be cut."""
        for name, value in values.items():
            if name in self._lists:
                count = record[name + COUNT] = min(len(value), self._lists[name])
                if count:
                    record[name][:count] = value[:count]
            else:
                record[name] = encode_clipped(value, self.dtype[name].itemsize) if isinstance(value, str) else value

    def get(self, record: Array) -> dict[str, Any]:
        """Return the values of a record's fields, as Python's, by name."""
        values = dict(zip(self.dtype.names or (), map(_plain, record.tolist()), strict=True))
        lists = {name: values[name][: values.pop(name + COUNT)].tolist() for name in self._lists}
        return values | lists

    def limits(self, outcomes: int) -> dict[str, Range]:
        """Return the ranges that have a limit, in a session with so many outcomes."""
        known = {name: Range(0, outcomes) if allowed is OUTCOME else allowed for name, allowed in self.ranges.items()}
        return {name: allowed for name, allowed in known.items() if allowed != ANY}


def _plain(value: Any) -> Any:
    return decoded(value) if isinstance(value, bytes) else value


def decoded(encoded: bytes) -> str:
    """Return a text that `encode_clipped` has encoded."""
    return encoded.decode(errors="replace")


def encode_clipped(text: str, size: int) -> bytes:
    """Return a text as at most `size` bytes of UTF-8; one that was cut ends with an ellipsis."""
    encoded, more = text.encode(errors="backslashreplace"), "…".encode()
    return encoded if len(encoded) <= size else encoded[: size - len(more)].decode(errors="ignore").encode() + more


def check_record(block: str, found: Array, limits: Mapping[str, Range]) -> None:
    """Check what was read of a block of records.

    Raises:
        DamagedTelemetry: A field is outside of its range.
    """
    for field, (low, high, nan) in limits.items():
        values = found[field]
        outside = ~((values >= low) & (values <= high))
        if nan and values.dtype.kind == "f":
            outside &= ~np.isnan(values)
        if outside.any():
            given = np.asarray(values)[outside].flat[0]
            raise DamagedTelemetry(f"{block} has the {field} {given}, expected {low:g} to {high:g}")
