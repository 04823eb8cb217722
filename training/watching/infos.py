"""The numbers of a watched training's infos: a dict of batches, as Gymnasium has them, or a list of dicts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...envs.fields import Array
from ...envs.spaces.infos import DEEPEST, UNREAD, number_at, number_of, numbers_in, values_in, with_room
from .arrays import on_device
from .observations import host_array

Infos: TypeAlias = Mapping[str, Any] | Sequence[Mapping[str, Any]]
KINDS = "biufO"
MAX_SEARCHES = 256
"""Maximum number of searches for new keys, because a script may keep adding some."""
LAST_INFO = "final_info"
"""The key of the infos of an episode's end, if the same step also resets the environment."""


class InfoReader:
    """Finds the numbers in the infos of resets and steps, and reads them.

    Args:
        num_envs: Number of environments N.

    Attributes:
        names: The names of the numbers that are read.
    """

    def __init__(self, num_envs: int) -> None:
        self.names: tuple[str, ...] = ()
        self._num_envs = num_envs
        self._keys = _SeenKeys()
        self._searches = 0
        self._unread: set[Any] = set(UNREAD)

    def skips(self, infos: Infos) -> bool:
        """Whether infos have nothing to read and no new key. This must be very fast."""
        unread = self._unread
        if isinstance(infos, dict):
            return unread.issuperset(infos)
        for info in infos:  # noqa: SIM110 - a generator would cost more than all the rest
            if info and not unread.issuperset(info):
                return False
        return True

    def has_new_keys(self, infos: Infos) -> bool:
        """Whether infos have keys that `find` has not seen."""
        return self._searches < MAX_SEARCHES and any(self._keys.lack(info) for info in _dicts(infos))

    def find(self, infos: Infos) -> tuple[tuple[str, ...], str]:
        """Look at all keys; return the names of new numbers, and a sentence about those beyond the limit."""
        values = _samples(infos, self._num_envs) if isinstance(infos, Mapping) else _values(infos)
        self._searches += 1
        names, left_out = with_room(numbers_in(values), self.names)
        for info in _dicts(infos):
            self._keys.add(info)
            others = (key for key, value in info.items() if not isinstance(value, Mapping))
            self._unread.update(key for key in others if key not in names)
        return names[len(self.names) :], left_out

    def read(self, infos: Infos) -> NDArray[np.float32]:
        """Return the numbers, `(names, N)`, NaN if missing; at the end of an episode, those of that episode."""
        found = np.full((len(self.names), self._num_envs), math.nan, np.float32)
        with np.errstate(all="ignore"):
            if isinstance(infos, Mapping):
                last = infos.get(LAST_INFO)
                for row, name in zip(found, self.names, strict=True):
                    _fill(row, infos, name)
                    if isinstance(last, Mapping):
                        _fill(row, last, name)
            else:
                for row, name in zip(found, self.names, strict=True):
                    own = [number_at(info, name) if info else math.nan for info in infos[: self._num_envs]]
                    row[: len(own)] = own
        return found


class _SeenKeys:
    """The keys of infos that were seen, and those of the dicts within them."""

    def __init__(self, depth: int = 0) -> None:
        self._depth = depth
        self._seen: set[Any] = set(UNREAD)
        self._inner: dict[Any, _SeenKeys] = {}

    def lack(self, info: Mapping[Any, Any]) -> bool:
        """Whether an info has a key that was not seen."""
        if not self._seen.issuperset(info):
            return True
        for name, keys in self._inner.items():
            part = info.get(name)
            if part is not None and isinstance(part, Mapping) and keys.lack(part):
                return True
        return False

    def add(self, info: Mapping[Any, Any]) -> None:
        """Add the keys of an info."""
        for name, part in info.items():
            if isinstance(part, Mapping) and name not in UNREAD and self._depth < DEEPEST:
                self._inner.setdefault(name, _SeenKeys(self._depth + 1)).add(part)
            self._seen.add(name)


def _dicts(infos: Infos) -> Sequence[Mapping[str, Any]]:
    return (infos,) if isinstance(infos, Mapping) else [info for info in infos if isinstance(info, Mapping)]


def _values(infos: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Any]]:
    for info in _dicts(infos):
        yield from values_in(info)


def _samples(infos: Mapping[str, Any], num_envs: int, before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield one environment's part of each batch, with its name."""
    for key, value in infos.items():
        if not isinstance(key, str) or key[:1] == "_" or key in UNREAD:
            continue
        if isinstance(value, Mapping):
            if before.count(".") < DEEPEST:
                yield from _samples(value, num_envs, before if key == LAST_INFO else f"{before}{key}.")
        elif (batch := _batch_of(value, num_envs)) is not None:
            mask = _mask(infos, key, num_envs)
            yield f"{before}{key}", batch[() if not batch.ndim else 0 if mask is None else int(np.argmax(mask))]


def _batch_of(value: Any, num_envs: int) -> Array | None:
    """Return a value of an info as numbers `(N,)`, or as one for all environments; None if it is something else.

    The array may contain objects, of which some are numbers. Nothing is read from a GPU.
    """
    if isinstance(value, Real | np.bool_):
        return np.asarray(number_of(value))
    try:
        if hasattr(value, "detach"):
            value = None if on_device(value) else host_array(value)
        elif isinstance(value, list | tuple) and len(value) == num_envs:
            value = np.asarray(value)
    except Exception:  # of another library, or of lists of different lengths
        return None
    fits = isinstance(value, np.ndarray) and value.shape in {(num_envs,), ()} and value.dtype.kind in KINDS
    return value if fits else None


def _fill(row: Array, infos: Mapping[str, Any], name: str) -> None:
    """Write the numbers of those environments into a row that have them."""
    value, has = _find(infos, name, len(row))
    batch = None if value is None else _batch_of(value, len(row))
    if batch is None:
        return
    if batch.dtype.kind == "O":
        batch = np.array([number_of(item) for item in np.broadcast_to(batch, row.shape)])
    np.copyto(row, batch, casting="unsafe", where=True if has is None else has)


def _find(infos: Mapping[str, Any], name: str, num_envs: int) -> tuple[Any, NDArray[np.bool_] | None]:
    """Return a batch, None if it is missing, and which environments have it; None: all."""
    value, has = infos.get(name), _mask(infos, name, num_envs)
    if value is None and "." in name:
        first, _, rest = name.partition(".")
        inner = infos.get(first)
        if isinstance(inner, Mapping):
            value, own = _find(inner, rest, num_envs)
            outer = _mask(infos, first, num_envs)
            has = own if outer is None else outer if own is None else outer & own
    return value, has


def _mask(infos: Mapping[str, Any], key: str, num_envs: int) -> NDArray[np.bool_] | None:
    """Return which environments have a key; None if the infos do not say, as with a script's own class: all of them."""
    mask = infos.get(f"_{key}")
    return mask if isinstance(mask, np.ndarray) and mask.dtype == np.bool_ and mask.shape == (num_envs,) else None
