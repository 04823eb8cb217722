"""Conversion of data for JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ..envs.unknown import is_unknown, spelled

NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def jsonable(value: Any) -> Any:
    """Return data with None for unknown numbers; NaN and infinity, which JSON does not have, become text."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None if is_unknown(value) else spelled(value)
    if isinstance(value, Mapping):
        return {key: jsonable(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(part) for part in value]
    return value
