"""The numbers of a watched training's infos: a dict of batches, as Gymnasium has them, or a list of dicts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...envs.fields import Array
from ...envs.spaces.infos import UNREAD, number_at, number_of, numbers_in, values_in, with_room

Infos: TypeAlias = Mapping[str, Any] | Sequence[Mapping[str, Any]]
PLAIN = "biuf"
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
            if not unread.issuperset(info):
                return False
        return True

    def has_new_keys(self, infos: Infos) -> bool:
        """Whether infos have keys that `find` has not seen."""
        return self._searches < MAX_SEARCHES and any(self._keys.lack(info) for info in _dicts(infos))

    def find(self, infos: Infos) -> tuple[tuple[str, ...], str]:
        """Look at all keys; return the names of new numbers, and a sentence about those beyond the limit."""
        values = _samples(infos, self._num_envs) if isinstance(infos, Mapping) else _values(infos)
        self._searches += 1
        names, left_out = with_room([*self.names, *numbers_in(values)])
        for info in _dicts(infos):
            self._keys.add(info)
            others = (key for key, value in info.items() if not isinstance(value, Mapping))
            self._unread.update(key for key in others if key not in names)
        return names[len(self.names) :], left_out

    def read(self, infos: Infos) -> NDArray[np.float32]:
        """Return the numbers, `(names, N)`, NaN if missing; at the end of an episode, those of that episode."""
        if isinstance(infos, Mapping):
            missing = np.full(self._num_envs, math.nan)
            rows = [_batch(infos, name, missing) for name in self.names]
            last = infos.get(LAST_INFO)
            if isinstance(last, Mapping):
                rows = [_batch(last, name, row) for name, row in zip(self.names, rows, strict=True)]
        else:
            rows = [np.array([number_at(info, name) for info in infos]) for name in self.names]
        return np.array(rows, np.float32).reshape(len(rows), self._num_envs)


class _SeenKeys:
    """The keys of infos that were seen, and those of the dicts within them."""

    def __init__(self) -> None:
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
            if isinstance(part, Mapping) and name not in UNREAD:
                self._inner.setdefault(name, self if name == LAST_INFO else _SeenKeys()).add(part)
            self._seen.add(name)


def _dicts(infos: Infos) -> Sequence[Mapping[str, Any]]:
    return (infos,) if isinstance(infos, Mapping) else infos


def _values(infos: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Any]]:
    for info in infos:
        yield from values_in(info)


def _samples(infos: Mapping[str, Any], num_envs: int, before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield one environment's part of each batch, with its name."""
    for key, batch in infos.items():
        if not isinstance(key, str) or key[:1] == "_" or key in UNREAD:
            continue
        if isinstance(batch, Mapping):
            yield from _samples(batch, num_envs, before if key == LAST_INFO else f"{before}{key}.")
        elif isinstance(batch, np.ndarray) and batch.shape == (num_envs,):
            yield f"{before}{key}", batch[int(np.argmax(_mask(infos, key, num_envs)))]


def _batch(infos: Mapping[str, Any], name: str, others: Array) -> Array:
    """Return a batch of numbers, and where an environment has none, that of `others`."""
    batch, has = _find(infos, name, len(others))
    if not isinstance(batch, np.ndarray) or batch.shape != others.shape:
        return others
    numbers = batch if batch.dtype.kind in PLAIN else np.array([number_of(value) for value in batch])
    known: Array = np.where(has, numbers, others)
    return known


def _find(infos: Mapping[str, Any], name: str, num_envs: int) -> tuple[Any, NDArray[np.bool_]]:
    """Return a batch, None if it is missing, and which environments have it."""
    batch, has = infos.get(name), _mask(infos, name, num_envs)
    if batch is None and "." in name:
        first, _, rest = name.partition(".")
        inner = infos.get(first)
        if isinstance(inner, Mapping):
            batch, own = _find(inner, rest, num_envs)
            has = _mask(infos, first, num_envs) & own
    return batch, has


def _mask(infos: Mapping[str, Any], key: str, num_envs: int) -> NDArray[np.bool_]:
    """Return which environments have a key; all of them if the infos do not say, as with a script's own class."""
    mask = infos.get(f"_{key}")
    if isinstance(mask, np.ndarray) and mask.dtype == np.bool_ and mask.shape == (num_envs,):
        return mask
    return np.ones(num_envs, np.bool_)
