"""What compiled games share: a compiler that keeps kernels on disk, seeds, random numbers."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

Function = TypeVar("Function", bound=Callable[..., object])

# Rules divide by no zero, and nothing calls a kernel by a C pointer: neither needs code of its own.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}

GOLDEN = np.uint64(0x9E37_79B9_7F4A_7C15)
MIX_1 = np.uint64(0xBF58_476D_1CE4_E5B9)
MIX_2 = np.uint64(0x94D0_49BB_1331_11EB)

SHARED_SOURCES = tuple(
    Path(__file__).with_name(f"{name}.py") for name in ("native", "kernel_tables", "fields", "task", "text")
)
"""The sources of this folder that are compiled into kernels, or decide what is."""

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
    sources = [*SHARED_SOURCES, *(path for folder in folders for path in sorted(folder.rglob("*.py")))]
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
