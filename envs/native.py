"""What compiled games share: a compiler that keeps kernels on disk, seeds, random numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from hashlib import sha256
from inspect import getfile
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

Function = TypeVar("Function", bound=Callable[..., object])

# No rule divides by zero, and no kernel is called through a C pointer, so code for both is left out.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}

GOLDEN = np.uint64(0x9E37_79B9_7F4A_7C15)
MIX_1 = np.uint64(0xBF58_476D_1CE4_E5B9)
MIX_2 = np.uint64(0x94D0_49BB_1331_11EB)

SHARED_SOURCES = tuple(
    Path(__file__).with_name(f"{name}.py")
    for name in ("native", "kernel_tables", "fields", "packed", "packed_kernels", "task", "text")
)
"""The sources of this folder that are compiled into kernels, or that decide their types."""

ALL_LEGAL = -1
"""What a kernel that steps returns if every action is legal."""


def kernel(function: Function, *, inlined: bool = False) -> Function:
    """Return `function`, compiled at its first call or loaded from disk. It must not call kernels of other files.

    Args:
        inlined: Whether to inline it into every kernel that calls it, which is faster for many arguments and calls.
    """
    options = OPTIONS | {"forceinline": inlined}
    try:
        return cast("Function", njit(cache=True, **options)(function))
    except RuntimeError:  # no folder of this machine can be written to
        return cast("Function", njit(**options)(function))


def stamp_of(*folders: Path) -> str:
    """Return a hash of all sources that are compiled into the kernels of `folders`."""
    sources = [*SHARED_SOURCES, *(path for folder in folders for path in sorted(folder.rglob("*.py")))]
    return sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()


def compiler(*folders: Path, inlined: bool = False) -> Callable[[Function], Function]:
    """Return a decorator for kernels whose rules are in `folders`: cached on disk until any source there changes.

    Numba checks only a function's own file, and would load a kernel into which older rules of another file are
    compiled. The hash of all sources is part of the cache's version: where the version differs, Numba does not unpickle
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


@cache
def _compilers(folder: str) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    return compiler(Path(folder)), compiler(Path(folder), inlined=True)


def compiled(function: Function) -> Function:
    """Compile a kernel of a game, cached on disk until any source in the folder of its file changes."""
    return cast("Function", _compilers(str(Path(getfile(function)).parent))[0](function))


def inlined(function: Function) -> Function:
    """Compile a kernel as `compiled` does, and inline it: for functions of every step, or with many arguments."""
    return cast("Function", _compilers(str(Path(getfile(function)).parent))[1](function))


def called(function: Function) -> Function:
    """Compile a kernel that few steps need as `compiled` does; on a GPU, it is called and not inlined."""
    made: Any = function
    made.called_on_gpu = True
    return compiled(function)


@kernel
def mixed(word: np.uint64) -> np.uint64:
    """Return a word mixed by the finalizer of SplitMix64 (Steele, Lea, Flood, 2014)."""
    word = (word ^ (word >> np.uint64(30))) * MIX_1
    word = (word ^ (word >> np.uint64(27))) * MIX_2
    return word ^ (word >> np.uint64(31))


@kernel
def episode_seed(seed: np.uint64, env: np.uint64, episode: np.uint64) -> np.uint64:
    """Return the same as `pac.envs.episode_seed`, in kernels."""
    state = np.uint64(0)
    for part in (seed, env, episode):
        state = mixed(state + part + GOLDEN)
    return state


@kernel
def stream(seed: np.uint64, number: np.uint64) -> np.uint64:
    """Return the initial state of random stream `number` of a run: the generator's word before the first `draw`."""
    return mixed(mixed(seed + GOLDEN) + number + GOLDEN)


@kernel
def draw(memory: NDArray[Any], at: int) -> np.uint64:
    """Return 64 random bits of SplitMix64; the generator's state is the word `memory[at]`, signed or not."""
    state = np.uint64(memory[at]) + GOLDEN
    memory[at] = state
    return mixed(state)


@kernel
def below(memory: NDArray[np.int64], at: int, bound: int) -> int:
    """Return a random number from 0 to `bound - 1`; the generator's state is the word `memory[at]`.

    The bias is below `bound / 2^31`.
    """
    return int((np.int64(draw(memory, at) >> np.uint64(33)) * bound) >> 31)
