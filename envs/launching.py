"""Runs a game's compiled step over several slices of its environments at the same time, in a compiled parallel loop.

A launcher gets, for every slice, the table of the arrays that the step works on (`KernelTable`): each slice has its own
working memory, and all of them have the same fields. The rules are the ones that every backend runs. Nothing of the
loop depends on a game, so it is compiled once for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from numba import config, get_num_threads, njit, prange, set_num_threads, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from .native import ALL_LEGAL
from .openmp import start_threads
from .slots import next_slot

if TYPE_CHECKING:
    from .driver import NativeEnvironments

Words: TypeAlias = NDArray[np.int64]


class Launcher:
    """Steps slices of the environments of a native game at the same time.

    Args:
        slices: The slices, one after the other; all of one game.
        num_slots: Slots S of the buffer.
        threads: Threads of the loop; at most Numba's limit, which is the number of cores.
    """

    def __init__(self, slices: Sequence[NativeEnvironments], num_slots: int, threads: int) -> None:
        start_threads()
        self._slices, self._num_slots = tuple(slices), num_slots
        self._threads = min(threads, int(cast("Any", config).NUMBA_NUM_THREADS))
        self._tables = np.stack([each.table for each in slices])
        self._bounds = np.array([*(each.lo for each in slices), slices[-1].hi])
        self._step = address_of(slices[0].kernels.step)
        self._illegal = np.full(len(slices), ALL_LEGAL)

    def step(self, slot: int) -> None:
        """Read the actions of `slot`, write all other fields into the next slot, and reset ended environments.

        Raises:
            IllegalAction: An action is out of range or masked; its environment was not stepped, the others were.
        """
        slots, before = (slot, next_slot(slot, self._num_slots)), get_num_threads()
        set_num_threads(self._threads)
        try:
            _step_slices(self._step, self._tables, self._bounds, slots, self._illegal)
        finally:
            set_num_threads(before)
        wrong = self._illegal[self._illegal != ALL_LEGAL]
        if len(wrong):
            raise self._slices[0].complaint(int(wrong[0]), slot)


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
