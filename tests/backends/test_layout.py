"""The buffer: alignment, the control block, carrying."""

from __future__ import annotations

import mmap
import struct
from itertools import pairwise

import numpy as np
import pytest

from pac.backends import LayoutMismatch
from pac.backends.core.layout import ALIGNMENT, MAGIC, Layout
from pac.envs import BadParameter, find
from pac.envs.fields import FINAL_OBSERVATION

TASK = find("drmario")


def stamped(layout: Layout) -> mmap.mmap:
    memory = mmap.mmap(-1, layout.size)
    layout.stamp(memory)
    return memory


@pytest.mark.parametrize("num_envs", [1, 3, 16])
def test_every_field_is_one_aligned_block(num_envs):
    """Each field starts at a multiple of 64 bytes, has its shape, and overlaps no other.

    Every slot shows the one of the last observations.
    """
    layout = Layout(TASK, num_envs, 4)
    buffer = layout.map()
    spans = []
    for item in TASK.fields:
        array = buffer[item.name]
        assert array.ctypes.data % ALIGNMENT == 0
        assert array.shape == (4 if item.timed else 1, num_envs, *item.stored_shape)
        block = array[:1] if item.name == FINAL_OBSERVATION else array
        assert block.flags["C_CONTIGUOUS"]
        spans.append((block.ctypes.data, block.ctypes.data + block.nbytes))
    spans.sort()
    assert all(end <= begin for (_, end), (begin, _) in pairwise(spans))


def test_the_control_block_says_what_the_segment_is():
    """The first 20 bytes are the magic number, the version, N, and the sizes of an observation and of the actions."""
    memory = stamped(Layout(TASK, 5, 2))
    assert struct.unpack_from("<5I", memory) == (MAGIC, 2, 5, 20 * 16 * 8, 512)


@pytest.mark.parametrize("offset", [0, 4, 8, 12, 16, 20, 28, 32])
def test_a_segment_of_another_layout_is_refused(offset):
    """Another magic number, version, size or field list is an error before anything is touched."""
    layout = Layout(TASK, 5, 2)
    memory = stamped(layout)
    memory[offset] ^= 1
    with pytest.raises(LayoutMismatch, match="size or version differs"):
        layout.map(memory)


def test_a_short_segment_is_refused():
    """A segment that ends before its control block does, or before its fields do, is an error."""
    layout = Layout(TASK, 5, 2)
    with pytest.raises(LayoutMismatch, match="control block"):
        layout.map(mmap.mmap(-1, 16))
    memory = mmap.mmap(-1, layout.size - 64)
    memory[:64] = stamped(layout)[:64]
    with pytest.raises(LayoutMismatch, match="expected a segment of"):
        layout.map(memory)


def test_a_fresh_buffer():
    """No episode has begun; it is in memory of the CPU, and other devices are refused with those that there are."""
    fresh = Layout(TASK, 3).map()
    assert (fresh["episode"] == -1).all()
    assert fresh.device == "cpu"
    with pytest.raises(BadParameter, match="cannot write into memory of the device 'mps'; use cpu, cuda, cuda:K"):
        Layout(TASK, 1, device="mps")


def test_carry_copies_the_last_slot_of_what_is_timed():
    """Between two rollouts the last slot becomes the first; with one slot nothing happens."""
    buffer = Layout(TASK, 2, 3).map()
    buffer["reward"][:, :] = np.arange(3)[:, None]
    buffer["episode"][:] = 4
    buffer.order.wrote(2, steps=2)
    buffer.carry()
    assert buffer["reward"][:, 0].tolist() == [2, 1, 2]
    assert (buffer["episode"] == 4).all()
    single = Layout(TASK, 2).map()
    single["reward"][:] = 7
    single.carry()
    assert (single["reward"] == 7).all()
