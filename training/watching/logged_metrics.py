"""Collects the metrics that a watched script logs, from one point of the curves to the next."""

from __future__ import annotations

import math
import re
import threading
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from zlib import crc32

import numpy as np

from ...envs.printable import printable

MOST, MOST_LATE, MOST_NUMBERED = 512, 64, 32
"""Names that are kept, and further ones of which at most so many differ only in digits."""
NAME_BYTES, HEAD_BYTES, TAIL_BYTES = 90, 32, 40
OWN = re.compile(r"fps|sps|(return|length)_mean|rate/(done|truncated|reset)|(return|length)/p\d+|info/.*")
"""The names of a session's own metrics."""


def figure_of(value: Any) -> Any:
    """Return a number of Python, or an array or tensor of one number; None for anything else.

    It is a `float`, unless it is on an accelerator: then it is an array that nobody changes, to be read when a point of
    the curves is due. Objects of other types are never asked for a number, since that may run the script's code.
    """
    with suppress(Exception):  # a tensor may be a placeholder without a number
        library = type(value).__module__.partition(".")[0]
        if isinstance(value, float):
            return float.__float__(value)
        if isinstance(value, int):
            return int.__float__(value)
        if isinstance(value, np.number | np.bool_) or (type(value) is np.ndarray and value.size == 1):
            return float(value.item())
        if library == "torch" and type(value).__name__ in {"Tensor", "Parameter"} and value.numel() == 1:
            return float(value.detach().item()) if value.device.type == "cpu" else value.detach().clone()
        if library in {"jax", "jaxlib", "tensorflow"} and math.prod(value.shape) == 1:
            return value if hasattr(value, "item") else float(value.numpy().item())
    return None


class LoggedMetrics:
    """The metrics that a script has logged since the last point of the curves.

    The first 512 names are kept. Of the names that differ only in digits, as `episode_17/return`, the first 32 are kept
    even later, and so are names without digits, up to 64 in all.
    """

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._kinds: Counter[str] = Counter()
        self._said = False
        self._sums: dict[str, tuple[float, int]] = {}
        self._unread: dict[str, Any] = {}
        # Any thread of the script may log, and the one that steps takes. A number may be of a class that logs itself.
        self._lock = threading.RLock()

    def __bool__(self) -> bool:
        """Whether a metric was ever logged."""
        return bool(self._names)

    def add(self, metrics: Mapping[str, Any]) -> str:
        """Add metrics; values that are not numbers are ignored.

        Returns:
            A sentence about names that are not kept, when the first of them was logged; otherwise an empty text.
        """
        left_out = []
        for name, value in metrics.items():
            metric = figure_of(value)
            if metric is None or not isinstance(name, str):
                continue
            with self._lock:
                shown = self._names.get(name) or self._new(name)
                if not shown:
                    left_out.append(name)
                elif isinstance(metric, float):
                    total, count = self._sums.get(shown, (0.0, 0))
                    self._sums[shown] = total + metric, count + 1
                else:
                    self._unread[shown] = metric
        if self._said or not left_out:
            return ""
        self._said = True
        others = f" and {len(left_out) - 1:,} more" if len(left_out) > 1 else ""
        first = printable(left_out[0])
        return f"the curves of the first {len(self._names)} names are shown: not {first!r}{others}, nor later new names"

    def take(self) -> dict[str, float]:
        """Return the mean of what was logged under each name since the last call; of unread numbers, the newest."""
        with self._lock:
            sums, unread, self._sums, self._unread = self._sums, self._unread, {}, {}
        found = {name: total / count for name, (total, count) in sums.items()}
        for name, metric in unread.items():
            with suppress(Exception):
                found[name] = float(metric.item())
        return found

    def _new(self, name: str) -> str:
        """Return the name of a new curve; an empty text if it is not kept."""
        kind = re.sub(r"\d+", "#", name)
        if len(self._names) >= MOST + (MOST_LATE if self._kinds[kind] < MOST_NUMBERED else 0):
            return ""
        self._kinds[kind] += 1
        self._names[name] = shown = _fitting(f"{name} (logged)" if OWN.fullmatch(name) else name)
        return shown


def _fitting(name: str) -> str:
    """Return a name as printable text of at most `NAME_BYTES`; of a longer one, the beginning, the end and a hash."""
    text = printable(name)
    encoded = text.encode()
    if len(encoded) <= NAME_BYTES:
        return text
    head, tail = (part.decode(errors="ignore") for part in (encoded[:HEAD_BYTES], encoded[-TAIL_BYTES:]))
    return f"{head}...{tail} {crc32(encoded):08x}"
