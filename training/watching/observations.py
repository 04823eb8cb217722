"""What the environments of a watched script observe: its parts by name, as numbers, pictures, grids and text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...envs import Field, Panel
from ...envs.fields import Array
from ...envs.spaces.actions import dotted, named
from ...envs.spaces.drawing import MOST_BARS, is_picture, pixels, story_panel, text_panel
from ...envs.spaces.names import labels_of
from ...envs.spaces.pictures import seen

NUMERIC = "biuf"
"""The kinds of dtypes that contain numbers."""
Path: TypeAlias = tuple[str | int, ...]
Ranges: TypeAlias = Mapping[str, tuple[int, int]]
NAMELESS: Ranges = {}
MOST_PARTS, DEEPEST = 64, 8
"""The most parts of an observation that are looked at, and the most Dicts and Tuples around one."""
LEAST_GRID, MOST_GRID, MOST_PLANES = 3, 32, 16
"""The least and most cells of a grid in each direction, and its most planes."""
MOST_ACROSS = 64  # columns of planes beside each other
HUES = (32, 33, 36, 35, 34, 31)
"""The colors of the numbers 1, 2, 3 and so on in a grid."""


def each_part(whole: Any, make: Any) -> Any:
    """Return an observation or action with `make` called for each part, whatever Dicts and Tuples it is made of."""
    if isinstance(whole, Mapping):
        return {name: each_part(part, make) for name, part in whole.items()}
    if isinstance(whole, tuple):
        return tuple(each_part(part, make) for part in whole)
    return make(whole)


def host_array(batch: Any) -> Array:
    """Return a batch as an array of NumPy, wherever it is stored.

    Raises:
        Exception: It is no array, or the library that it belongs to refuses.
    """
    if isinstance(batch, np.ndarray):
        return batch
    if hasattr(batch, "detach"):  # PyTorch
        batch = batch.detach().cpu()
        return np.asarray((batch.float() if str(batch.dtype) == "torch.bfloat16" else batch).numpy())
    if hasattr(batch, "get") and type(batch).__module__.partition(".")[0] == "cupy":
        return np.asarray(batch.get())
    return np.asarray(batch)


def row_of(batch: Any, env: int, count: int) -> Any:
    """Return what one environment observes, out of a batch.

    Only this row is copied to the host, from arrays of any library.

    Args:
        batch: Arrays with one row per environment, in any Dicts and Tuples; or a list of N observations, or a tuple of
            N observations that are not arrays.
        env: The environment.
        count: Number of environments N, by which a tuple of N observations is recognized.

    Returns:
        The observation, whose arrays are NumPy's; None in place of what is missing.
    """
    if isinstance(batch, Mapping):
        return {name: row_of(part, env, count) for name, part in batch.items()}
    if isinstance(batch, tuple) and _has_rows(batch, count):
        return tuple(row_of(part, env, count) for part in batch)
    try:
        row = batch[env]
        if not isinstance(batch, list | tuple):
            return host_array(row)
        return each_part(row, lambda part: host_array(part) if hasattr(part, "shape") else part)
    except Exception:  # of a class of the script or of another library
        return None


def _has_rows(batch: Any, count: int) -> bool:
    """Whether all parts of a batch are arrays with so many rows. Otherwise, a tuple has an observation of each row."""
    if isinstance(batch, Mapping | tuple):
        parts = batch.values() if isinstance(batch, Mapping) else batch
        return bool(parts) and all(_has_rows(part, count) for part in parts)
    return tuple(getattr(batch, "shape", ())[:1]) == (count,)


def _parts_of(observation: Any, path: Path = ()) -> Iterator[tuple[Path, str | Array]]:
    """Yield the parts of an observation that are text or numbers, with the keys of the Dicts and Tuples around them."""
    if len(path) < DEEPEST and isinstance(observation, Mapping | tuple):
        pairs = observation.items() if isinstance(observation, Mapping) else enumerate(observation)
        for key, part in islice(pairs, MOST_PARTS):
            yield from _parts_of(part, (*path, key))
    elif (found := observation if isinstance(observation, str) else numbers_of(observation)) is not None:
        yield path, found


def numbers_of(part: Any) -> Array | None:
    """Return a part as numbers; None if it is something else, such as bytes or numbers of more than 64 bits."""
    try:
        numbers = host_array(part)
    except Exception:  # of a class of the script or of another library
        return None
    return numbers if numbers.dtype.kind in NUMERIC and numbers.size else None


class ObservationParts:
    """The parts of observations, which are alike in all environments: what boards show, and the first numbers.

    A part whose shape has changed is not shown from then on, as its numbers have no fixed meaning.

    Args:
        observation: What one environment observes.
        notes: Gets a sentence about each part whose shape has changed.
        without: Parts that are not shown.
        names: Named ranges of an observation that is a vector.

    Attributes:
        field: The numbers that are shown: the first ones of all parts but those that are shown in another way.
        labels: A name for each number.
        vector: How many of its first numbers are shown, if the whole observation is one array; else 0.
        slices: The ranges of named parts.
        boards: How observations are drawn: the first picture, grid and text, and the numbers.
        unfit: The parts that are not shown.
        changed: An observation for which `boards` are not made any more; None if there was none.
    """

    def __init__(
        self, observation: Any, notes: list[str], without: Iterable[Path] = (), names: Ranges = NAMELESS
    ) -> None:
        self._notes, self.unfit = notes, set(without)
        self.changed: Any = None
        parts = {path: part for path, part in _parts_of(observation) if path not in self.unfit}
        self._shapes = {path: part.shape for path, part in parts.items() if not isinstance(part, str)}
        shown = {path: _shown(part) for path, part in parts.items()}
        paths = {name: path for path, (name, _) in reversed(shown.items())}
        self._paths: dict[str, Path] = {name: paths[name] for name in ("seen", "cells", "story") if name in paths}
        self.boards = [_board_of(name, path, shown[path][1]) for name, path in self._paths.items()]
        self._places: dict[Path, slice] = {}
        labels: list[str] = []
        for path, shape in self._shapes.items():
            if len(labels) < MOST_BARS and (not path or path not in self._paths.values()):
                count = min(MOST_BARS, math.prod(shape))
                own = named(path, count)[: MOST_BARS - len(labels)] if path else labels_of(names, count)
                self._places[path] = slice(len(labels), len(labels) + len(own))
                labels += own
        self.labels = tuple(labels)
        self.vector = len(labels) if () in self._places else 0
        self.field = Field("observation", "float32", (len(labels),), per="seat")
        self.slices = {dotted(path): (place.start, place.stop) for path, place in self._places.items() if path}
        if () in self._places:
            kept = len(labels)
            self.slices = {name: (first, min(last, kept)) for name, (first, last) in names.items() if first < kept}
        if labels and (() not in self._places or not self.boards):
            bars = Field("bars", "float32", (len(labels),), timed=False)
            self.boards.append((Panel("bars", "Observation", "bars", self.labels), bars))

    def numbers(self, observation: Any) -> NDArray[np.float32]:
        """Return the numbers of an observation that are shown; of a part that is missing or has changed, 0."""
        found, numbers = self._fitting(observation), np.zeros(len(self.labels), np.float32)
        with np.errstate(all="ignore"):
            for path, place in self._places.items():
                if isinstance(part := found.get(path), np.ndarray):
                    numbers[place] = part.ravel()[: place.stop - place.start]
        return numbers

    def shown(self, name: str, observation: Any) -> str | Array | None:
        """Return what a board shows of an observation: text, a picture `(H, W, 3)` or numbers; None if it is missing.

        Args:
            name: The name of the board's field.
            observation: The observation; of a stack of frames, the newest is shown.
        """
        if name == "bars":
            return self.numbers(observation)
        part = self._fitting(observation).get(self._paths[name])
        found, shown = ("", None) if part is None else _shown(part)
        return shown if found == name else None

    def _fitting(self, observation: Any) -> dict[Path, str | Array]:
        """Return the parts that have the shapes that they had at first, and take note of the others."""
        found = dict(_parts_of(observation))
        for path, was in self._shapes.items():
            part = found.get(path)
            if isinstance(part, np.ndarray) and part.shape != was and path not in self.unfit:
                self.unfit.add(path)
                self.changed = observation
                what = f"{dotted(path)} of the observation" if path else "the observation"
                self._notes.append(f"{what} had shape {was}, now {part.shape}: it is no longer shown")
        return {path: part for path, part in found.items() if path not in self.unfit}


def _shown(part: str | Array) -> tuple[str, str | Array]:
    """Return which board shows a part best, and what it shows: text, a picture `(H, W, 3)` or numbers."""
    if isinstance(part, str):
        return "story", part
    if (planes := _planes(part)) is not None:
        return "cells", grid_text(planes)
    found = seen(part.shape, str(part.dtype), *_range_of(part))
    return ("seen", found.picture(part)) if found is not None else ("bars", part)


def _board_of(name: str, path: Path, shown: Any) -> tuple[Panel, Field]:
    title = dotted(path) or "Observation"
    if name == "seen":
        return pixels(title, name, shown.shape)
    panel, field = story_panel(title, name) if name == "story" else text_panel(title, name, shown)
    return replace(panel, close=True), field


def _range_of(part: Array) -> tuple[float, float]:
    """Return the range of the numbers of a part: from 0 to 1, or if some are negative from -1, or more if needed."""
    with np.errstate(all="ignore"):
        numbers = np.nan_to_num(part.astype(np.float32), posinf=0, neginf=0)
        low, high = float(numbers.min()), float(numbers.max())
    return (min(-1.0, low) if low < 0 else 0.0), max(1.0, high)


def _planes(part: Array) -> Array | None:
    """Return a grid of whole numbers `(H, W)`, or a few planes of such, as `(P, H, W)`; None if it is none.

    Bytes that are large enough for a picture are one.
    """
    picture = part.dtype == np.uint8 and is_picture(part.shape)
    if part.dtype.kind not in "biu" or part.ndim not in {2, 3} or picture:
        return None
    planes = np.atleast_3d(part)
    height, width, last = planes.shape
    if last <= height and (last != width or width == height):
        planes = np.moveaxis(planes, -1, 0)
    sides = planes.shape[1:]
    return planes if len(planes) <= MOST_PLANES and min(sides) >= LEAST_GRID and max(sides) <= MOST_GRID else None


def grid_text(planes: Array) -> str:
    """Return planes `(P, H, W)` beside each other as text, a number in each cell, in the color of its value."""
    width = 1 + max(len(str(int(planes.min()))), len(str(int(planes.max()))))
    across = max(1, MOST_ACROSS // (planes.shape[2] * width + 1))
    drawn = [["".join(_cell(number, width) for number in row) for row in plane] for plane in planes.tolist()]
    blocks = [zip(*drawn[first : first + across], strict=True) for first in range(0, len(drawn), across)]
    return "\n\n".join("\n".join(map("  ".join, block)) for block in blocks)


def _cell(number: int, width: int) -> str:
    text = f"{int(number):>{width}}"
    return f"\x1b[{HUES[(number - 1) % len(HUES)]}m{text}\x1b[0m" if number else text
