"""Watched environments have the names that they themselves have for agents, actions and numbers."""

from types import MappingProxyType

import gymnasium as gym
import numpy as np
import pytest

from pac.training import watch
from pac.training.telemetry.blocks import TelemetryReader

from .scripted import cartpoles, session_of

pytestmark = pytest.mark.session


def described(envs):
    """What viewers are told of the session of environments."""
    return TelemetryReader(session_of(envs).directory).description


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_vector_of_documented_environments_has_their_names(wrapped):
    """Also within a wrapper that changes nothing, but not within one that may."""
    envs = cartpoles()
    envs = gym.wrappers.vector.TransformObservation(envs, lambda seen: -seen) if wrapped else envs
    watch(envs)
    envs.reset(seed=1)
    envs.step(np.zeros(3, int))
    about = described(envs)
    assert about.action_names == ("left", "right")
    assert [name for name, _, _ in about.slices] == (
        [] if wrapped else ["cart position", "cart velocity", "pole angle", "pole velocity"]
    )
    envs.close()


def test_agents_are_shown_by_name_also_those_that_come_later():
    """In the order in which they came."""
    pettingzoo = pytest.importorskip("pettingzoo")

    class Arena(pettingzoo.ParallelEnv):  # type: ignore[misc,name-defined]
        """A medic comes in the second step."""

        metadata = MappingProxyType({"name": "arena"})
        possible_agents = ("red", "blue")

        def action_space(self, _agent):
            return gym.spaces.Discrete(2)

        def reset(self, **_):
            self.agents = ["red", "blue"]
            return {agent: np.zeros(2) for agent in self.agents}, {}

        def step(self, _actions):
            found = {agent: np.ones(2) for agent in self.agents}
            none = dict.fromkeys(self.agents, False)
            self.agents = ["red", "blue", "medic"]
            return found, dict.fromkeys(found, 1.0), none, none, {agent: {} for agent in found}

    arena = watch(Arena())
    arena.reset()
    arena.step({"red": 0, "blue": 1})
    about = described(arena)
    assert [about.env_title(env, "/2") for env in range(2)] == ["red 1/2", "blue 2/2"]
    arena.step({"red": 0, "blue": 1, "medic": 0})
    session_of(arena).process_soon()
    arena.step({"red": 0, "blue": 1, "medic": 0})
    assert described(arena).env_title(2) == "medic 3"
