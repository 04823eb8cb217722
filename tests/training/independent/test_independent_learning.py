"""Independent agents learn to hunt stags together or hares alone: minutes on one core, so not in the quick part."""

from typing import Any

import numpy as np
import pytest

from pac.envs import find
from pac.training.playing import context_of
from pac.training.trainers import build_trainer, trainer_settings

NUM_ENVS, LAST = 8, 400
"""Environments, and the ends of episodes of which the catches are counted: one per agent and episode."""


def share_of_stags(spec: str, steps: int, seed: int = 0) -> float:
    """Train for so many steps of all environments together; return which share of what was caught last are stags."""
    task = find(spec)
    settings = trainer_settings("independent", task, {"processes": False})
    context, made = context_of(task, settings, seed)
    trainer: Any = build_trainer("independent", context)
    trainer.start(NUM_ENVS)
    buffer, ends = made[0].buffer, []
    while trainer.steps * NUM_ENVS < steps:
        head = made[0].order.head
        trainer.iterate()
        for span in made[0].order.since(head):
            slots = span.written
            over = (buffer["terminated"][slots] | buffer["truncated"][slots]) > 0
            ends += [(buffer["stags"][slots][at], buffer["hares"][slots][at]) for at in map(tuple, np.argwhere(over))]
    trainer.close()
    stags, hares = np.sum(ends[-LAST:], axis=0)
    assert stags + hares > LAST / 2
    return float(stags / (stags + hares))


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_payoffs_decide_what_independent_agents_hunt():
    """Without risk and with poor hares they learn to hunt stags together; with risk and rich hares, to hunt hares."""
    assert share_of_stags("staghunt:stags=6,hares=1,hare=0.25", 40_000) >= 0.8
    assert share_of_stags("staghunt:hare=3,risk=3", 40_000) <= 0.2
