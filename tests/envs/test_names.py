"""Names of actions, agents and numbers in observations: only those that are certain."""

import enum
from enum import IntEnum
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from pac.envs.registry import find
from pac.envs.spaces.names import DOCUMENTED, agent_names, labels_of, names_of

POLE = ("cart position", "cart velocity", "pole angle", "pole velocity")


def named(env, *, continuous=False):
    """The names of an environment, within its wrappers."""
    layers = [env]
    while isinstance(layers[-1], gym.Wrapper):
        layers.append(layers[-1].env)
    count = env.action_space.shape[0] if continuous else int(env.action_space.n)
    return names_of(layers[-1].spec.id, layers, count, env.observation_space.shape, continuous=continuous)


class Maze(gym.Env):
    """Enumerates its actions."""

    class Actions(IntEnum):
        """Its moves."""

        TURN_LEFT = 0
        FORWARD = 1

    observation_space, action_space = gym.spaces.Box(-1, 1, (4,)), gym.spaces.Discrete(2)
    spec = gym.envs.registration.EnvSpec("CartPole-v1")


@pytest.mark.parametrize("env_id", ["CartPole-v1", "MountainCar-v0", "Acrobot-v1", "Pendulum-v1"])
def test_documented_environments_have_a_name_for_each_number(env_id):
    """And for each action."""
    env = gym.make(env_id)
    names = named(env, continuous=env_id == "Pendulum-v1")
    assert names.actions == DOCUMENTED[env_id.partition("-")[0]][0]
    assert list(names.slices.values()) == [
        (at, at + 1) for at in range(int(np.prod(env.observation_space.shape or ())))
    ]


def test_an_enumeration_names_the_actions_of_an_own_environment():
    """Even if its id is that of a documented one, whose names it does not get."""
    assert named(Maze()) == (("turn left", "forward"), {})


def test_an_environment_is_asked_for_its_actions_if_that_is_allowed():
    """Which is not so in watched scripts; Atari games have an enumeration, and their names become words."""
    plain: Any = type("Plain", (gym.Env,), {"get_action_meanings": lambda _: ["NOOP", "UPRIGHTFIRE", "PICK_UP"]})()
    assert names_of("", [plain], 3, (4,), continuous=False, asks=True).actions == ("noop", "up right fire", "pick up")
    assert names_of("", [plain], 3, (4,), continuous=False).actions == ()
    assert names_of("", [plain], 2, (4,), continuous=False, asks=True).actions == ()


def test_the_actions_of_atari_games_have_names():
    """Also in watched scripts."""
    ale = pytest.importorskip("ale_py")
    gym.register_envs(ale)
    found = named(gym.make("ALE/Pong-v5")).actions
    assert found == ("noop", "fire", "right", "left", "right fire", "left fire")


@pytest.mark.parametrize("members", [{"A": 0}, {"A": 1, "B": 2}, {"A": "x", "B": "y"}])
def test_an_enumeration_that_does_not_number_the_actions_names_none(members):
    """One of another length, or with other numbers."""
    plain: Any = type("Plain", (gym.Env,), {})()
    plain.actions = vars(enum)["Enum"]("Actions", members)
    assert names_of("", [plain], 2, (4,), continuous=False).actions == ()


def test_wrappers_that_change_what_is_observed_or_done_take_the_names():
    """Those that only scale numbers keep them, as Stable-Baselines3's do that only record."""
    pole = gym.make("CartPole-v1")
    assert tuple(named(gym.wrappers.NormalizeObservation(pole)).slices) == POLE
    flipped = gym.wrappers.TransformObservation(pole, np.flip, pole.observation_space)
    assert named(flipped) == (("left", "right"), {})
    swapped = gym.wrappers.TransformAction(pole, lambda action: 1 - action, pole.action_space)
    assert named(swapped).actions == ()
    own = type("Own", (gym.Wrapper,), {})(pole)
    assert named(own) == ((), {})
    monitor = type("Monitor", (gym.Wrapper,), {"__module__": "stable_baselines3.common.monitor"})(pole)
    assert named(monitor).actions == ("left", "right")


def test_a_task_has_the_names_of_its_environment():
    """They are labels of the bars, too."""
    task = find("CartPole-v1")
    assert task.action_names == ("left", "right")
    assert tuple(task.slices) == POLE
    assert find("Pendulum-v1").component_names == ("torque",)


def test_ranges_of_several_numbers_are_numbered():
    """What no range names keeps its index."""
    assert labels_of({"speed": (1, 3), "mass": (3, 4)}, 5) == ["0", "speed 0", "speed 1", "mass", "4"]


def test_very_many_agents_are_not_named():
    """Since the description of a session is small."""
    assert agent_names(["red", 7]) == ("red", "7")
    assert agent_names(range(300)) == ()
