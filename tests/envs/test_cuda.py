"""Kernels for GPUs, compiled without one."""

from typing import cast

import numba
import numpy as np
import pytest

from pac.envs import find
from pac.envs.cuda import unavailable
from pac.envs.driver import NativeEnvironments
from pac.envs.frames.views import TABLE, views, views_of
from pac.envs.task import allocate

from ..benchmarks.kernels import FIGHT, TASKS, kernels_of, measure_kernels, occupancy

compiling = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "-")


@pytest.mark.thorough
def test_the_words_of_a_table_give_the_same_arrays_as_the_table():
    """A kernel that gets the words as arguments sees what a kernel sees that gets their array."""
    task = find("frames")
    buffers = allocate(task, 3, 2)
    buffers["observation"][:] = np.arange(buffers["observation"].size).reshape(buffers["observation"].shape) % 251
    found = views_of(task, buffers)
    table = TABLE.pack(found).words

    @numba.njit
    def seen(table, slot, env):
        v = views(table)
        return v.observation[slot, env].sum(), v.common.reward.shape, v.numbers.steps

    assert seen(tuple(table.tolist()), 1, 2) == seen(table, 1, 2)
    assert seen(table, 1, 2)[0] == found.observation[1, 2].sum()


@pytest.mark.parametrize("spec", ["drmario", "treasure", "autochess", "frames", "gameboy", "leduc"])
def test_threads_share_the_game_and_not_the_working_memory(spec):
    """A table's arrays are in the buffers, or are working memory, or are constants that a step does not write."""
    task = find(spec)
    buffers = allocate(task, 2, 2)
    envs = cast("NativeEnvironments", task.make(0, 2, buffers, 0))
    blocks = [(array.ctypes.data, array.ctypes.data + array.nbytes) for array in buffers.values() if array.nbytes]
    constants = []
    for each in envs.packed.arrays:
        inside = any(first <= each.array.ctypes.data < last for first, last in blocks)
        assert not (inside and each.works)
        if not inside and not each.works:
            constants.append((each.array, each.array.copy()))
    envs.reset(np.ones(2, np.bool_), 0)
    masks = buffers["action_mask"][0] if task.masked else None
    buffers["action"][0] = 0 if masks is None else np.unpackbits(masks, axis=-1, bitorder="little").argmax(axis=-1)
    envs.step(0)
    for array, before in constants:
        np.testing.assert_array_equal(array, before)


def test_occupancy_is_that_of_the_warps_whose_registers_fit():
    """Values of NVIDIA's occupancy calculator for compute capability 9.0."""
    assert [occupancy(registers) for registers in (32, 72, 96, 120, 128, 255)] == [1, 0.4375, 0.3125, 0.25, 0.25, 0.125]


@compiling
@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", [*TASKS, FIGHT])
def test_no_kernel_spills_registers(name):
    """Every kernel keeps its variables in registers, on every architecture."""
    rows = measure_kernels(names=(name,), progress=lambda _text, _share: None)["rows"]
    assert rows
    for row in rows:
        assert "error" not in row, row
        assert row["spill_stores"] == row["spill_loads"] == 0, row


@compiling
def test_kernels_take_the_words_of_the_table():
    """The first argument of a step has as many words as the game's table."""
    task = find("frames")
    table = cast("NativeEnvironments", task.make(0, 1, allocate(task, 1, 2), 0)).table
    assert len(kernels_of("frames")["frames"].signature.args[0]) == len(table)
