"""The arrays of kernels come from the task's fields by name, and a field of another type is refused."""

from __future__ import annotations

from dataclasses import fields as attributes
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

from pac.backends.core.layout import Layout
from pac.envs import Field, Task, allocate, find
from pac.envs.fields import Array
from pac.envs.kernel_tables import FieldArrays, KernelTable

from .begun import begun, legal_actions

GAMES = (
    *("drmario", "drmario-frames", "autochess", "autochess:players=8", "treasure"),
    *("staghunt:bots=1", "frames", "gameboy", "leduc", "holdem:betting=fcpa,stack=8"),
)
STEPS = 40
NUM_ENVS = 2


class Reordered(Task):
    """A task whose fields are in the opposite order."""

    @property
    def fields(self) -> tuple[Field, ...]:
        """The fields of the task, the last one first."""
        return super().fields[::-1]


def reordered(task: Task) -> Task:
    """Return `task` with its fields in another order and more of them."""
    more = replace(
        task,
        info=(Field("more", "float64"), *task.info[::-1]),
        boards=(*task.boards[::-1], Field("drawing", "uint16", (3, 5), timed=False)),
    )
    return Reordered(**{item.name: getattr(more, item.name) for item in attributes(Task)})


def changed(task: Task, item: Field) -> Task:
    """Return `task` with `item` in place of its info field or board of that name."""
    info, boards = (
        tuple(item if field.name == item.name else field for field in fields) for fields in (task.info, task.boards)
    )
    return replace(task, info=info, boards=boards)


def play(task: Task, expected: Task) -> dict[str, bytes]:
    """Return the fields of `expected` after some random actions."""
    _, buffers, environments = begun(task, NUM_ENVS, 2, seed=7)
    generator = np.random.default_rng(7)
    for _ in range(STEPS):
        buffers["action"][0] = legal_actions(task, buffers, 0, generator)
        environments.step(0)
        for item in task.fields:
            if item.timed:
                buffers[item.name][0] = buffers[item.name][1]
    environments.close()
    return {item.name: buffers[item.name].tobytes() for item in expected.fields}


@pytest.mark.parametrize("spec", GAMES)
def test_neither_the_order_nor_the_number_of_fields_matters(spec: str) -> None:
    """A task with its fields in another order, and with more of them, gives the same bytes."""
    task = find(spec)
    assert play(reordered(task), task) == play(task, task)


@pytest.mark.parametrize(
    ("spec", "item", "found"),
    [
        ("drmario", Field("viruses", "int64"), r"int64 \(\) per env, timed"),
        ("drmario", Field("viruses", "int32", (2,)), r"int32 \(2,\) per env, timed"),
        ("drmario", Field("viruses", "int32", timed=False), r"int32 \(\) per env, untimed"),
        ("autochess", Field("life", "int32"), r"int32 \(\) per env, timed"),
        ("autochess", Field("seats", "float32", (8, 1), timed=False), r"float32 \(8, 1\) per env, untimed"),
        ("kuhn", Field("pot", "float64"), r"float64 \(\) per env, timed"),
    ],
)
def test_a_field_of_another_type_is_named(spec: str, item: Field, found: str) -> None:
    """Kernels would write beyond an array, so the driver names the field, what it expects and what it found."""
    task = changed(find(spec), item)
    with pytest.raises(ValueError, match=f"expect {item.name} to be .*, the task has {found}"):
        task.make(0, 1, allocate(task, 1), 0)


def test_a_missing_field_is_named() -> None:
    """A task without a field of its game is refused."""
    task = find("drmario")
    without = replace(task, info=tuple(item for item in task.info if item.name != "pills"))
    with pytest.raises(ValueError, match=r"expect pills to be .*, the task has no such field"):
        without.make(0, 1, allocate(without, 1), 0)


class Pair(NamedTuple):
    """An array and a number."""

    numbers: Array
    most: int


@pytest.mark.parametrize(
    "array", [np.zeros((2, 3), np.float64), np.zeros(2, np.float32), np.zeros((4, 6), np.float32)[::2]]
)
def test_an_array_of_another_type_is_not_packed(array: Array) -> None:
    """A table is made of blocks of the types that are compiled into kernels."""
    table = KernelTable(lambda: Pair(np.zeros((1, 1), np.float32), 0))
    with pytest.raises(ValueError, match="numbers: the kernels are compiled for one block of float32 with 2 axes, got"):
        table.pack(Pair(array, 1))


def test_a_table_has_addresses_shapes_and_numbers() -> None:
    """The words of a table are those from which a kernel rebuilds the arrays."""
    array = np.zeros((2, 3), np.float32)
    packed = KernelTable(lambda: Pair(array, 0)).pack(Pair(array, 5))
    assert packed.words.tolist() == [array.ctypes.data, 2, 3, 5]
    assert [(each.place, each.array is array) for each in packed.arrays] == [(0, True)]


def test_a_buffer_has_one_slot_of_last_observations() -> None:
    """Kernels that would index it by the number of the slot are refused, before they write behind it."""
    task = find("drmario")
    fields = FieldArrays(task, Layout(task, 2, 5).map())
    assert fields.last_observations(np.uint64).shape[:2] == (1, 2)
    assert fields["observation"].shape[:2] == (5, 2)
    with pytest.raises(ValueError, match="a buffer has one slot of final_observation"):
        fields["final_observation"]
