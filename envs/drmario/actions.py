"""From a placement to the buttons that play it, for replays, for people and for tests."""

from __future__ import annotations

import numpy as np

from ..errors import IllegalAction
from .kernels import is_legal
from .layout import ACTIONS, LONGEST_FALL, MASK, SCRATCH, Bytes, Words
from .plan import plan


def legal_count(state: Words) -> int:
    """How many placements a state's mask allows."""
    return sum(int(word).bit_count() for word in state[MASK : MASK + ACTIONS // 64])


def buttons(state: Words, action: int) -> Bytes:
    """The buttons held on every frame, as bits of `layout`, from control until the frame on which the pill locks.

    Args:
        state: One environment's state of `drmario`, `(WORDS,)`.
        action: A placement.

    Raises:
        IllegalAction: The state's mask forbids it.
    """
    if not is_legal(state, action):
        raise IllegalAction(f"expected one of the {legal_count(state)} placements that the mask allows, got {action}")
    path = np.zeros(LONGEST_FALL, np.uint8)
    frames = plan(state, state.view(np.int64), action, np.zeros(SCRATCH, np.uint64), path)
    return path[:frames]
