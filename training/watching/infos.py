"""The numbers of a watched training's infos: a dict of batches, as Gymnasium has them, or a list of dicts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...envs.fields import Array
from ...envs.gym.infos import number_of, numbers_in

PLAIN = "biuf"


def info_names(infos: Any, num_envs: int) -> tuple[str, ...]:
    """Return the names of what is a number in the infos of a reset."""
    if not isinstance(infos, Mapping):
        return numbers_in(infos[0]) if infos else ()
    batches = {name: batch for name, batch in infos.items() if isinstance(batch, np.ndarray) and name[:1] != "_"}
    return numbers_in({name: batch[0] for name, batch in batches.items() if batch.shape == (num_envs,)})


def info_numbers(infos: Any, names: Sequence[str], num_envs: int) -> NDArray[np.float32]:
    """Return the numbers of a step, `(names, N)`, NaN if missing; at the end of an episode, those of that episode."""
    if not isinstance(infos, Mapping):
        return np.array([[number_of(info.get(name)) for info in infos] for name in names], np.float32)
    rows = [_batch(infos, name, np.full(num_envs, math.nan)) for name in names]
    last = infos.get("final_info")
    if isinstance(last, Mapping):
        rows = [_batch(last, name, row) for name, row in zip(names, rows, strict=True)]
    return np.array(rows, np.float32)


def _batch(infos: Mapping[str, Any], name: str, others: Array) -> Array:
    """Return a batch of numbers, and where an environment has none, that of `others`."""
    batch = infos.get(name)
    if not isinstance(batch, np.ndarray) or batch.shape != others.shape:
        return others
    numbers = batch if batch.dtype.kind in PLAIN else np.array([number_of(value) for value in batch])
    known: Array = np.where(infos.get(f"_{name}", True), numbers, others)
    return known
