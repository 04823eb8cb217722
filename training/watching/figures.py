"""Collects the figures that a watched script logs, from one point of the curves to the next."""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np

from ...envs.printable import printable

MOST, MOST_LATE, MOST_NUMBERED = 512, 64, 32
"""Names that are kept, and further ones of which at most so many differ only in digits."""
MOST_COUNTED = 10_000
"""Names beyond the limit that are told apart, to count them."""
NAME_BYTES, HEAD_BYTES, TAIL_BYTES = 90, 32, 40
OWN = re.compile(r"fps|sps|(return|length)_mean|rate/(done|truncated|reset)|(return|length)/p\d+|info/.*")
"""The names of a session's own figures."""
Figure: TypeAlias = "float | Unread"


class Unread:
    """A number on an accelerator, which is read when a point of the curves is due.

    Args:
        value: An array of one number that nobody changes.
    """

    def __init__(self, value: Any) -> None:
        self._value = value

    def read(self) -> float:
        """Return the number."""
        return float(self._value.item())


def figure_of(value: Any) -> Figure | None:
    """Return a number of Python, or an array or tensor of one number; None for anything else.

    Objects of other types are never asked for a number, since that may run the script's code.
    """
    with suppress(Exception):  # a tensor may be a placeholder without a number
        if isinstance(value, float):
            return float.__float__(value)
        if isinstance(value, int):
            return int.__float__(value)
        if isinstance(value, np.number | np.bool_):
            return float(value)
        if type(value) is np.ndarray:
            return float(value.item()) if value.size == 1 else None
        return _of_tensor(value)
    return None


def _of_tensor(value: Any) -> Figure | None:
    library = type(value).__module__.partition(".")[0]
    if library == "torch":
        torch: Any = sys.modules["torch"]
        if type(value) not in {torch.Tensor, torch.nn.Parameter} or value.numel() != 1:
            return None
        return float(value.detach().item()) if value.device.type == "cpu" else Unread(value.detach().clone())
    if library in {"jax", "jaxlib", "tensorflow"} and math.prod(value.shape) == 1:
        return Unread(value) if hasattr(value, "item") else float(value.numpy().item())
    return None


class LoggedFigures:
    """The figures that a script has logged since the last point of the curves.

    The first 512 names are kept. Of the names that differ only in digits, as `episode_17/return`, the first 32 are kept
    even later, and so are names without digits, up to 64 in all.
    """

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._kinds: Counter[str] = Counter()
        self._others: set[str] = set()
        self._sums: dict[str, tuple[float, int]] = {}
        self._unread: dict[str, Unread] = {}

    def __bool__(self) -> bool:
        """Whether a figure was ever logged."""
        return bool(self._names)

    @property
    def left_out(self) -> int:
        """Number of names that are not kept."""
        return len(self._others)

    def add(self, metrics: Mapping[str, Any]) -> str:
        """Add figures; values that are not numbers are ignored.

        Returns:
            A sentence about names that are not kept, when the first of them was logged; otherwise an empty text.
        """
        said = self.left_out
        for name, value in metrics.items():
            figure = figure_of(value)
            shown = self._shown(name) if figure is not None and isinstance(name, str) else None
            if shown is None:
                continue
            if isinstance(figure, Unread):
                self._unread[shown] = figure
            elif figure is not None:
                total, count = self._sums.get(shown, (0.0, 0))
                self._sums[shown] = total + figure, count + 1
        if said or not self.left_out:
            return ""
        more = self.left_out - 1
        others = f" and {more:,} more" if more else ""
        first = printable(min(self._others))
        return f"the curves of the first {len(self._names)} names are shown: not {first!r}{others}, nor later new names"

    def take(self) -> dict[str, float]:
        """Return the mean of what was logged under each name since the last call; of unread numbers, the newest."""
        sums, self._sums = self._sums, {}
        unread, self._unread = self._unread, {}
        found = {name: total / count for name, (total, count) in sums.items()}
        for name, value in unread.items():
            with suppress(Exception):
                found[name] = value.read()
        return found

    def _shown(self, name: str) -> str | None:
        """Return the name of a curve; None if the name is not kept."""
        shown = self._names.get(name)
        if shown is not None or name in self._others:
            return shown
        kind = re.sub(r"\d+", "#", name)
        few = self._kinds[kind] < MOST_NUMBERED
        if len(self._names) >= MOST + (MOST_LATE if few else 0):
            if len(self._others) < MOST_COUNTED:
                self._others.add(name)
            return None
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
