"""Whether torchrun has started this process, and joining the others that it has started."""

from __future__ import annotations

import os

from .ranks import Ranks, SingleRank


def started_by_torchrun() -> bool:
    """Whether torchrun has started this process as one of several."""
    return "TORCHELASTIC_RUN_ID" in os.environ and int(os.environ.get("WORLD_SIZE", "1")) > 1


def is_first_rank() -> bool:
    """Whether this process is the first one of those that torchrun has started, or the only one."""
    return not started_by_torchrun() or os.environ["RANK"] == "0"


def local_rank() -> int:
    """Return the number of this process among those that torchrun has started on this machine; 0 if it has not."""
    return int(os.environ["LOCAL_RANK"]) if started_by_torchrun() else 0


def join_ranks() -> Ranks:
    """Return this process as one of those that torchrun has started, after they have joined, or as the only one."""
    if not started_by_torchrun():
        return SingleRank()
    from .torch_ranks import TorchRanks

    return TorchRanks()
