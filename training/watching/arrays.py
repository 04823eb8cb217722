"""Arrays of other libraries, such as tensors of PyTorch, which a watched script steps its environments with."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...envs.fields import Array
from ...envs.unknown import UNKNOWN
from .observations import host_array


def on_device(value: Any) -> bool:
    """Whether reading a value would wait for a GPU."""
    return bool(getattr(value, "is_cuda", False)) or getattr(getattr(value, "device", None), "type", "cpu") != "cpu"


def numbers(values: Any, count: int) -> Array:
    """Return one number per value, NaN where there is none, `(count,)`; of several in one value, the sum."""
    try:
        found: Array = np.array(values, np.float64)
        if found.shape == (count,):
            return found
    except (TypeError, ValueError, RuntimeError):
        pass
    return np.array([_number(value) for value in values], np.float64)


def _number(value: Any) -> float:
    try:
        return UNKNOWN if value is None else float(host_array(value).astype(np.float64).sum())
    except (TypeError, ValueError, RuntimeError):
        return UNKNOWN


def flags(values: Any) -> Array:
    """Return one truth value per value."""
    return numbers(values, len(values)) > 0
