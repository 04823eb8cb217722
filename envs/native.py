"""What compiled games share: a compiler that keeps kernels on disk, arrays from addresses, seeds, random numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numba import carray, njit, types  # type: ignore[attr-defined]
from numba.extending import intrinsic
from numpy.typing import NDArray

from .fields import Array, Buffers, rows
from .task import Task

Function = TypeVar("Function", bound=Callable[..., object])

# Rules divide by no zero, and nothing calls a kernel by a C pointer: neither needs code of its own.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}

GOLDEN = np.uint64(0x9E37_79B9_7F4A_7C15)
MIX_1 = np.uint64(0xBF58_476D_1CE4_E5B9)
MIX_2 = np.uint64(0x94D0_49BB_1331_11EB)

ALL_LEGAL = -1
"""What a kernel that steps returns in place of the first row whose action is illegal."""


def kernel(function: Function, *, inlined: bool = False) -> Function:
    """Return `function` compiled at its first call, unless the disk has it; it calls no kernels of other files.

    Args:
        function: What is compiled.
        inlined: Build it into every kernel that calls it: for what is called often and gets many arrays.
    """
    options = OPTIONS | {"forceinline": inlined}
    try:
        return cast("Function", njit(cache=True, **options)(function))
    except RuntimeError:  # no folder of this machine can be written to
        return cast("Function", njit(**options)(function))


def stamp_of(*folders: Path) -> str:
    """Return a hash of all sources that kernels of `folders` are made of."""
    sources = [Path(__file__), *(path for folder in folders for path in sorted(folder.rglob("*.py")))]
    return sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()


def compiler(*folders: Path, inlined: bool = False) -> Callable[[Function], Function]:
    """Return a decorator for kernels whose rules stand in `folders`: cached on disk until any source there changes.

    Numba looks at a function's own file only, and would go on using a kernel into which another file's older rules were
    built. The hash of all sources is part of the cache's version: where the version differs, Numba does not unpickle
    the rest of the index, which may name modules that no longer exist. The GIL is released.
    """
    stamp = stamp_of(*folders)

    def compiled(function: Function) -> Function:
        made: Any = kernel(function, inlined=inlined)
        if hasattr(made, "_cache"):
            index = made._cache._cache_file  # noqa: SLF001 - numba has no public way to add to a cache's version
            index._version = (index._version, stamp)  # noqa: SLF001
        return cast("Function", made)

    return compiled


def _pointer(_context: Any, address: Any, dtype: Any) -> Any:
    """A pointer to elements of `dtype` at an address."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return types.CPointer(dtype.dtype)(address, dtype), build  # type: ignore[no-untyped-call]


pointer: Any = intrinsic(_pointer)
"""In kernels: `pointer(address, np.float32)`, for `numba.carray`."""


STANDARD = (
    "action",
    "action_mask",
    "observation",
    "final_observation",
    "reward",
    "reward_terms",
    "terminated",
    "truncated",
    "active",
    "episode_return",
    "episode_length",
    "frames",
    "outcome",
    "episode",
    "heartbeat",
    "state",
)
"""The fields that the kernels of every native task read and write."""


def addresses(task: Task, buffers: Buffers, names: Sequence[str]) -> list[int]:
    """Return where fields lie, 0 for one that the task does not have.

    Raises:
        ValueError: A field is not what the task describes, or not one contiguous block.
    """
    slots, num_envs = buffers["episode_length"].shape
    for item in task.fields:
        array = buffers[item.name]
        shape = (slots if item.timed else 1, rows(item, num_envs, task.players), *item.stored_shape)
        if array.shape != shape or array.dtype != item.dtype or not array.flags.c_contiguous:
            got = f"{array.dtype} {array.shape} with strides {array.strides}"
            raise ValueError(
                f"{item.name} must be one contiguous block of {item.dtype} {shape}, got {got}; pass whole buffers"
            )
    return [buffers[name].ctypes.data if name in buffers else 0 for name in names]


class Common(NamedTuple):
    """The arrays of `STANDARD` that have the same types in every game.

    Those of seats are `(slots, rows, ...)`, those of games `(slots, environments)`; `episode` and `heartbeat` have no
    slots.
    """

    action: Array
    reward: Array
    terms: Array
    terminated: Array
    truncated: Array
    active: Array
    returns: Array
    length: Array
    frames: Array
    outcome: Array
    episode: Array
    heartbeat: Array


@kernel
def common(at: NDArray[np.int64], first: int, players: int, terms: int) -> Common:
    """Rebuild arrays from a table that begins with slots and environments, and has `STANDARD` from `first` on."""
    slots, envs = at[0], at[1]
    rows, games = (slots, envs * players), (slots, envs)
    return Common(
        action=carray(pointer(at[first], np.int64), rows),
        reward=carray(pointer(at[first + 4], np.float32), rows),
        terms=carray(pointer(at[first + 5], np.float32), (slots, envs * players, terms)),
        terminated=carray(pointer(at[first + 6], np.uint8), rows),
        truncated=carray(pointer(at[first + 7], np.uint8), rows),
        active=carray(pointer(at[first + 8], np.uint8), rows),
        returns=carray(pointer(at[first + 9], np.float32), rows),
        length=carray(pointer(at[first + 10], np.int32), games),
        frames=carray(pointer(at[first + 11], np.int32), games),
        outcome=carray(pointer(at[first + 12], np.uint8), games),
        episode=carray(pointer(at[first + 13], np.int64), (envs,)),
        heartbeat=carray(pointer(at[first + 14], np.uint64), (envs,)),
    )


@kernel
def mixed(word: np.uint64) -> np.uint64:
    """The finaliser of SplitMix64 (Steele, Lea, Flood, 2014)."""
    word = (word ^ (word >> np.uint64(30))) * MIX_1
    word = (word ^ (word >> np.uint64(27))) * MIX_2
    return word ^ (word >> np.uint64(31))


@kernel
def episode_seed(seed: np.uint64, env: np.uint64, episode: np.uint64) -> np.uint64:
    """The compiled twin of `pac.envs.episode_seed`."""
    state = np.uint64(0)
    for part in (seed, env, episode):
        state = mixed(state + part + GOLDEN)
    return state


@kernel
def stream(seed: np.uint64, number: np.uint64) -> np.uint64:
    """Where stream `number` of a run begins: what to put into a generator's word before the first `draw`."""
    return mixed(mixed(seed + GOLDEN) + number + GOLDEN)


@kernel
def draw(memory: NDArray[Any], at: int) -> np.uint64:
    """64 random bits of SplitMix64; the generator's state is the word `memory[at]`, signed or not."""
    state = np.uint64(memory[at]) + GOLDEN
    memory[at] = state
    return mixed(state)


@kernel
def below(memory: NDArray[np.int64], at: int, bound: int) -> int:
    """A random number from 0 to `bound - 1`; the generator's state is the word `memory[at]`.

    Its bias is below `bound / 2^31`.
    """
    return int((np.int64(draw(memory, at) >> np.uint64(33)) * bound) >> 31)
