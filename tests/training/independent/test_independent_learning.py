"""Independent agents learn to hunt stags together or hares alone: minutes on one core, so not in the quick part."""

from typing import Any

import numpy as np
import pytest

from pac.envs import find
from pac.training.independent.trainer import Independent

from ..alone import context, started

NUM_ENVS, LAST = 8, 400
"""Environments, and the ends of episodes of which the catches are counted: one per agent and episode."""


def share_of_stags(spec: str, steps: int) -> float:
    """Train for so many steps of all environments together; return which share of what was caught last are stags."""
    given: Any = context(find(spec), trainer="independent", processes=False)
    with started(Independent, given, NUM_ENVS) as trainer:
        envs, ends = trainer.owner.envs, list[tuple[int, int]]()
        while trainer.steps * NUM_ENVS < steps:
            head = envs.order.head
            trainer.iterate()
            for span in envs.order.since(head):
                now = {name: envs.buffer[name][span.written] for name in ("terminated", "truncated", "stags", "hares")}
                over = (now["terminated"] | now["truncated"]) > 0
                ends += zip(now["stags"][over], now["hares"][over], strict=True)
    stags, hares = np.sum(ends[-LAST:], axis=0)
    assert stags + hares > LAST / 2
    return float(stags / (stags + hares))


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_payoffs_decide_what_independent_agents_hunt():
    """Without risk and with poor hares they learn to hunt stags together; with risk and rich hares, to hunt hares."""
    assert share_of_stags("staghunt:stags=6,hares=1,hare=0.25", 40_000) >= 0.8
    assert share_of_stags("staghunt:hare=3,risk=3", 40_000) <= 0.2
