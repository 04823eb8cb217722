"""What the environments of a watched script observe: its parts by name, as numbers, pictures, grids and text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...envs import Field
from ...envs.fields import Array
from ...envs.spaces.drawing import MOST_BARS, in_color, is_picture, picture_shape
from ...envs.spaces.kinds import dotted, named

NUMERIC = "biuf"
"""The kinds of dtypes that contain numbers."""
Path: TypeAlias = tuple[str | int, ...]
MOST_PARTS, DEEPEST = 64, 8
"""The most parts of an observation that are looked at, and the most Dicts and Tuples around one."""


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
        batch = batch.detach()
        batch = batch.cpu() if str(batch.dtype) != "torch.bfloat16" else batch.float().cpu()
        return np.asarray(batch.numpy())
    if hasattr(batch, "get") and type(batch).__module__.partition(".")[0] == "cupy":
        return np.asarray(batch.get())
    return np.asarray(batch)


def row_of(batch: Any, env: int, count: int | None = None) -> Any:
    """Return what one environment observes, out of a batch.

    Only this row is copied to the host, from arrays of any library.

    Args:
        batch: Arrays with one row per environment, in any Dicts and Tuples; or a list of N observations, or a tuple of
            N observations that are not arrays.
        env: The environment.
        count: Number of environments N, by which a tuple of N observations is recognized; None if it is unknown.

    Returns:
        The observation, whose arrays are NumPy's; None in place of what is missing.
    """
    if isinstance(batch, Mapping):
        return {name: row_of(part, env, count) for name, part in batch.items()}
    if isinstance(batch, tuple) and _are_batches(batch, count):
        return tuple(row_of(part, env, count) for part in batch)
    try:
        row = batch[env]
        return each_part(row, _on_host) if isinstance(batch, list | tuple) else host_array(row)
    except Exception:  # of a class of the script or of another library
        return None


def _are_batches(parts: tuple[Any, ...], count: int | None) -> bool:
    """Whether the parts of a tuple are batches with equally many rows, and not one observation each."""
    rows = {_rows(part) for part in parts}
    return len(rows) == 1 and 0 not in rows and (count is None or count in rows)


def _rows(part: Any) -> int:
    """Return the number of rows of a batch; 0 for text and objects."""
    if isinstance(part, Mapping | tuple) and part:
        inner = {_rows(item) for item in (part.values() if isinstance(part, Mapping) else part)}
        return inner.pop() if len(inner) == 1 else 0
    shape: Any = getattr(part, "shape", ())
    return int(shape[0]) if len(shape) else 0


def _on_host(part: Any) -> Any:
    return host_array(part) if hasattr(part, "shape") else part


def parts_of(observation: Any, path: Path = ()) -> Iterator[tuple[Path, Array]]:
    """Yield the parts of an observation that are numbers, with the keys of the Dicts and Tuples around them."""
    for at, part in _leaves(observation, path):
        if (numbers := _numbers_of(part)) is not None:
            yield at, numbers


def _leaves(observation: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield the simple parts of an observation."""
    if len(path) >= DEEPEST or not isinstance(observation, Mapping | tuple):
        yield path, observation
        return
    keys: Iterable[Any] = getattr(observation, "_fields", range(len(observation)))
    pairs = observation.items() if isinstance(observation, Mapping) else zip(keys, observation, strict=False)
    for index, (key, part) in enumerate(pairs):
        if index == MOST_PARTS:
            break
        yield from _leaves(part, (*path, key))


def _numbers_of(part: Any) -> Array | None:
    """Return a part as numbers; None if it is something else, such as text or numbers of more than 64 bits."""
    if part is None or isinstance(part, str | bytes):
        return None
    try:
        numbers = host_array(part)
    except Exception:  # of a class of the script or of another library
        return None
    return numbers if numbers.dtype.kind in NUMERIC and numbers.size else None


@dataclass(frozen=True)
class _NumberPart:
    """A part that is shown as numbers: where they are among all numbers that are shown."""

    path: Path
    lo: int
    hi: int


class ObservationParts:
    """The parts of observations, which are alike in all environments.

    A part whose shape has changed is not shown from then on, as its numbers have no fixed meaning.

    Args:
        observation: What one environment observes.
        without: Parts that are not shown.

    Attributes:
        field: The numbers that are shown: the first ones of all parts but the picture.
        labels: A name for each number.
        slices: The ranges of named parts.
        picture: The size of the picture that is shown, `(H, W)`; None if there is none.
        picture_name: The name of the part that it is; empty if it is the whole observation.
        grid: The first part that is a small grid of whole numbers: its text; None if there is none.
        grid_name: The name of that part.
        story: The first part that is text; None if there is none.
        story_name: The name of that part.
        changed: Which parts have changed their shape, in a sentence; empty if none has.
        unfit: Their paths.
    """

    def __init__(self, observation: Any, without: Iterable[Path] = ()) -> None:
        self.unfit, self.changed = set(without), ""
        parts = {path: part for path, part in parts_of(observation) if path not in self.unfit}
        texts = [path for path, part in _leaves(observation) if isinstance(part, str)]
        self._shapes = {path: part.shape for path, part in parts.items()}
        self._picture = next((path for path, part in parts.items() if _is_shown_as_picture(part)), None)
        self._grid = next((path for path, part in parts.items() if is_grid(part)), None)
        self._story = next(iter(texts), None)
        self.picture = None if self._picture is None else picture_shape(parts[self._picture].shape)
        self.picture_name, self.grid_name = dotted(self._picture or ()), dotted(self._grid or ())
        self.story_name = dotted(self._story or ())
        self.grid = None if self._grid is None else grid_text(parts[self._grid])
        self.story = None if self._story is None else self.text(observation)
        self._numbers: list[_NumberPart] = []
        labels: list[str] = []
        for path, part in parts.items():
            if len(labels) < MOST_BARS and (path not in {self._picture, self._grid} or not path):
                names = named(path, part.size)[: MOST_BARS - len(labels)] if path else _indices(part)
                self._numbers.append(_NumberPart(path, len(labels), len(labels) + len(names)))
                labels += names
        self.labels = tuple(labels)
        self.field = Field("observation", "float32", (len(self.labels),), per="seat")
        self.slices = {dotted(part.path): (part.lo, part.hi) for part in self._numbers if part.path}

    def numbers(self, observation: Any) -> NDArray[np.float32]:
        """Return the numbers of an observation that are shown; of a part that is missing or has changed, 0."""
        found, numbers = self._fitting(observation), np.zeros(len(self.labels), np.float32)
        with np.errstate(all="ignore"):
            for part in self._numbers:
                if part.path in found:
                    numbers[part.lo : part.hi] = np.ravel(found[part.path])[: part.hi - part.lo]
        return numbers

    def in_color(self, observation: Any) -> NDArray[np.uint8] | None:
        """Return the picture in an observation, `(H, W, 3)`: the newest of a stack of frames; None if it is missing."""
        image = self._fitting(observation).get(self._picture or ()) if self._picture is not None else None
        return None if image is None else in_color(_bytes_of(image))

    def cells(self, observation: Any) -> str | None:
        """Return the grid in an observation as text with colors; None if it is missing."""
        found = self._fitting(observation).get(self._grid or ()) if self._grid is not None else None
        return None if found is None else grid_text(found)

    def text(self, observation: Any) -> str | None:
        """Return the text in an observation; None if it is missing."""
        found = next((part for path, part in _leaves(observation) if path == self._story), None)
        return found if isinstance(found, str) else None

    def _fitting(self, observation: Any) -> dict[Path, Array]:
        """Return the parts that have the shapes that they had at first, and take note of the others."""
        found = dict(parts_of(observation))
        for path, part in found.items():
            was = self._shapes.get(path, part.shape)
            if was != part.shape and path not in self.unfit:
                self.unfit.add(path)
                what = f"{dotted(path)} of the observation" if path else "the observation"
                self.changed = self.changed or f"{what} had shape {was}, now {part.shape}: it is no longer shown"
        return {path: part for path, part in found.items() if path not in self.unfit}


def _is_shown_as_picture(part: Array) -> bool:
    """Whether a part is an image, or so many numbers in rows and columns that they are best seen as shades."""
    return is_picture(part.shape) and not is_grid(part)


def _bytes_of(image: Array) -> NDArray[np.uint8]:
    """Return an image as bytes; of other numbers, the smallest is black and the largest white, from 0 to 1 at least."""
    if image.dtype == np.uint8:
        return image
    with np.errstate(all="ignore"):
        numbers = np.nan_to_num(image.astype(np.float32), posinf=0, neginf=0)
        low, high = min(0.0, float(numbers.min())), max(1.0, float(numbers.max()))
        shades: NDArray[np.uint8] = (255 * ((numbers - low) / (high - low))).astype(np.uint8)
    return shades


LEAST_GRID, MOST_GRID, MOST_PLANES = 3, 32, 16
"""The least and most cells of a grid in each direction, and its most planes."""
MOST_ACROSS = 64  # columns of planes beside each other
HUES = (32, 33, 36, 35, 34, 31)
"""The colors of the numbers 1, 2, 3 and so on in a grid."""


def is_grid(part: Array) -> bool:
    """Whether a part is a grid of whole numbers `(H, W)`, or a few planes of such, that is too small for a picture."""
    if part.dtype.kind not in "biu" or (part.dtype == np.uint8 and is_picture(part.shape)):
        return False
    planes = _planes(part)
    return planes is not None and len(planes) <= MOST_PLANES and _is_small(planes.shape[1:])


def _is_small(shape: tuple[int, ...]) -> bool:
    return min(shape) >= LEAST_GRID and max(shape) <= MOST_GRID


def _planes(part: Array) -> Array | None:
    """Return a grid as planes `(P, H, W)`; None if it has another number of axes."""
    if part.ndim == 2:
        return part[None]
    if part.ndim != 3:
        return None
    height, width, last = part.shape
    return part if last == width != height or last > height else np.moveaxis(part, -1, 0)


def grid_text(part: Array) -> str:
    """Return a grid as text, a number in each cell, in the color of its value; planes are beside each other."""
    planes = _planes(part)
    assert planes is not None
    longest = max(len(str(planes.min())), len(str(planes.max()))) if planes.dtype != np.bool_ else 1
    blocks = [_block(plane, longest + 1) for plane in planes]
    across = max(1, MOST_ACROSS // (planes.shape[2] * (longest + 1) + 1))
    lines: list[str] = []
    for first in range(0, len(blocks), across):
        lines += ([""] if first else []) + ["  ".join(row) for row in zip(*blocks[first : first + across], strict=True)]
    return "\n".join(lines)


def _block(plane: Array, width: int) -> list[str]:
    return ["".join(_cell(value, width) for value in row) for row in plane.astype(object).tolist()]


def _cell(value: Any, width: int) -> str:
    number = int(value)
    text = f"{number:>{width}}"
    return f"\x1b[{HUES[(number - 1) % len(HUES)]}m{text}\x1b[0m" if number else text


def _indices(part: Array) -> list[str]:
    return [str(index) for index in range(min(MOST_BARS, part.size))]
