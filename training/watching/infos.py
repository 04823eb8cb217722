"""The numbers of a watched training's infos: a dict of batches, as Gymnasium has them, or a list of dicts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...envs.fields import Array
from ...envs.spaces.infos import DEEPEST, UNREAD, number_at, number_of, numbers_in, values_in, with_room
from ...envs.unknown import UNKNOWN, is_unknown, unknown_in
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
        self._seen: dict[tuple[Any, ...], set[Any]] = {(): set(UNREAD)}  # keys by those of the dicts around them
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
        return self._searches < MAX_SEARCHES and any(
            not keys.issuperset(_within(info, path)) for info in _dicts(infos) for path, keys in self._seen.items()
        )

    def find(self, infos: Infos) -> tuple[tuple[str, ...], str]:
        """Look at all keys; return the names of new numbers, and a sentence about those beyond the limit."""
        values = self._samples(infos) if isinstance(infos, Mapping) else chain(*map(values_in, _dicts(infos)))
        self._searches += 1
        names, left_out = with_room(numbers_in(values), self.names)
        for info in _dicts(infos):
            self._see(info)
            others = (key for key, value in info.items() if not isinstance(value, Mapping) and key != LAST_INFO)
            self._unread.update(key for key in others if key not in names)
        return names[len(self.names) :], left_out

    def read(self, infos: Infos) -> NDArray[np.float32]:
        """Return the numbers, `(names, N)`, NaN if missing; at the end of an episode, those of that episode."""
        found = np.full((len(self.names), self._num_envs), UNKNOWN, np.float32)
        rows = dict(zip(self.names, found, strict=True))
        with np.errstate(all="ignore"):
            if isinstance(infos, Mapping):
                for name, value, has in _batches(infos, self._num_envs):
                    if name in rows and (batch := _batch_of(value, self._num_envs)) is not None:
                        if batch.dtype.kind == "O":
                            batch = np.array([number_of(item) for item in batch.flat])
                        np.copyto(rows[name], batch, casting="unsafe", where=has)
            else:
                for name, row in rows.items():
                    own = [number_at(info, name) if info else UNKNOWN for info in infos[: self._num_envs]]
                    row[: len(own)] = own
        return found

    def _samples(self, infos: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        """Yield one environment's part of each batch, with its name."""
        for name, value, has in _batches(infos, self._num_envs):
            if (batch := _batch_of(value, self._num_envs)) is not None:
                yield name, np.broadcast_to(batch, self._num_envs)[np.argmax(has)]

    def _see(self, info: Mapping[Any, Any], path: tuple[Any, ...] = ()) -> None:
        self._seen.setdefault(path, set(UNREAD)).update(info)
        for name, part in info.items():
            if isinstance(part, Mapping) and name not in UNREAD and len(path) < DEEPEST:
                self._see(part, (*path, name))


def _within(info: Mapping[Any, Any], path: Iterable[Any]) -> Mapping[Any, Any]:
    """Return the dict at a path of keys; an empty one if it is missing."""
    for name in path:
        part = info.get(name)
        info = part if isinstance(part, Mapping) else {}
    return info


def _dicts(infos: Infos) -> Sequence[Mapping[str, Any]]:
    return (infos,) if isinstance(infos, Mapping) else [info for info in infos if isinstance(info, Mapping)]


def _batches(
    infos: Mapping[str, Any], num_envs: int, before: str = "", outer: bool | NDArray[np.bool_] = True
) -> Iterator[tuple[str, Any, bool | NDArray[np.bool_]]]:
    """Yield names and values of batched infos, and which environments have them; those of ended episodes come last.

    Infos of a script's own class may not say which have them: all then.
    """
    for key, value in sorted(infos.items(), key=lambda item: item[0] == LAST_INFO):
        if not isinstance(key, str) or key[:1] == "_" or key in UNREAD:
            continue
        mask: Any = infos.get(f"_{key}")
        known = isinstance(mask, np.ndarray) and mask.dtype.kind == "b" and mask.shape == (num_envs,)
        has = outer if not known else mask if outer is True else outer & mask
        if key == LAST_INFO and isinstance(value, np.ndarray) and value.shape == (num_envs,):
            yield from _of_each(value)
        elif not isinstance(value, Mapping):
            yield f"{before}{key}", value, has
        elif before.count(".") < DEEPEST:
            yield from _batches(value, num_envs, before if key == LAST_INFO else f"{before}{key}.", has)


def _of_each(infos: Array) -> Iterator[tuple[str, Any, NDArray[np.bool_]]]:
    """Yield the numbers in an array of dicts, as Gymnasium before 1.0 has them of ended episodes."""
    found: dict[str, Array] = {}
    for env, info in enumerate(infos):
        for name, value in values_in(info) if isinstance(info, Mapping) else ():
            if np.size(value) == 1 and not is_unknown(number := number_of(value)):
                found.setdefault(name, np.full(len(infos), UNKNOWN))[env] = number
    for name, batch in found.items():
        yield name, batch, ~unknown_in(batch)


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
