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
    """Bytes on a device.

    Attributes:
        buffer: Of the fields in all slots.
        working: Of the working memory of all threads.
        free: What environments may use.
        text: All of these, for people.
    """

    buffer: int
    working: int
    free: int
    text: str

    @property
    def needed(self) -> int:
        """What the environments need."""
        return self.buffer + self.working


def budget_of(layout: Layout) -> MemoryBudget:
    """Return the memory that a layout's environments need on its device, and what there is of it."""
    task, device = layout.task, torch_device(layout.device)
    one = cast("NativeEnvironments", task.make(0, 1, allocate(task, 1, 1), 0))
    working = layout.num_envs * sum(stride_of(each) for each in one.packed.arrays if each.works)
    free = torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else available_memory()
    free = int(free * SHARE)
    needed = human_bytes(layout.size + working)
    text = (
        f"N={layout.num_envs:,} needs about {needed} on {device} "
        f"({human_bytes(layout.size)} for {layout.slots:,} slots, {human_bytes(working)} for the work of threads), "
        f"{human_bytes(free)} are available"
    )
    return MemoryBudget(layout.size, working, free, text)


def stride_of(each: TableArray) -> int:
    """Return the bytes between the working memories of two environments."""
    return max(ALIGNMENT, -(-each.array.nbytes // ALIGNMENT) * ALIGNMENT)
