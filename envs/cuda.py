"""A game's compiled step as a CUDA kernel with one thread per environment.

It needs the extra [cuda], and no GPU to compile. The words of the table of arrays are arguments of the kernel. A GPU
reads arguments as constants: loaded from an array, most of them would occupy registers for the whole step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import numpy as np

from .driver import NativeEnvironments
from .task import Task, allocate

PACKAGE = "numba_cuda"


class Kernel(NamedTuple):
    """A Python function that `numba.cuda` compiles, and the types of its arguments.

    Attributes:
        function: The function.
        signature: Its signature.
    """

    function: Callable[..., None]
    signature: Any


def unavailable() -> str:
    """Return why no kernel can be compiled, or an empty string."""
    return "" if find_spec(PACKAGE) else "numba-cuda is not installed; the extra [cuda] has it"


def step_kernel(task: Task) -> Kernel:
    """Return the kernel that steps environments of a native task.

    Its arguments are the words of the table of arrays; the bytes between the working memories of two environments, for
    each word of `own_words`; the number of environments, the slot, the next slot; and an int64 array `(environments,)`
    for the first row of each environment whose action is illegal, or `ALL_LEGAL`. An environment with an illegal action
    is not stepped.
    """
    from numba import types
    from numba.extending import intrinsic

    cuda = _numba_cuda()

    envs, places = _tables(task)
    step = _inlined(envs.kernels.step)

    def shift(_context: Any, table: Any, _sizes: Any, _env: Any) -> Any:
        def build(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            moved, sizes, env = arguments
            for index, place in enumerate(places):
                offset = builder.mul(env, builder.extract_value(sizes, index))
                moved = builder.insert_value(moved, builder.add(builder.extract_value(moved, place), offset), place)
            return moved

        return table(table, _sizes, types.int64), build

    own: Any = intrinsic(shift)

    def step_environment(table: Any, sizes: Any, envs: int, slot: int, following: int, illegal: Any) -> None:
        env = cuda.grid(1)
        if env < envs:
            illegal[env] = step(own(table, sizes, env), env, env + 1, slot, following)

    number, rows = types.int64, types.Array(types.int64, 1, "C")
    table, sizes = (types.UniTuple(number, count) for count in (len(envs.table), max(1, len(places))))  # type: ignore[no-untyped-call]
    return Kernel(step_environment, types.void(table, sizes, number, number, number, rows))


def own_words(task: Task) -> list[int]:
    """Return the words of the table that are addresses of working memory, which threads must not share."""
    return _tables(task)[1]


def _tables(task: Task) -> tuple[NativeEnvironments, list[int]]:
    """Return environments, and where the table of others over the same buffers differs: what is not in the buffers."""
    buffers = allocate(task, 2, 2)
    one, other = (cast("NativeEnvironments", task.make(env, env + 1, buffers, 0)) for env in range(2))
    return one, np.flatnonzero(one.table != other.table).tolist()


def fight_kernel() -> Kernel:
    """Return the kernel that runs one fight of auto-chess per thread.

    Its arguments are arrays with a row per fight: both teams, their sizes `(fights, 2)`, the seeds `(fights,)`, working
    memory, results and films, as `combat.fight` describes them.
    """
    from numba import types

    from .autochess.combat import fight

    cuda = _numba_cuda()

    def run_fight(one: Any, other: Any, sizes: Any, seeds: Any, arena: Any, result: Any, film: Any) -> None:
        index = cuda.grid(1)
        if index < seeds.shape[0]:
            counts = sizes[index]
            fight(
                one[index], counts[0], other[index], counts[1], seeds[index], arena[index], result[index], film[index]
            )

    rows, column = types.Array(types.int64, 2, "C"), types.Array(types.int64, 1, "C")
    return Kernel(run_fight, types.void(rows, rows, rows, column, rows, rows, rows))


def ptx_of(kernel: Kernel, capability: tuple[int, int]) -> str:
    """Compile a kernel for GPUs of a compute capability or a later one, and return its PTX; needs no GPU."""
    with _without_gpu(capability):
        return str(_numba_cuda().compile_ptx(kernel.function, kernel.signature, cc=capability)[0])


def _numba_cuda() -> Any:
    """Return the module `numba.cuda`, which the package numba-cuda replaces."""
    return import_module("numba.cuda")


def _inlined(step: Any) -> Any:
    """Return a step as a device function that is inlined, so that it reads the kernel's arguments where they are."""
    return _numba_cuda().jit(device=True, forceinline=True)(step.py_func)


@contextmanager
def _without_gpu(capability: tuple[int, int]) -> Iterator[None]:
    """Give numba-cuda the compute capability, which it otherwise asks the driver for to compile called functions."""
    dispatcher: Any = import_module("numba.cuda.dispatcher")
    asked = dispatcher.get_current_device
    dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=capability)
    try:
        yield
    finally:
        dispatcher.get_current_device = asked
