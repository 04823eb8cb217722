"""The kernels of `frames` and the slow rules give the same bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pac.envs import allocate, find
from pac.envs.frames import layout as at

from ...examples import one_in
from ..begun import begun, compare
from .twin import Pictures

SEED, NUM_ENVS = 5, 2
SPECS = st.builds(
    "frames:shapes={},drifters={},steps={},tau={}".format,
    st.integers(1, 3),
    st.integers(0, 4),
    st.integers(10, 20),
    st.sampled_from([0, 0.02, 0.15, 0.3, 1]),
)


def began(twin: Pictures) -> dict[str, Any]:
    """What a buffer shows of the first state of a stage, or of any state in it."""
    return {"observation": twin.picture(), **twin.shown(twin.stage)}


@pytest.mark.thorough
@one_in(5)  # the reference draws every pixel
@given(SPECS, st.integers(0, 999))
def test_random_episodes_are_the_same(spec: str, seed: int):
    """Every field, over random parameters and actions, beyond the ends of stages and episodes."""
    task = find(spec)
    buffers, random = allocate(task, NUM_ENVS), np.random.default_rng(seed)
    buffers["final_drawn"].fill(-1)
    environments = task.make(0, NUM_ENVS, buffers, SEED)
    environments.reset(np.ones(NUM_ENVS, np.bool_), 0)
    twins = [Pictures(task, SEED, env, 0) for env in range(NUM_ENVS)]
    episodes = [0] * NUM_ENVS
    for _ in range(25):
        for env, twin in enumerate(twins):
            compare(task, buffers, env, began(twin))
        buffers["action"][0] = random.integers(task.num_actions, size=NUM_ENVS)
        actions = buffers["action"][0].copy()
        environments.step(0)
        for env, twin in enumerate(twins):
            boards = twin.step(int(actions[env]))
            if twin.outcome:
                episodes[env] += 1
                compare(task, buffers, env, {f"final_{name}": value for name, value in boards.items()})
                compare(task, buffers, env, {"final_observation": boards["frame"]} | twin.results)
                twins[env] = Pictures(task, SEED, env, episodes[env])
            else:
                expected = twin.results.copy()
                if twin.distance != twin.first:  # a new stage writes its own distance
                    compare(task, buffers, env, expected)
    environments.close()


def test_a_shape_at_its_goal_matches_the_picture():
    """Without drifters, the distance of the right place is 0, and that ends the last stage."""
    _, buffers, environments = begun("frames:shapes=1,drifters=0,tau=0", 1, seed=0)
    for _ in range(60):
        row, column = (int(buffers["state"][0, 0, word]) - 4 for word in (at.ROW, at.COLUMN))
        buffers["action"][0] = (0 if row > 0 else 2) if row else (3 if column > 0 else 1)
        environments.step(0)
        if buffers["terminated"][0, 0]:
            break
    assert buffers["outcome"][0, 0] == 1
    assert buffers["distance"][0, 0] == 0
    assert np.array_equal(buffers["final_observation"][0, 0], buffers["goal"][0, 0])
