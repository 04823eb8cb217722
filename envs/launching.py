"""Runs the kernels of a native game for all of its environments: the interface for every device, and the CPU's version.

A launcher gets tables of the arrays that kernels work on (`KernelTable`), whose addresses are on its device. The rules
are the ones that every backend runs, and nothing here depends on a game.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, cast

import numpy as np
from numba import config, get_num_threads, njit, prange, set_num_threads, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from .native import ALL_LEGAL
from .openmp import start_threads
from .slots import next_slot

if TYPE_CHECKING:
    from .driver import NativeEnvironments

SIMULATED: bool = cast("Any", config).ENABLE_CUDASIM
"""Whether CUDA kernels run in Numba's simulator, as Python."""

Words: TypeAlias = NDArray[np.int64]


class Illegal(NamedTuple):
    """The first illegal action of an environment, which was not stepped: its row, and the slot with the action."""

    row: int
    slot: int


class Launcher(Protocol):
    """Runs kernels for all environments. Nothing waits for the device, except `illegal`."""

    def reset(self, mask: NDArray[np.bool_], slot: int, seed: int) -> None:
        """Begin the next episode of the masked environments, `(N,)`, and write their observations to `slot`."""

    def step(self, slot: int) -> None:
        """Read the actions of `slot`, write all other fields into the next slot, and reset ended environments."""

    def show(self, slot: int) -> None:
        """Write the observations, masks, numbers and boards of the states into `slot`."""

    def illegal(self) -> Illegal | None:
        """Return the first illegal action since the last call; wait for the steps."""


class CpuLauncher:
    """Steps slices of the environments at the same time, in a compiled parallel loop that is the same for all games.

    Args:
        slices: The slices, one after the other; all of one game.
        tables: The table of each slice, `(slices, words)`: each has working memory of its own, all have the same
            fields.
        num_slots: Slots S of the buffer.
        threads: Threads of the loop; at most Numba's limit, which is the number of cores.
    """

    def __init__(self, slices: Sequence[NativeEnvironments], tables: Words, num_slots: int, threads: int) -> None:
        start_threads()
        self._slices, self._tables, self._num_slots = tuple(slices), tables, num_slots
        self._threads = min(threads, int(cast("Any", config).NUMBA_NUM_THREADS))
        self._bounds = np.array([*(each.lo for each in slices), slices[-1].hi])
        self._kernels = slices[0].kernels
        self._step = address_of(self._kernels.step)
        self._illegal = np.full(len(slices), ALL_LEGAL)
        self._noted: Illegal | None = None

    def reset(self, mask: NDArray[np.bool_], slot: int, seed: int) -> None:
        """Begin the next episode of the masked environments, as `Launcher.reset` says."""
        for each, table in zip(self._slices, self._tables, strict=True):
            self._kernels.reset(table, each.lo, slot, mask[each.lo : each.hi], np.uint64(seed))

    def step(self, slot: int) -> None:
        """Step all environments whose action is legal, as `Launcher.step` says."""
        slots, before = (slot, next_slot(slot, self._num_slots)), get_num_threads()
        set_num_threads(self._threads)
        try:
            _step_slices(self._step, self._tables, self._bounds, slots, self._illegal)
        finally:
            set_num_threads(before)
        wrong = self._illegal[self._illegal != ALL_LEGAL]
        if len(wrong) and self._noted is None:
            self._noted = Illegal(int(wrong[0]), slot)

    def show(self, slot: int) -> None:
        """Write the observations of the states, as `Launcher.show` says."""
        for each, table in zip(self._slices, self._tables, strict=True):
            self._kernels.show(table, each.lo, each.hi, slot)

    def illegal(self) -> Illegal | None:
        """Return the first illegal action since the last call."""
        noted, self._noted = self._noted, None
        return noted


def address_of(step: Any) -> int:
    """Return the address of a compiled step, which is compiled or loaded now if it was not called yet."""
    step.compile(STEP)
    compiled = step.overloads[STEP.args]
    return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name))


TABLE = types.Array(types.int64, 1, "C")
STEP = types.int64(TABLE, types.int64, types.int64, types.int64, types.int64)
"""The signature of every game's step: table, first environment, one past the last, slot, next slot."""


def _call(_context: Any, _step: Any, _table: Any, _bounds: Any, _slots: Any) -> Any:
    """Call the step at an address with a table, the first environment and one past the last, and two slots."""

    def build(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        address, table, *pairs = arguments
        numbers = (builder.extract_value(pair, index) for pair in pairs for index in range(2))
        convention = context.call_conv
        kind = convention.get_function_type(STEP.return_type, STEP.args)
        step = builder.inttoptr(address, kind.as_pointer())
        return convention.call_function(builder, step, STEP.return_type, STEP.args, [table, *numbers])[1]

    pair = types.UniTuple(types.int64, 2)  # type: ignore[no-untyped-call]
    return STEP.return_type(types.int64, TABLE, pair, pair), build


call: Any = intrinsic(_call)


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _step_slices(step: int, tables: Words, bounds: Words, slots: tuple[int, int], illegal: Words) -> None:
    """Step every slice from the first slot into the second; note the first row of each whose action is illegal."""
    for index in prange(tables.shape[0]):
        lo, hi = bounds[index], bounds[index + 1]
        illegal[index] = call(step, tables[index], (lo, hi), slots)
        if illegal[index] != ALL_LEGAL:  # nothing was stepped: step all environments whose actions are legal
            for env in range(lo, hi):
                call(step, tables[index], (env, env + 1), slots)
