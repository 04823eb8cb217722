"""One of two processes that measure the sums of ranks: prints seconds per call, of a few bytes and of gradients.

Started by torchrun, with the bytes of the gradients as its argument.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from statistics import median

import torch

from ..torchrun import join_ranks

CALLS, BLOCKS = 50, 9


def main() -> None:
    """Measure, and print JSON on rank 0."""
    ranks = join_ranks()
    gradients = torch.zeros(int(sys.argv[1]) // 4)
    found = {
        "small": _seconds(lambda: ranks.maximum(0)),
        "gradients": _seconds(lambda: ranks.add([gradients])),
    }
    if ranks.is_writer:
        sys.stdout.write(json.dumps(found))
    ranks.leave()


def _seconds(collective: Callable[[], object]) -> float:
    times = []
    for _ in range(BLOCKS):
        begun = time.perf_counter()
        for _ in range(CALLS):
            collective()
        times.append((time.perf_counter() - begun) / CALLS)
    return median(times)


if __name__ == "__main__":
    main()
