"""`watch` around what is no vector environment: one environment of Gymnasium, or a parallel one of PettingZoo."""

import gc
import pickle
from pathlib import Path
from types import MappingProxyType

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.classic_control import CartPoleEnv

from pac.envs import BadParameter
from pac.training import watch
from pac.training.runs.sessions import find_session, sessions

from ...waiting import until

pytest.importorskip("pettingzoo")
from pettingzoo import ParallelEnv


class Race(ParallelEnv):
    """Two agents: the second ends in both ways after two steps, the first is truncated after three."""

    metadata = MappingProxyType({"name": "race_v0"})
    possible_agents = ("fast", "slow")

    def observation_space(self, _agent):
        return gymnasium.spaces.Box(0, 3, (1,))

    def action_space(self, _agent):
        return gymnasium.spaces.Discrete(2)

    def reset(self, seed=None, options=None):  # noqa: ARG002 - as PettingZoo calls it
        self.agents, self.steps = list(self.possible_agents), 0
        return self._seen(), {agent: {} for agent in self.agents}

    def step(self, actions):
        acted, self.steps = list(actions), self.steps + 1
        ends = {agent: self.steps >= (3 if agent == "fast" else 2) for agent in acted}
        seen, rewards = self._seen(), dict.fromkeys(acted, 1.0)
        self.agents = [agent for agent in acted if not ends[agent]]
        terminated = {agent: ends[agent] and agent == "slow" for agent in acted}
        return seen, rewards, terminated, ends, {agent: {} for agent in acted}

    def _seen(self):
        return {agent: np.array([self.steps], np.float32) for agent in self.agents}


def shown(env, name):
    """What is shown of an environment now."""
    env._pac_watch.script._flush()
    env._pac_watch.script.monitor.publish()
    return find_session(name, Path()).snapshot


def play(env, episodes):
    """Play episodes with the action 1; return the rewards."""
    gained = 0.0
    for episode in range(episodes):
        env.reset(seed=episode)
        over = False
        while not over:
            _, reward, terminated, truncated, _ = env.step(1)
            gained, over = gained + reward, terminated or truncated
    return gained


def test_a_single_environment_is_watched_itself():
    """It stays the same object, of the same class by name, and its episodes are counted."""
    bare = gymnasium.make("CartPole-v1")
    env = watch(bare, name="one")
    assert env is bare
    assert (type(env).__name__, isinstance(env, type(bare))) == ("TimeLimit", True)
    gained = play(env, 5)
    seen = shown(env, "one")
    assert (seen.num_envs, seen.description.task, seen.state["episodes"]) == (1, "CartPole-v1", 5)
    assert gained == play(gymnasium.make("CartPole-v1"), 5)
    env.close()
    assert not [session for session in sessions() if session.name == "one"]


def test_an_environment_of_a_class_is_watched_until_it_is_dropped():
    """Also if it was not made by gymnasium.make; a copy of it is not watched."""
    env = watch(CartPoleEnv(), name="dropped-one")
    env.reset(seed=1)
    assert shown(env, "dropped-one").description.task == "CartPoleEnv"
    assert type(pickle.loads(pickle.dumps(env))) is CartPoleEnv
    del env
    gc.collect()
    until(lambda: not [session for session in sessions() if session.name == "dropped-one"], "gone")


def test_a_parallel_environment_has_a_row_per_agent():
    """Its episode ends with that of the last agent; each row has the rewards and the kind of end of its agent."""
    env = watch(Race(), name="race")
    for _ in range(2):
        env.reset(seed=1)
        while env.agents:
            env.step(dict.fromkeys(env.agents, 1))
    seen = shown(env, "race")
    assert (seen.num_envs, seen.description.task, seen.state["episodes"]) == (2, "race_v0", 4)
    assert seen.outcomes == (0, 2, 2)
    ended = [(3, 3, 2), (2, 3, 1)]
    assert seen.environments[["last_return", "last_length", "last_outcome"]].tolist() == ended
    env.close()


def test_a_class_that_allows_no_subclass_cannot_be_watched():
    """The error says what to do."""

    class Final(gymnasium.Env):
        def __init_subclass__(cls):
            raise TypeError("Final is final")

    with pytest.raises(BadParameter, match=r"Final cannot be watched \(Final is final\): wrap it in a class"):
        watch(Final())
