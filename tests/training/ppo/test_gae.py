"""Advantages are sums of the errors that DQN's transitions have, also for seats that wait, die or are interrupted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from pac.backends.core.layout import Layout
from pac.backends.workers.supervised import AbsentRows
from pac.envs import find
from pac.envs.fields import DECIDES, OUT, WAITS
from pac.training.nets.device_buffer import DeviceBuffer
from pac.training.ppo.gae import gae, step_discounts
from pac.training.ppo.storage import RolloutStorage
from pac.training.replay.kernels import FINAL, NOTHING, RING, RingViews, Walk, transition

STEPS, ROWS, GAMMA, LAMBDA = 60, 8, 0.8, 0.7


def rollout_of(seed: int) -> dict[str, Any]:
    """Return the arrays of a rollout, in which seats decide, wait and die, and episodes end and are truncated."""
    random = np.random.default_rng(seed)
    shape = STEPS + 1, ROWS
    ends = random.random(shape) < 0.15
    found: dict[str, Any] = {
        "terminated": ends & (random.random(shape) < 0.6),
        "truncated": ends & (random.random(shape) < 0.6),
        "reward": random.normal(size=shape),
        "frames": random.integers(1, 4, shape),
        "active": np.where(random.random(shape) < 0.4, WAITS, DECIDES).astype(np.uint8),
    }
    over = found["terminated"] | found["truncated"]
    for slot in range(1, STEPS + 1):
        dead = ~over[slot] & ((found["active"][slot - 1] == OUT) | (random.random(ROWS) < 0.05))
        found["active"][slot, dead] = OUT
    return found


@pytest.mark.parametrize("per_frame", [False, True])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.thorough
def test_errors_are_those_of_the_replay(seed: int, per_frame: bool) -> None:
    """An advantage is the error of the transition from a decision to the next one, plus the decayed next advantage."""
    arrays, random = rollout_of(seed), np.random.default_rng(seed)
    values, finals = random.normal(size=(STEPS + 1, ROWS)), random.normal(size=(STEPS, ROWS))
    tensors = {name: torch.tensor(array[1:]) for name, array in arrays.items()}
    active = torch.tensor(arrays["active"][:-1])
    advantages, returns = gae(
        rewards=tensors["reward"],
        values=torch.tensor(values),
        terminated=tensors["terminated"],
        truncated=tensors["truncated"] & ~tensors["terminated"],
        active=active == DECIDES,
        out=active == OUT,
        final_values=torch.tensor(finals),
        discounts=step_discounts(tensors["frames"].double(), active == DECIDES, GAMMA, per_frame=per_frame),
        gae_lambda=LAMBDA,
    )
    cut = arrays["truncated"] & ~arrays["terminated"]
    most = cut.sum(0).max()
    final_at = np.full((ROWS, most), -1)
    for row in range(ROWS):
        final_at[row, : cut[:, row].sum()] = np.flatnonzero(cut[:, row])
    ages = np.zeros((STEPS + 1, ROWS), np.uint8)
    ring = RingViews(
        age=ages, final_at=final_at, final_count=cut.sum(0), spare=0, value_ends=arrays["terminated"], **arrays
    )
    seen, numbers = set(), np.zeros(4)
    for position, row in np.argwhere(arrays["active"][:-1] == DECIDES).tolist():
        end = transition(ring, Walk(1, STEPS, GAMMA, int(per_frame)), STEPS + 1, position, row, numbers)
        total, discount, at, last = numbers.tolist()
        if end not in {RING, FINAL, NOTHING} or (end == RING and int(at) == STEPS):
            continue
        follows = {RING: values[int(at), row], FINAL: finals[int(last) - 1, row], NOTHING: 0.0}[end]
        expected = total + (discount * follows if end != NOTHING else 0.0) - values[position, row]
        if end == RING:
            expected += discount * LAMBDA * float(advantages[int(at), row])
        assert float(advantages[position, row]) == pytest.approx(expected)
        assert float(returns[position, row]) == pytest.approx(expected + values[position, row])
        seen.add(end)
    assert seen == {RING, FINAL, NOTHING}


def test_a_seat_that_was_eliminated_is_not_bootstrapped_when_its_worker_is_lost() -> None:
    """The episode is marked as truncated where the worker returns, but the eliminated seat's return ended before."""
    task = find("autochess:players=2")
    buffer = Layout(task, 1, 5).map()
    buffer["active"][:] = DECIDES
    buffer["active"][1:3, 0] = OUT
    absence = AbsentRows(task, buffer, 0, 1, 2)
    absence.fill(2)
    absence.returning = True
    absence.fill(3)
    data = RolloutStorage(task, DeviceBuffer(task, buffer, torch.device("cpu"))).data()
    assert data.truncated[3].all()
    advantages, _ = gae(
        rewards=data.rewards, values=torch.zeros(5, 2), terminated=data.terminated, truncated=data.truncated,
        active=data.active, out=data.out, final_values=torch.full((4, 2), 9.0), discounts=torch.ones(4, 2),
        gae_lambda=1.0,
    )  # fmt: skip
    assert advantages[0].tolist() == [0, 9]
