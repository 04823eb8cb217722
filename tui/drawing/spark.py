"""A curve in one line of text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import mean

BLOCKS, PLAIN_BLOCKS = "▁▂▃▄▅▆▇█", "_.-~=^"
COLUMNS = 16


def sparkline(values: Sequence[float], *, log: bool = False, blocks: str = BLOCKS) -> str:
    """Return values as blocks whose heights go from the lowest to the highest value, or to their logarithms."""
    known = [value for value in values if math.isfinite(value) and (value > 0 or not log)]
    if not known:
        return ""
    count = min(COLUMNS, len(known))
    places = [math.log(value) for value in known] if log else known
    means = [mean(places[k * len(places) // count : (k + 1) * len(places) // count]) for k in range(count)]
    low, span = min(means), (max(means) - min(means)) or 1.0
    return "".join(blocks[round((value - low) / span * (len(blocks) - 1))] for value in means)
