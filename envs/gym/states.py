"""Saves environments that have `get_state` and `set_state` as bytes, without pickle."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.wrappers import (
    OrderEnforcing,
    PassiveEnvChecker,
    TimeLimit,
    TransformAction,
    TransformObservation,
    TransformReward,
)

from ..errors import BadParameter
from .wrapping import Score

METHODS = ("get_state", "set_state")
TRANSPARENT = (
    *(OrderEnforcing, PassiveEnvChecker, TimeLimit),
    *(TransformAction, TransformObservation, TransformReward),
    Score,
)
"""Wrappers that have no state except the elapsed steps, and the score, which is the episode's return."""
KINDS = "biufcSU"
"""The kinds of dtypes without Python objects."""
LENGTH = 4  # bytes of the length before a state
SPARE, MOST = 2, 2**18
"""How many times the size of the first state is reserved; the largest size of a state, in bytes."""
BOOKS = 256  # bytes for the adapter's own state


class NotStorable(BadParameter):
    """A state that cannot be saved as bytes."""

    title = "State cannot be saved"


def pack(value: Any) -> bytes:
    """Return nested dicts, lists, tuples, numbers, text, bytes and arrays as bytes.

    Raises:
        NotStorable: The value contains something else.
    """
    return json.dumps(_plain(value), separators=(",", ":")).encode()


def unpack(data: bytes) -> Any:
    """Return the packed value; its arrays are writable copies."""
    return _nest(json.loads(data))


def _plain(value: Any) -> Any:
    """Return a value for JSON; types that JSON lacks become an object with one key, the type."""
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in KINDS:
        kind = "array" if isinstance(value, np.ndarray) else "number"
        return {kind: [value.dtype.str, list(value.shape), b64encode(value.tobytes()).decode()]}
    if value is None or (isinstance(value, bool | int | float | str) and not isinstance(value, np.generic)):
        return value
    if isinstance(value, bytes | bytearray):
        return {"bytes": b64encode(value).decode()}
    if isinstance(value, Mapping):
        return {"dict": [[_plain(key), _plain(part)] for key, part in value.items()]}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    if isinstance(value, tuple):
        return {"tuple": [_plain(part) for part in value]}
    raise NotStorable(
        "get_state must return dicts, lists, tuples, numbers, text, bytes and arrays, "
        f"got {type(value).__name__} in it: turn it into one of these"
    )


def _nest(plain: Any) -> Any:
    if isinstance(plain, list):
        return [_nest(part) for part in plain]
    if not isinstance(plain, dict):
        return plain
    [(kind, held)] = plain.items()
    return READERS[kind](held)


def _array(held: Any) -> np.ndarray[Any, Any]:
    dtype, shape, data = held
    return np.frombuffer(b64decode(data), np.dtype(dtype)).reshape(shape).copy()


READERS: Mapping[str, Callable[[Any], Any]] = {
    "array": _array,
    "number": lambda held: _array(held)[()],
    "bytes": b64decode,
    "dict": lambda held: {_nest(key): _nest(part) for key, part in held},
    "tuple": lambda held: tuple(_nest(part) for part in held),
}


class StateSaver:
    """Saves and restores one environment: its own state, its random generator, and the time of its wrappers.

    Args:
        env: An environment with `get_state` and `set_state`.
    """

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        wrappers, owner = _parts(env)
        self._env, self._owner = env, owner
        self._limits = [wrapper for wrapper in wrappers if isinstance(wrapper, TimeLimit)]

    def save(self) -> dict[str, Any]:
        generator = self._env.unwrapped._np_random  # noqa: SLF001 - the property would create one
        return {
            "own": self._owner.get_state(),
            "random": None if generator is None else generator.bit_generator.state,
            "elapsed": [limit._elapsed_steps for limit in self._limits],  # noqa: SLF001
        }

    def load(self, saved: Mapping[str, Any]) -> None:
        """Restore a saved state; an episode must have begun."""
        self._owner.set_state(saved["own"])
        if saved["random"] is not None:
            self._env.unwrapped.np_random.bit_generator.state = saved["random"]
        for limit, elapsed in zip(self._limits, saved["elapsed"], strict=True):
            limit._elapsed_steps = elapsed  # noqa: SLF001


def state_size(env: Any, shown: Any) -> int:
    """Return the bytes to reserve for a state of an environment whose episode has begun; 0 if it has no such methods.

    The state is restored once, and must then be saved as the same bytes. `shown` is saved with every state.

    Raises:
        NotStorable: The environment has a state that cannot be saved.
    """
    if not isinstance(env, gymnasium.Env):
        return 0
    wrappers, owner = _parts(env)
    if owner is None:
        return 0
    for wrapper in wrappers:
        if not isinstance(wrapper, TRANSPARENT):
            name = type(wrapper).__name__
            raise NotStorable(f"its wrapper {name} may have a state: add get_state and set_state to it, too")
    memory = StateSaver(env)
    first = pack(memory.save())
    memory.load(unpack(first))
    if pack(memory.save()) != first:
        raise NotStorable("get_state returns another state after set_state than the one that was set")
    if len(first) > MOST:
        raise NotStorable(f"get_state returns {len(first):,} bytes, and the limit is {MOST:,}")
    beside = BOOKS + len(pack(shown))
    return 1 << (SPARE * (LENGTH + len(first)) + beside).bit_length()  # the same if the first state is slightly larger


def _parts(env: gymnasium.Env[Any, Any]) -> tuple[list[gymnasium.Wrapper[Any, Any, Any, Any]], Any]:
    """Return the outermost part of an environment that has both methods, or None, and the wrappers around it."""
    wrappers: list[gymnasium.Wrapper[Any, Any, Any, Any]] = []
    part = env
    while not all(callable(getattr(type(part), name, None)) for name in METHODS):
        if not isinstance(part, gymnasium.Wrapper):
            return wrappers, None
        wrappers.append(part)
        part = part.env
    return wrappers, part
