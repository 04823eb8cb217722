"""The kernels and the slow rules give the same bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pac.envs import BadParameter, Task, allocate, find

from ..begun import compare
from .twin import Meadow

NUM_ENVS, SEED = 2, 5


def specs(name: str, **own: st.SearchStrategy[Any]) -> st.SearchStrategy[str]:
    """Specs of a task with random parameters."""
    common = {
        "agents": st.integers(2, 16),
        "size": st.one_of(st.integers(5, 12), st.integers(5, 48)),
        "view": st.integers(1, 7),
        "turns": st.integers(10, 30),
    }
    return st.fixed_dictionaries({**common, **own}).map(
        lambda values: f"{name}:" + ",".join(f"{key}={value}" for key, value in values.items())
    )


SHARES = st.floats(0, 0.5).map(lambda share: round(share, 4))
PAYOFFS = st.sampled_from([0, 0.5, 1, 2.25, 7])
TREASURES = specs("treasure", resources=SHARES, regrowth=SHARES)
HUNTS = specs(
    "staghunt",
    stags=st.integers(0, 30),
    hares=st.integers(0, 30),
    hunters=st.integers(1, 4),
    stag=PAYOFFS,
    hare=PAYOFFS,
    risk=PAYOFFS,
)


def found_or_none(spec: str) -> Task | None:
    """The task, or None if its parameters do not fit together."""
    try:
        return find(spec)
    except BadParameter:
        return None


def play(spec: str, turns: int, seed: int) -> None:
    """Play random turns by both rules."""
    task = found_or_none(spec)
    if task is None:
        return
    buffers, random = allocate(task, NUM_ENVS), np.random.default_rng(seed)
    buffers["final_drawn"].fill(-1)
    environments = task.make(0, NUM_ENVS, buffers, SEED)
    environments.reset(np.ones(NUM_ENVS, np.bool_), 0)
    meadows = [Meadow(task, SEED, env, 0) for env in range(NUM_ENVS)]
    episode = 0
    for env, meadow in enumerate(meadows):
        compare(task, buffers, env, meadow.shown(begun=False))
    for _ in range(turns):
        actions = random.integers(task.num_actions, size=NUM_ENVS * task.players)
        buffers["action"][0] = actions
        environments.step(0)
        for env, meadow in enumerate(meadows):
            meadow.step(actions[env * task.players : (env + 1) * task.players].tolist())
            if meadow.turns_left:
                compare(task, buffers, env, meadow.shown(begun=True))
                continue
            last = meadow.shown(begun=False)
            compare(task, buffers, env, meadow.results() | {f"final_{name}": value for name, value in last.items()})
            meadows[env] = Meadow(task, SEED, env, episode + 1)
            compare(task, buffers, env, meadows[env].shown(begun=False))
        episode = int(buffers["episode"][0, 0])


@pytest.mark.thorough
@given(TREASURES, st.integers(0, 999))
def test_treasure_hunts_are_the_same(spec: str, seed: int):
    """Every field, over random parameters and actions, beyond the end of an episode."""
    play(spec, 36, seed)


@pytest.mark.thorough
@given(HUNTS, st.integers(0, 999))
def test_stag_hunts_are_the_same(spec: str, seed: int):
    """Every field, over random parameters and actions, beyond the end of an episode."""
    play(spec, 36, seed)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "spec",
    [
        "treasure:agents=16,size=48,view=7,turns=100,resources=0.5",
        "treasure:agents=16,size=5,view=3,turns=100,resources=0.3,regrowth=0.5",
        "staghunt:agents=16,size=9,hunters=1,stags=4,hares=4,view=2,turns=100",
        "staghunt:agents=16,size=11,hunters=3,risk=2,turns=100",
    ],
)
def test_long_crowded_episodes_are_the_same(spec: str):
    """Many conflicts about cells, full grids, and the largest sizes."""
    play(spec, 120, 1)
