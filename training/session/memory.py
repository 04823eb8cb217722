"""Answers what the memory of a session is: of each process over time, and what each part of it is for."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...backends.core.memory import available_memory
from ...backends.system.cores import machine_memory
from ...backends.system.segment import human_bytes
from ...envs.fields import Array
from ...envs.slots import SlotOrder
from ..diagnosis.gpu import reasons
from ..diagnosis.machine import MachineEvidence
from ..diagnosis.memory import LEAST, ProcessMemory

SESSION, SHARED, GPU, OTHERS = "session", "shared", "GPU", "others"
"""Where a part is: in the session's own memory, in shared memory, on the GPU, or in the memory of other processes."""
TELEMETRY = "telemetry."
BLOCK = 512
"""Bytes that the system counts a file's memory in."""
MOST_OBJECTS = 5000
OPTIMIZERS = ("Optimizer", "Adam")
"""Names of classes whose tensors are an optimizer's, also of classes derived from them."""
OTHER_ARRAYS = "other arrays"
WALKED = "pac.training."
"""The package in whose objects tensors are looked for, and that of a trainer of another package."""
LEFT_OUT = ("pac.training.session", "pac.training.telemetry", "pac.training.trainer")


class Part(NamedTuple):
    """A part of the memory.

    Attributes:
        name: What it is.
        detail: How its size comes about; empty if there is nothing to say.
        size: In bytes.
        where: One of the four places.
    """

    name: str
    detail: str
    size: int
    where: str


def memory_of(machine: MachineEvidence, directory: Path, parts: list[Part]) -> Mapping[str, Any]:
    """Return the processes, the GPU, and all parts.

    Args:
        machine: What the sampler has seen.
        directory: The session's, with its shared memory.
        parts: What is known of the session's own memory and of its buffer.
    """
    now, (total, _) = time.monotonic(), machine_memory()
    processes = machine.memory.processes
    own = next((one for one in processes if one.pid == os.getpid()), None)
    files = dict(_files(directory))
    parts = [*parts]
    telemetry = sum(size for name, size in files.items() if name.startswith(TELEMETRY))
    known = sum(part.size for part in parts if part.where == SHARED)
    parts.append(Part("telemetry", "what viewers read", telemetry, SHARED))
    rest = sum(files.values()) - telemetry - known
    parts.append(Part("shared memory of workers", "orders, gate, logs", max(0, rest), SHARED))
    others = [one for one in processes if one is not own]
    if others:
        detail = f"{len(others)} processes: interpreter, libraries, environments"
        parts.append(Part("other processes", detail, sum(one.size for one in others), OTHERS))
    if own is not None:
        left = own.size - sum(part.size for part in parts if part.where == SESSION)
        parts.append(Part("rest of this process", "interpreter, libraries, temporary arrays", max(0, left), SESSION))
    return {
        "total": total,
        "available": available_memory(),
        "processes": [_described(one, now) for one in processes],
        "parts": [part._asdict() for part in parts if part.size],
        "gpu": _gpu(machine, now),
    }


def _described(process: ProcessMemory, now: float) -> dict[str, Any]:
    growth = process.growth
    return {
        "process": process.name,
        "pid": process.pid,
        "envs": process.steps,
        "own": process.size,
        "shared": process.shared,
        "rate": None if growth is None else growth.rate,
        "steady": growth is not None and process.grows and growth.rate >= LEAST,
        "curve": [[round(when - now, 1), size] for when, size in process.curve.rows()],
    }


def _gpu(machine: MachineEvidence, now: float) -> dict[str, Any] | None:
    """Return the GPU over time; NaN is None, as JSON has no NaN."""
    last = machine.gpu.last
    if last is None:
        return None
    known = {
        name: None if isinstance(value, float) and np.isnan(value) else value for name, value in last._asdict().items()
    }
    curve = [
        [round(when - now, 1), *(None if np.isnan(value) else value for value in row)]
        for when, *row in machine.gpu.curve.rows()
    ]
    return {
        **known,
        "throttled": reasons(last.throttled),
        "curve": curve,
    }


def _files(directory: Path) -> Iterator[tuple[str, int]]:
    """Yield the files of a session's directory, and the memory that they take."""
    with os.scandir(directory) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):
                yield entry.name, BLOCK * entry.stat(follow_symlinks=False).st_blocks


# -- what the trainer keeps --------------------------------------------------------------------------------------------


def buffer_part(buffer: Mapping[str, Array], order: SlotOrder, *, shared: bool) -> Part:
    """Return the part that a buffer is: what environments write, and the learner reads.

    Memory of this process is taken as it is written; shared memory is reserved at the beginning.
    """
    slots = order.slots
    size = sum(array.nbytes if array.strides[0] else array[0].nbytes for array in buffer.values())
    rows = buffer["action"].shape[1]
    detail = f"{slots:,} slots x {rows:,} rows x {human_bytes(size / slots / rows)}"
    if order.ring and not shared and order.head < slots:
        filled = order.head / slots
        size, detail = round(filled * size), f"{detail}, {filled:.0%} written"
    return Part("replay" if order.ring else "rollout", detail, size, SHARED if shared else SESSION)


def trainer_parts(trainer: object, buffer: Mapping[str, Array]) -> list[Part]:
    """Return what a trainer keeps besides the buffer: weights, the optimizer's state, other tensors and arrays."""
    written = [array if array.strides[0] else array[0] for array in buffer.values() if isinstance(array, np.ndarray)]
    spans = [(array.ctypes.data, array.ctypes.data + array.nbytes) for array in written]
    found: dict[tuple[str, int], tuple[str, int]] = {}
    for name, place, address, size in _walk(trainer):
        if not any(low <= address < high for low, high in spans):
            found.setdefault((place, address), (name, size))
    parts: dict[tuple[str, str], int] = {}
    for (place, _), (name, size) in found.items():
        parts[name, place] = parts.get((name, place), 0) + size
    order = ("weights", "optimizer", OTHER_ARRAYS)
    return [
        Part(name, "of the trainer", parts[name, place], place)
        for name in order
        for place in (SESSION, GPU)
        if (name, place) in parts
    ]


def _walk(trainer: object) -> Iterator[tuple[str, str, int, int]]:
    """Yield for each tensor or array: what it is, where, its address and its size; weights first."""
    torch = sys.modules.get("torch")
    package = type(trainer).__module__.partition(".")[0] + "."
    waiting: list[tuple[Any, bool]] = [(trainer, False)]
    seen: set[int] = set()
    later = []
    while waiting and len(seen) < MOST_OBJECTS:
        one, optimizes = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        optimizes = optimizes or any(kind.__name__ in OPTIMIZERS for kind in type(one).__mro__)
        if torch is not None and isinstance(one, torch.Tensor):
            storage = one.untyped_storage()
            place = SESSION if one.device.type == "cpu" else GPU
            name = "optimizer" if optimizes else OTHER_ARRAYS
            later.append((name, place, storage.data_ptr(), storage.nbytes()))
        elif isinstance(one, np.ndarray):
            while isinstance(one.base, np.ndarray):
                one = one.base
            later.append((OTHER_ARRAYS, SESSION, one.ctypes.data, one.nbytes))
        elif torch is not None and isinstance(one, torch.nn.Module):
            for tensor in (*one.parameters(), *one.buffers()):
                storage = tensor.untyped_storage()
                yield "weights", SESSION if tensor.device.type == "cpu" else GPU, storage.data_ptr(), storage.nbytes()
        else:
            waiting += ((inner, optimizes) for inner in _inner(one, package, optimizes=optimizes))
    yield from later


def _inner(one: Any, package: str, *, optimizes: bool) -> list[Any]:
    """Return what an object consists of; nothing of one that is not the trainer's."""
    with suppress(RuntimeError):  # the training thread has changed it meanwhile
        if isinstance(one, dict):
            return list(one.values())
        if isinstance(one, list | tuple | set | frozenset):
            return list(one)
        module = type(one).__module__
        own = module.startswith((WALKED, package)) and not module.startswith(LEFT_OUT)
        if (own or optimizes) and not isinstance(one, type):
            slots = (name for kind in type(one).__mro__ for name in getattr(kind, "__slots__", ()))
            return [*getattr(one, "__dict__", {}).values(), *(getattr(one, name, None) for name in slots)]
    return []
