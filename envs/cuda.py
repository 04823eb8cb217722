"""A game's compiled kernels as CUDA kernels with one thread per environment.

Compiling needs the extra [cuda] and no GPU. The words of the table of arrays are arguments of the kernel. A GPU
reads arguments as constants: loaded from an array, most of them would occupy registers for the whole step.

In Numba's CUDA simulator (NUMBA_ENABLE_CUDASIM=1), the same kernels and the game's rules run as Python.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import numpy as np
from numba import types
from numba.extending import intrinsic

from .driver import KernelPhase, NativeEnvironments
from .fields import Array
from .kernel_tables import KernelTable
from .launching import SIMULATED
from .native import ALL_LEGAL
from .task import Task, allocate

PACKAGE = "numba_cuda"
if not hasattr(np, "row_stack"):  # numba-cuda 0.30 asks for this name, which NumPy 2.5 no longer has
    np.row_stack = np.vstack  # noqa: NPY201
os.environ.setdefault("NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS", "0")  # users choose the number of environments
cuda: Any = import_module("numba.cuda")  # which the package numba-cuda replaces; the simulator looks for this name
CONSTANT_BYTES = 1024
"""Constant arrays of a game up to this size are in constant memory, which has 64 KiB for all of them."""


class Kernel(NamedTuple):
    """A Python function that `numba.cuda` compiles, and the types of its arguments."""

    function: Callable[..., None]
    signature: Any


class LaunchArrays(NamedTuple):
    """The arrays that kernels get besides those of the game.

    Attributes:
        mask: `(N,)` bool, the environments that are reset.
        illegal: `(N, 2)` int64, the row and the slot of the first illegal action of each environment, or `ALL_LEGAL`.
    """

    mask: Array
    illegal: Array


LAUNCH = KernelTable(lambda: LaunchArrays(np.zeros(1, np.bool_), np.zeros((1, 2), np.int64)))
launch_arrays = LAUNCH.unpack


def unavailable() -> str:
    """Return why no kernel can be compiled, or an empty string."""
    return "" if SIMULATED or find_spec(PACKAGE) else "numba-cuda is not installed; the extra [cuda] has it"


def kernel_of(envs: NativeEnvironments, name: str) -> Kernel:
    """Return a kernel of a game: `reset`, `step` or `show`; or a phase of its step, `step 0` and so on.

    Its arguments are the words of the table of arrays; the bytes between the working memories of two environments, for
    each array of it; the words of `LaunchArrays`; the number of environments; a slot; and the next slot, of `reset`
    the seed. An environment with an illegal action is not stepped, and the first of them is noted.
    """
    phase = phase_of(envs, name)
    run = _inlined(phase.run if phase else getattr(envs.kernels, name))
    threads = phase.threads if phase else 1
    places = [each.place for each in envs.packed.arrays if each.works]
    own = _own_memory(places)
    note = _inlined(_note_illegal)

    def reset_environment(table: Any, sizes: Any, arrays: Any, envs: int, slot: int, seed: int) -> None:
        env = cuda.grid(1)
        if env < envs:
            run(own(table, sizes, env), env, slot, launch_arrays(arrays).mask[env : env + 1], np.uint64(seed))

    def step_environment(table: Any, sizes: Any, arrays: Any, envs: int, slot: int, following: int) -> None:
        env = cuda.grid(1)
        if env < envs:
            note(run(own(table, sizes, env), env, env + 1, slot, following), arrays, env, slot)

    def run_phase(table: Any, sizes: Any, arrays: Any, envs: int, slot: int, following: int) -> None:
        index = cuda.grid(1)
        env = index // threads
        if env < envs:
            note(run(own(table, sizes, env), env, index % threads, slot, following), arrays, env, slot)

    def show_environment(table: Any, sizes: Any, arrays: Any, envs: int, slot: int, _following: int) -> None:  # noqa: ARG001
        env = cuda.grid(1)
        if env < envs:
            run(own(table, sizes, env), env, env + 1, slot)

    functions = {"reset": reset_environment, "step": step_environment, "show": show_environment}
    function = run_phase if phase else functions[name]
    number = types.int64
    words = (len(envs.packed.words), max(1, len(places)), 5)
    tuples = (types.UniTuple(number, count) for count in words)  # type: ignore[no-untyped-call]
    return Kernel(function, types.void(*tuples, number, number, number))


def phase_of(envs: NativeEnvironments, name: str) -> KernelPhase | None:
    """Return the phase of a game's step that a kernel is, None if it is another kernel."""
    kind, _, index = name.partition(" ")
    return envs.kernels.phases[int(index)] if kind == "step" and index else None


def step_names(envs: NativeEnvironments) -> tuple[str, ...]:
    """Return the names of the kernels that make a step, in order."""
    return tuple(f"step {index}" for index in range(len(envs.kernels.phases))) or ("step",)


def _note_illegal(wrong: int, arrays: Any, env: int, slot: int) -> None:
    if wrong != ALL_LEGAL:
        illegal = launch_arrays(arrays).illegal
        if illegal[env, 0] == ALL_LEGAL:
            illegal[env, 0] = wrong
            illegal[env, 1] = slot


def _own_memory(places: list[int]) -> Any:
    """Return a function of a table, sizes and an environment: the table with the environment's own working memory."""

    def in_python(table: tuple[int, ...], sizes: tuple[int, ...], env: int) -> tuple[int, ...]:
        words = list(table)
        for place, size in zip(places, sizes, strict=False):
            words[place] += env * size
        return tuple(words)

    def shift(_context: Any, table: Any, _sizes: Any, _env: Any) -> Any:
        def build(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            moved, sizes, env = arguments
            for index, place in enumerate(places):
                offset = builder.mul(env, builder.extract_value(sizes, index))
                moved = builder.insert_value(moved, builder.add(builder.extract_value(moved, place), offset), place)
            return moved

        return table(table, _sizes, types.int64), build

    return in_python if SIMULATED else intrinsic(shift)


def step_kernels(task: Task) -> dict[str, Kernel]:
    """Return the kernels that step environments of a native task, in order, by name."""
    envs = cast("NativeEnvironments", task.make(0, 1, allocate(task, 1, 2), 0))
    return {name: kernel_of(envs, name) for name in step_names(envs)}


def fight_kernel() -> Kernel:
    """Return the kernel that runs one fight of auto-chess per thread.

    Its arguments are arrays with a row per fight: both teams, their sizes `(fights, 2)`, the seeds `(fights,)`, working
    memory, results and films, as `combat.fight` describes them.
    """
    from .autochess.combat import fight

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
    with _without_gpu(capability), _large_arrays_in_global_memory(), _some_functions_called(), _rounded_as_on_the_cpu():
        return str(cuda.compile_ptx(kernel.function, kernel.signature, cc=capability)[0])


def compiled_for_device(kernel: Kernel) -> Any:
    """Compile a kernel for the current GPU; in the simulator, return the function that runs it as Python."""
    if SIMULATED:
        return cuda.jit(kernel.function)
    with _large_arrays_in_global_memory(), _some_functions_called(), _rounded_as_on_the_cpu():
        return cuda.jit(kernel.signature)(kernel.function)


def _inlined(run: Any) -> Any:
    """Return a kernel as a device function that is inlined, so that it reads the arguments where they are."""
    function = getattr(run, "py_func", run)
    return function if SIMULATED else cuda.jit(device=True, forceinline=True)(function)


@contextmanager
def _replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Replace an attribute of numba-cuda in the block."""
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


def _without_gpu(capability: tuple[int, int]) -> AbstractContextManager[None]:
    """Give numba-cuda the compute capability, which it otherwise asks the driver for to compile called functions."""
    dispatcher = import_module("numba.cuda.dispatcher")
    return _replaced(dispatcher, "get_current_device", lambda: SimpleNamespace(compute_capability=capability))


def _large_arrays_in_global_memory() -> AbstractContextManager[None]:
    """Compile the large constant arrays of a game into global memory.

    numba-cuda copies them into constant memory wherever a function is inlined that uses them. Auto-chess would need
    three times the constant memory that there is. Constant memory is also slow where threads read different elements.
    """
    target: Any = import_module("numba.cuda.target").CUDATargetContext
    nvvm: Any = import_module("numba.cuda.cudadrv.nvvm")
    made, constant = target.make_constant_array, nvvm.ADDRSPACE_CONSTANT

    def make(self: Any, builder: Any, kind: Any, array: Any) -> Any:
        space = constant if array.nbytes <= CONSTANT_BYTES else nvvm.ADDRSPACE_GLOBAL
        with _replaced(nvvm, "ADDRSPACE_CONSTANT", space):
            return made(self, builder, kind, array)

    return _replaced(target, "make_constant_array", make)


def _some_functions_called() -> AbstractContextManager[None]:
    """Compile calls of the functions that a game marks as `called_on_gpu`.

    The compiler for GPUs inlines nearly everything. Of a large game, it then cannot keep all variables in registers.
    """
    descriptor: Any = import_module("numba.cuda.core.funcdesc").FunctionDescriptor
    declared = descriptor.declare_function

    def declare(self: Any, module: Any) -> Any:
        function = declared(self, module)
        rules = getattr(sys.modules.get(self.modname), self.qualname, None)
        if getattr(getattr(rules, "py_func", None), "called_on_gpu", False):
            function.attributes.add("noinline")
        return function

    return _replaced(descriptor, "declare_function", declare)


def _rounded_as_on_the_cpu() -> AbstractContextManager[None]:
    """Compile products and sums of floats as two operations; fused, the product would not be rounded."""
    nvvm: Any = import_module("numba.cuda.cudadrv.nvvm")
    compiled = nvvm.compile_ir

    def compile_ir(rules: Any, **options: Any) -> Any:
        return compiled(rules, **{"fma": False, **options})

    return _replaced(nvvm, "compile_ir", compile_ir)
