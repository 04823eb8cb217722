"""Every kind of space is a field: what is stored, what reaches the environment, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple
from gymnasium.spaces.utils import flatten
from gymnasium.wrappers import FlattenObservation
from hypothesis import given
from hypothesis import strategies as st

from pac.envs import BadParameter, EnvironmentFailed, check, find
from pac.envs.actions import random_actions, scale_of
from pac.envs.gym.action_reader import action_reader
from pac.envs.gym.spaces import writer_of
from pac.envs.spaces.actions import describe_actions

from ..backends.kinds import Pilot
from .begun import begun


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name",
    [
        *("Small", "Arm", "Levers", "Switches", "Camera", "Screen", "Blind", "Reader", "Pilot", "Crane"),
        *("Tag", "Tag,truncates=True"),
    ],
)
def test_every_kind_conforms(name):
    """Actions and observations of every kind keep what all tasks promise."""
    check(find(f"kinds:{name}"), steps=30)


simple = st.one_of(
    st.integers(1, 5).map(Discrete),
    st.integers(1, 4).map(MultiBinary),
    st.lists(st.integers(1, 4), min_size=1, max_size=3).map(MultiDiscrete),
    st.integers(1, 4).map(lambda size: Box(-2, 3, (size,), np.float32)),
)


def nested_in(spaces):
    """Return these spaces, and Dicts and Tuples of them."""
    return st.recursive(
        spaces,
        lambda inner: st.one_of(
            st.dictionaries(st.sampled_from("abcd"), inner, min_size=1, max_size=3).map(Dict),
            st.lists(inner, min_size=1, max_size=3).map(Tuple),
        ),
        max_leaves=5,
    )


@given(nested_in(simple), st.integers(0, 1000))
def test_a_vector_is_what_gymnasium_flattens_to(space, seed):
    """Any nesting becomes the same vector in the same order as `flatten` gives, whether stored as bits or numbers."""
    space.seed(seed)
    writer, observation = writer_of("toy", space), space.sample()
    stored = np.zeros(writer.item.stored_shape, writer.item.dtype)
    writer.write(observation, stored)
    assert np.allclose(writer.item.decode(stored).ravel(), np.asarray(flatten(space, observation)))
    edges = [edge for span in writer.slices.values() for edge in span]
    assert not edges or (edges[0], edges[-1]) == (0, writer.item.shape[0])


discrete = st.one_of(
    st.builds(Discrete, st.integers(1, 5), start=st.integers(-3, 3)),
    st.integers(1, 4).map(MultiBinary),
    st.lists(st.integers(1, 4), min_size=1, max_size=3).map(MultiDiscrete),
    st.builds(MultiDiscrete, st.just([[2, 3], [4, 1]]), start=st.just([[1, 0], [-2, 5]])),
)
continuous = st.one_of(
    st.builds(Box, st.just(-0.1), st.just(0.7), st.sampled_from([(), (2,), (2, 3)]), st.sampled_from([np.float64])),
    st.builds(Box, st.just(-2), st.just(9), st.just((3,)), st.just(np.int16)),
    st.builds(Box, st.just(-np.inf), st.just(1), st.just((2,)), st.just(np.float32)),
)


@given(st.one_of(nested_in(discrete), nested_in(continuous)), st.integers(0, 1000))
def test_actions_are_of_the_environments_space(space, seed):
    """Whatever the buffer's action field can hold is, once read, an action of the space."""
    task = find("drmario-frames")
    facts = describe_actions("toy", space)
    like = replace(task, masked=False, action_shape=(), **facts)
    rows = random_actions(like, np.random.default_rng(seed).random((4, like.num_actions))).astype(like.action.dtype)
    assert rows.shape == (4, *like.action.shape)
    if like.bounds:
        rows = rows.clip(*np.array(like.bounds, np.float32).T)
    for action in action_reader(space)(rows):
        assert action in space, action


def test_the_scale_of_actions_without_bounds():
    """One bound is two away from the other end, no bounds are -1 and 1."""
    task = find("drmario-frames")
    bounds = ((-2.0, 4.0), (1.0, np.inf), (-np.inf, 1.0), (-np.inf, np.inf))
    centre, reach = scale_of(replace(task, bounds=bounds))
    assert centre.tolist() == [1, 2, 0, 0]
    assert reach.tolist() == [3, 1, 1, 1]


def test_named_slices():
    """The parts of a Dict have names, nested ones with points; bytes are divided by their highest value."""
    task, buffers, _ = begun("kinds:Arm")
    assert dict(task.slices) == {"camera": (0, 4), "grip": (4, 7), "joints.angle": (7, 9), "joints.on": (9, 11)}
    vector = buffers["observation"][0, 0]
    assert vector.dtype == np.float32
    assert 0 < vector[:4].max() <= 1
    assert vector[4:7].sum() == 1
    assert task.panels[0].labels == (
        *(f"camera {index}" for index in range(4)),
        *(f"grip {index}" for index in range(3)),
        "joints.angle 0",
        "joints.angle 1",
        "joints.on 0",
        "joints.on 1",
    )


def test_actions_of_several_parts():
    """Their components are in the order of the space and have the names of its parts."""
    task = find("kinds:Pilot")
    assert (task.choices, task.num_actions) == ((3, 2, 2, 2), 9)
    assert task.component_names == ("flaps.0", "flaps.1 0", "flaps.1 1", "gear")
    action = action_reader(Pilot.action_space)(np.array([[2, 0, 1, 1]]))[0]
    assert (action["flaps"][0], action["flaps"][1].tolist(), action["gear"]) == (1, [0, 1], 1)
    assert find("kinds:Crane").bounds == ((-1, 1), (-1, 1), (0, 5))
    assert find("kinds:Levers").component_names == ()


def test_an_action_of_several_parts_is_in_the_error_of_its_step():
    """As numbers, lists and dicts."""
    _, _, environments = begun("kinds:Crashing", num_envs=1)
    environments.step(0)
    environments.step(0)
    with pytest.raises(EnvironmentFailed, match="the plane crashed") as caught:
        environments.step(0)
    assert caught.value.action == {"flaps": [-1, [0, 0]], "gear": 0}


def test_images_among_other_parts():
    """Their place is known, and the first one is drawn where the environment draws nothing."""
    task, buffers, environments = begun("kinds:Pilot", num_envs=1)
    assert task.observation.images == ((2, (20, 24, 3)),)
    buffers["looked_at"][:] = 1
    environments.step(0)
    assert task.panels[0].title == "camera"
    picture = buffers["seen"][0, 0]
    assert picture.shape == (20, 24, 3)
    assert picture[0, 0].tolist() == [10, 20, 30]
    assert (picture[1:] == np.rint(255 * buffers["observation"][0, 0, 2 + 72])).all()


def test_text_is_not_read():
    """A note says so; other parts are."""
    task = find("kinds:Reader")
    assert task.note == "the text in the observations of kinds:Reader is not read: book.page"
    assert dict(task.slices) == {"book.cover": (0, 105)}


@pytest.mark.parametrize(
    ("name", "dtype", "encoding"),
    [
        ("kinds:Small", "uint8", "bits"),
        ("kinds:Levers", "uint8", "bits"),
        ("kinds:Switches", "float32", "raw"),
        ("kinds:Camera", "uint8", "raw"),
        ("Blackjack-v1", "uint8", "bits"),
    ],
)
def test_what_is_small_is_stored_small(name, dtype, encoding):
    """Choices are bits, bytes stay bytes, wide integers become float32."""
    observation = find(name).observation
    assert (observation.dtype, observation.encoding) == (dtype, encoding)


def test_masks_of_several_choices():
    """A mask per component is the components' masks in a row."""
    task, buffers, _ = begun("kinds:Levers")
    assert (task.masked, task.choices, task.num_actions) == (True, (3, 2), 5)
    mask = np.unpackbits(buffers["action_mask"][0, 0], count=5, bitorder="little")
    assert mask.tolist() == [1, 1, 0, 1, 1]


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ("kinds:Outside", "observations of Discrete(4) and returned 4"),
        ("kinds:Shrinking", "shape (2,) and returned one of"),
    ],
)
def test_an_observation_that_is_not_of_its_space(spec, text):
    """It is refused wherever it comes, before NumPy makes something of it; the error says what was promised."""
    with pytest.raises((BadParameter, EnvironmentFailed)) as caught:
        _play(spec)
    assert text in str(caught.value)


def _play(spec):
    _, _, environments = begun(spec)
    for _ in range(6):
        environments.step(0)


def test_wrappers_change_nothing():
    """What stands between us and the environment, in any order, is looked through."""
    space = find("kinds:Arm").observation
    flat = FlattenObservation(gymnasium.make("CartPole-v1"))
    assert writer_of("toy", flat.observation_space).item.shape == (4,)
    assert space.shape == (11,)


def test_a_module_names_what_its_function_does_not():
    """As PettingZoo's environments, all of which are called `parallel_env`."""
    assert [find(spec).title for spec in ("kinds:parallel_env", "kinds:Tag")] == ["kinds", "Tag"]


def test_agents_that_leave(monkeypatch):
    """A seat that is out stays out, without rewards, until the episode of all ends and a new one begins."""
    _, buffers, environments = begun("kinds:Tag", num_envs=1)
    buffers["action"][:] = 2
    seen = []
    for _ in range(6):
        environments.step(0)
        names = ("active", "reward", "terminated", "episode_return", "age")
        seen.append([buffers[name][0].tolist() for name in names])
    assert [step[0] for step in seen] == [[1, 1], [1, 1], [1, 2], [1, 2], [1, 1], [1, 1]]
    assert [step[1] for step in seen] == [[2, 2], [2, 2], [2, 2], [2, 0], [2, 0], [2, 2]]
    assert [step[2] for step in seen] == [[0, 0], [0, 0], [0, 0], [0, 0], [1, 1], [0, 0]]
    assert seen[4][3] == [10, 6]
    ages = np.array([[1, 2], [2, 3], [3, 4], [4, np.nan], [5, np.nan], [1, 2]])
    assert np.array_equal(np.array([step[4] for step in seen]), ages, equal_nan=True)
    assert buffers["episode_length"][0, 0] == 1


def test_a_truncated_episode_of_agents():
    """Who was there when the episode was cut short is truncated, with the last observation; who had left is not."""
    _, buffers, environments = begun("kinds:Tag,truncates=True", num_envs=1)
    for _ in range(5):
        buffers["action"][:] = 2
        environments.step(0)
    assert buffers["truncated"][0].tolist() == [1, 0]
    assert buffers["terminated"][0].tolist() == [0, 1]
    assert buffers["final_observation"][0, 0, 0] == 5
    assert buffers["observation"][0, 0, 0] == 0
