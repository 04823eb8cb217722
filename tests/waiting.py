"""How tests wait for what other threads and processes do: for a condition, as long as only a fault takes."""

import time
from collections.abc import Callable
from typing import TypeVar

LIMIT = 60.0  # s

Found = TypeVar("Found")


def until(condition: Callable[[], Found], what: str = "a condition", limit: float = LIMIT) -> Found:
    """Call a condition until what it returns is true; return that. It fails after `limit` seconds."""
    end = time.monotonic() + limit
    while not (found := condition()):
        assert time.monotonic() < end, f"not within {limit:.0f} s: {what}"
        time.sleep(0.005)
    return found
