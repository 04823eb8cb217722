"""Whether actions matter is tried out in a copy of an environment whose states can be saved."""

import json
import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, MultiDiscrete

from pac.envs import find
from pac.training.trying import STATES, Tried, actions_of, can_try, tried

from ..toys import toy


class Deaf(gymnasium.Env):
    """Counts to twenty, and perhaps listens to actions."""

    observation_space = Box(0, 100, (2,))

    def __init__(self, hears="nothing", continuous=False):
        self.hears, self.rolls = hears, np.random.default_rng()
        self.action_space = Box(-1, 1, (6,)) if continuous else Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.count, self.kept = 0, 0.0
        return self._seen(), {}

    def step(self, action):
        self.count += 1
        self.kept += float(np.sum(action)) * (self.hears == "all")
        reward = float(self.hears == "last" and self.count == 20 and np.sum(action) > 1)
        reward += self.rolls.random() * (self.hears == "chance")
        return self._seen(), reward + self.np_random.random(), self.count == 20, False, {}

    def _seen(self):
        return np.array([self.count, self.kept], np.float32)

    def get_state(self):
        return {"count": self.count, "kept": self.kept}

    def set_state(self, state):
        self.count, self.kept = state["count"], state["kept"]


DEAF = f"{__name__}:Deaf"


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        (DEAF, Tried(3, STATES)),
        (f"{DEAF}:continuous=true", Tried(8, STATES)),
        (f"{DEAF}:hears=all", Tried()),
        (f"{DEAF}:hears=last", Tried()),
        (f"{DEAF}:hears=chance", Tried()),
        ("frames", Tried()),
    ],
)
def test_actions_without_effect_are_found(spec, found):
    """In none of the states does one matter, not even at the end; chance that no state contains forbids a verdict."""
    task = find(spec)
    assert can_try(task)
    assert tried(task, 7) == found


def test_what_takes_too_long_says_nothing():
    """As little as an environment that cannot save its states."""
    assert tried(find(DEAF), 7, seconds=0) == Tried()
    assert not can_try(toy())


@pytest.mark.parametrize(("space", "count"), [(Discrete(5), 5), (Discrete(500), 32), (MultiDiscrete([3, 3]), 4)])
def test_actions_that_differ_are_tried(space, count):
    """Not all of many."""
    choices = tuple(space.nvec.tolist()) if isinstance(space, MultiDiscrete) else ()
    assert len(actions_of(toy(num_actions=sum(choices) or int(space.n), choices=choices))) == count


@pytest.mark.slow
def test_a_session_tries_actions_if_nothing_is_learned(tmp_path):
    """The finding is in its report."""
    command = ["run", "--task", DEAF, "--headless", "--json", "--steps", "60000", "--num-envs", "8", "--trust"]
    options = ["--runs-dir", str(tmp_path), "--backend", "inline"]
    done = subprocess.run([sys.executable, "-m", "pac.tui", *command, *options], check=True, capture_output=True)
    assert "action-without-effect" in [found["rule"] for found in json.loads(done.stdout)["findings"]]
