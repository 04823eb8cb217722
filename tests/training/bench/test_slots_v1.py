"""The layout by slots, which the benchmark compares with: its offsets and its contents."""

from __future__ import annotations

import numpy as np

from pac.envs import allocate, find
from pac.training.bench.backends.slots_v1 import SLOT, Slots, compare_layouts, gather

NUM_ENVS = 3


def test_a_slot_has_its_offsets():
    """Every field of a slot has the offset of version 1."""
    assert SLOT.fields is not None
    places = {name: place[1] for name, place in SLOT.fields.items()}
    assert places == {
        "action_ready": 0,
        "result_ready": 4,
        "command": 8,
        "action": 12,
        "reward": 16,
        "done": 20,
        "rank": 21,
        "life": 22,
        "money": 24,
        "stage": 26,
        "board_size": 28,
        "level": 29,
        "synergy_count": 30,
        "items_held": 31,
        "observation": 32,
        "action_mask": 2480,
        "unused": 2572,
    }
    assert SLOT.itemsize == 5120


def test_slots_and_fields_have_the_same_contents():
    """The learner reads the same bytes from slots and from fields."""
    task, memory = find("noop:length=3"), Slots(NUM_ENVS)
    in_slots, in_fields, gathered = memory.buffers(task), allocate(task, NUM_ENVS), allocate(task, NUM_ENVS)
    both = [task.make(0, NUM_ENVS, buffers, 0) for buffers in (in_slots, in_fields)]
    for environments in both:
        environments.reset(np.ones(NUM_ENVS, np.bool_), 0)
    for _ in range(7):
        for environments in both:
            environments.step(0)
        gather(memory.slots, gathered, 0)
        for name in ("observation", "action_mask", "reward", "terminated"):
            assert gathered[name].tobytes() == in_fields[name].tobytes(), name


def test_the_comparison_measures_both():
    """Each N has the times of both layouts and the cost of gathering."""
    rows = compare_layouts(lambda _what, _share: None, steps=30)["rows"]
    assert [row["num_envs"] for row in rows] == [1, 8, 32, 64]
    assert all(row["gather_us"] == row["slots_us"] - row["fields_us"] for row in rows)
    assert all(row["slots_us"] > 0 and row["fields_us"] > 0 for row in rows)
