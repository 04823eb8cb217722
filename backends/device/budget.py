"""The memory that environments need on a device, computed before anything is allocated."""

from __future__ import annotations

from typing import NamedTuple, cast

import torch

from ...envs.driver import NativeEnvironments
from ...envs.kernel_tables import TableArray
from ...envs.task import allocate
from ..core.layout import ALIGNMENT, Layout
from ..core.memory import SHARE, available_memory
from ..system.segment import human_bytes
from .memory import torch_device


class MemoryBudget(NamedTuple):
    """The memory of a device.

    Attributes:
        needed: Bytes that the environments need: all slots of the fields, and the working memory of all threads.
        free: Bytes that environments may use.
        text: Both, for people.
    """

    needed: int
    free: int
    text: str


def budget_of(layout: Layout) -> MemoryBudget:
    """Return how much memory a layout's environments need on its device, and how much they may use."""
    task, device = layout.task, torch_device(layout.device)
    one = cast("NativeEnvironments", task.make(0, 1, allocate(task, 1, 1), 0))
    working = layout.num_envs * sum(stride_of(each) for each in one.packed.arrays if each.works)
    free = torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else available_memory()
    needed, free = layout.size + working, int(free * SHARE)
    text = (
        f"N={layout.num_envs:,} needs about {human_bytes(needed)} on {device} "
        f"({human_bytes(layout.size)} for {layout.slots:,} slots, {human_bytes(working)} for the work of threads), "
        f"{human_bytes(free)} are available"
    )
    return MemoryBudget(needed, free, text)


def stride_of(each: TableArray) -> int:
    """Return the bytes between the working memories of two environments."""
    return max(ALIGNMENT, -(-each.array.nbytes // ALIGNMENT) * ALIGNMENT)
