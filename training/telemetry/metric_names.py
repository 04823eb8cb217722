"""The names of metrics. A metric of learner k other than 0 is called `learnerK/NAME`, here and in `metrics.jsonl`."""

from __future__ import annotations

import re
from functools import lru_cache

LEARNER = re.compile(r"learner([1-9][0-9]*)/(.+)")


@lru_cache(maxsize=2048)
def split_metric_name(name: str) -> tuple[int, str]:
    """Return the learner that a metric belongs to, and what the learner calls it."""
    found = LEARNER.fullmatch(name)
    return (int(found[1]), found[2]) if found else (0, name)


def metric_name(learner: int, name: str) -> str:
    """Return the name of a learner's metric."""
    return f"learner{learner}/{name}" if learner else name
