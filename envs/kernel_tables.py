"""Arrays of kernels: a table of numbers that is cheap to pass, from which a kernel rebuilds a named tuple of arrays.

Passing thirty arrays to a kernel costs 5 us per call, passing their table a tenth of that. Names, types and shapes come
from the task's fields: nothing here or in a game depends on their order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import cached_property
from itertools import count
from typing import Any, Generic, NamedTuple, TypeVar, cast

import numpy as np
from numba import from_dtype, types
from numba.core.cgutils import gep_inbounds
from numba.extending import intrinsic
from numba.np.arrayobj import get_itemsize, make_array, populate_array
from numba.np.numpy_support import as_dtype
from numpy.typing import DTypeLike, NDArray

from .fields import FINAL_OBSERVATION, Array, Buffers, Field
from .native import kernel
from .registry import find
from .simulated import array_at, in_python_or
from .task import Task, allocate

Views = TypeVar("Views", bound=tuple[Any, ...])


class FieldArrays:
    """The arrays of a task's fields by name: `(slots, rows, ...)`, untimed ones `(rows, ...)`.

    Raises:
        ValueError: The task lacks a field of the task that its `spec` names, which the kernels are written for, or has
            another type or shape of it; or an array is not one block of the field's type and shape.
    """

    def __init__(self, task: Task, buffers: Buffers) -> None:
        _check_fields(task, find(task.spec))
        _check_buffers(task, buffers)
        self._timed = {item.name: item.timed for item in task.fields}
        self._buffers = buffers

    def __getitem__(self, name: str) -> Array:
        array = self._buffers[name]
        if array.strides[0] == 0 and len(array) > 1:
            raise ValueError(
                f"a buffer has one slot of {name}: get it from last_observations, and write into slot % len(array)"
            )
        return array if self._timed[name] else array[0]

    def flat(self, name: str, dtype: DTypeLike = np.uint8) -> Array:
        """Return a field with its rows as flat arrays of `dtype`, which the bytes of a row are read as."""
        array = self[name]
        axes = 2 if self._timed[name] else 1
        return array.reshape(*array.shape[:axes], -1).view(dtype)

    def last_observations(self, dtype: DTypeLike | None = None) -> Array:
        """Return the last observations `(slots, rows, ...)`, or flat as `flat` does; a backend's buffer has one slot.

        Kernels write that of a step into `slot % len(array)`.
        """
        array = _block(self._buffers[FINAL_OBSERVATION])
        return array if dtype is None else array.reshape(*array.shape[:2], -1).view(dtype)

    def views(self, kind: type[Views], **others: Any) -> Views:
        """Return a named tuple of `others` and, under all other names, of the fields that have these names."""
        names: tuple[str, ...] = cast("Any", kind)._fields
        return kind(**others, **{name: self[name] for name in names if name not in others})

    def optional(self, name: str, dtype: DTypeLike) -> Array:
        """Return `flat(name, dtype)`, with no columns where the task does not have the field."""
        if name in self._timed:
            return self.flat(name, dtype)
        return np.zeros((*self["reward"].shape, 0), dtype)


def _block(array: Array) -> Array:
    """Return the one slot that an array shows in every slot, or the array itself."""
    return array[:1] if array.strides[0] == 0 else array


def _check_fields(task: Task, expected: Task) -> None:
    given = {item.name: _storage(item) for item in task.fields}
    for item in expected.fields:
        wanted, got = _storage(item), given.get(item.name, "no such field")
        if wanted != got:
            raise ValueError(f"the kernels of {task.name} expect {item.name} to be {wanted}, the task has {got}")


def _storage(item: Field) -> str:
    return f"{item.dtype} {item.stored_shape} per {item.per}, {'timed' if item.timed else 'untimed'}"


def _check_buffers(task: Task, buffers: Buffers) -> None:
    slots, num_envs = buffers["episode_length"].shape
    for item in task.fields:
        array = buffers[item.name]
        shape = item.block_shape(slots, num_envs, task.players)
        if array.shape != shape or array.dtype != item.dtype or not _block(array).flags.c_contiguous:
            got = f"{array.dtype} {array.shape} with strides {array.strides}"
            raise ValueError(
                f"{item.name} must be one contiguous block of {item.dtype} {shape}, got {got}; pass whole buffers"
            )


class CommonViews(NamedTuple):
    """The fields that the kernels of every game use and that have the same types in all of them.

    Those of seats are `(slots, rows, ...)`, those of games `(slots, environments)`; `episode` and `heartbeat` have no
    slots.
    """

    action: Array
    reward: Array
    terms: Array
    terminated: Array
    truncated: Array
    active: Array
    returns: Array
    length: Array
    frames: Array
    outcome: Array
    episode: Array
    heartbeat: Array


def common_views(fields: FieldArrays) -> CommonViews:
    """Return the common views of a task's fields."""
    terms = fields.optional("reward_terms", np.float32)
    return fields.views(CommonViews, terms=terms, returns=fields["episode_return"], length=fields["episode_length"])


@kernel
def forget(common: CommonViews, slot: int, env: int, players: int) -> None:
    """Set the results of an environment to zero, as before its first step."""
    common.length[slot, env] = common.frames[slot, env] = common.outcome[slot, env] = 0
    for row in range(env * players, (env + 1) * players):
        common.reward[slot, row] = common.returns[slot, row] = 0
        common.terminated[slot, row] = common.truncated[slot, row] = 0
        common.terms[slot, row] = 0


class Address(int):
    """The address of an array, as a number of a table, for kernels that compute addresses themselves."""

    array: Array

    @classmethod
    def of(cls, array: Array) -> Address:
        """Return the address of an array's first byte."""
        made = cls(array.ctypes.data)
        made.array = array
        return made


class TableArray(NamedTuple):
    """An array that a table has the address of.

    Attributes:
        place: The word with the address.
        array: The array: a part of the task's buffers, working memory, or constants of the game.
        works: Whether it is working memory, which threads must not share.
    """

    place: int
    array: Array
    works: bool


class PackedTable(NamedTuple):
    """The table of some views.

    Attributes:
        words: `(words,)` int64, which kernels get.
        arrays: The arrays whose addresses they contain.
    """

    words: NDArray[np.int64]
    arrays: tuple[TableArray, ...]

    def moved(self, address_of: Callable[[TableArray], int]) -> NDArray[np.int64]:
        """Return the words for arrays that are elsewhere, such as on another device: at the addresses returned."""
        words = self.words.copy()
        for each in self.arrays:
            words[each.place] = address_of(each)
        return words


class KernelTable(Generic[Views]):
    """Packs a named tuple of arrays, integers and named tuples into a table, and unpacks it in kernels.

    Types and numbers of axes are compiled into the kernels; addresses, shapes and integers are read from the table.

    Args:
        example: Returns the views of any task of the game. It is called when kernels are compiled.
        working: Names of the views that are working memory, or named tuples of it.

    Attributes:
        unpack: The function that kernels call with a table. It may also be a tuple of the table's words, which a GPU
            keeps in constant memory and not in registers.
    """

    def __init__(self, example: Callable[[], Views], *, working: Collection[str] = ()) -> None:
        self._example, self._working = example, frozenset(working)
        self.unpack: Callable[[NDArray[np.int64]], Views] = in_python_or(self._in_python, intrinsic(self._unpack))

    @cached_property
    def _kind(self) -> Any:
        return _kind_of(self._example())

    def pack(self, views: Views) -> PackedTable:
        """Return the table of `views`, which keeps their arrays alive.

        Raises:
            ValueError: An array is not one block, or its type is not the one that is compiled into the kernels.
        """
        words: list[int] = []
        arrays: list[TableArray] = []
        for number, array, works in _words(views, self._kind, "views", self._working):
            if array is not None:
                arrays.append(TableArray(len(words), array, works))
            words.append(number)
        return PackedTable(np.array(words, np.int64), tuple(arrays))

    def _in_python(self, table: NDArray[np.int64]) -> Views:
        """Return the views of a table, in kernels that are not compiled: those of Numba's CUDA simulator."""
        views: Views = _rebuilt_in_python(self._kind, iter(np.asarray(table).tolist()))
        return views

    def _unpack(self, _context: Any, table: Any) -> Any:
        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            if isinstance(table, types.UniTuple):
                words = (builder.extract_value(arguments[0], index) for index in count())
            else:
                data = make_array(signature.args[0])(context, builder, arguments[0]).data  # type: ignore[no-untyped-call]
                words = (builder.load(gep_inbounds(builder, data, index)) for index in count())  # type: ignore[no-untyped-call]
            return _rebuilt(context, builder, self._kind, words)

        return self._kind(table), build


def table_of(
    views_of: Callable[[Task, Buffers], Views], spec: str, *, working: Collection[str] = ()
) -> KernelTable[Views]:
    """Return the table of a game's views, whose types are those of the task `spec`; `working` as for `KernelTable`."""
    return KernelTable(lambda: views_of(find(spec), allocate(find(spec), 1)), working=working)


def _kind_of(value: Any) -> Any:
    if isinstance(value, tuple):
        return types.NamedTuple([_kind_of(part) for part in value], type(value))  # type: ignore[no-untyped-call]
    if isinstance(value, np.ndarray):
        return types.Array(from_dtype(value.dtype), value.ndim, "C")
    return types.int64


def _words(
    value: Any, kind: Any, name: str, working: Collection[str], *, works: bool = False
) -> Iterator[tuple[int, Array | None, bool]]:
    """Yield the words of a value; with an address also its array, and whether that is working memory."""
    works = works or name in working
    if isinstance(kind, types.NamedTuple):
        for part, of, field in zip(value, kind.types, kind.fields, strict=True):
            yield from _words(part, of, field, working, works=works)
    elif isinstance(kind, types.Array):
        if _kind_of(value) != kind or not value.flags.c_contiguous:
            raise ValueError(
                f"{name}: the kernels are compiled for one block of {kind.dtype} with {kind.ndim} axes, "
                f"got {value.dtype} {value.shape} with strides {value.strides}"
            )
        yield value.ctypes.data, value, works
        for extent in value.shape:
            yield extent, None, False
    else:
        yield int(value), value.array if isinstance(value, Address) else None, works


def _rebuilt_in_python(kind: Any, words: Iterator[int]) -> Any:
    """Return the value of `kind` that the next words of a table describe."""
    if isinstance(kind, types.NamedTuple):
        return kind.instance_class(*(_rebuilt_in_python(part, words) for part in kind.types))
    if not isinstance(kind, types.Array):
        return next(words)
    address, shape = next(words), [next(words) for _ in range(kind.ndim)]
    return array_at(address, tuple(shape), as_dtype(kind.dtype))


def _rebuilt(context: Any, builder: Any, kind: Any, words: Iterator[Any]) -> Any:
    """Return the LLVM value of `kind` that the next words of a table describe."""
    if isinstance(kind, types.NamedTuple):
        return context.make_tuple(builder, kind, [_rebuilt(context, builder, part, words) for part in kind.types])
    if not isinstance(kind, types.Array):
        return next(words)
    address, shape = next(words), [next(words) for _ in range(kind.ndim)]
    array = make_array(kind)(context, builder)  # type: ignore[no-untyped-call]
    itemsize = context.get_constant(types.intp, get_itemsize(context, kind))  # type: ignore[no-untyped-call]
    strides = [itemsize]
    for extent in reversed(shape[1:]):
        strides.insert(0, builder.mul(extent, strides[0]))
    data = builder.inttoptr(address, context.get_data_type(kind.dtype).as_pointer())
    populate_array(array, data=data, shape=shape, strides=strides, itemsize=itemsize, meminfo=None)  # type: ignore[no-untyped-call]
    return array._getvalue()  # noqa: SLF001 - the way of Numba's own carray
