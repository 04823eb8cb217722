"""What an environment offers as its state is kept as bytes, and leads to the same."""

from contextlib import closing
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box
from gymnasium.wrappers import FrameStackObservation, TimeLimit, TransformObservation
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pac.backends import make
from pac.envs import check, find
from pac.envs.errors import ImpossibleState
from pac.envs.gym.states import LENGTH, NotStorable, StateSaver, pack, state_size, unpack

from ..training.wanderer import WANDERER, Wanderer

PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
KEYS = st.text() | st.integers() | st.tuples(st.integers(), st.integers())
NESTS = st.recursive(
    PLAIN, lambda part: st.lists(part) | st.tuples(part, part) | st.dictionaries(KEYS, part), max_leaves=20
)
ARRAYS = hnp.arrays(st.sampled_from(["u1", "<f4", ">i8", "?", "c8", "S3", "<U2"]), hnp.array_shapes(min_dims=0))


@given(NESTS)
def test_nests_come_back_as_they_were(nest):
    """Equal, and of the same types: a tuple is no list, a number as a key no text."""
    assert unpack(pack(nest)) == nest
    assert repr(unpack(pack(nest))) == repr(nest)


@given(ARRAYS)
def test_arrays_come_back_to_the_byte(array):
    """Type, shape and bytes; and they can be written to."""
    back = unpack(pack({"array": [array]}))["array"][0]
    assert (back.dtype, back.shape, back.tobytes()) == (array.dtype, array.shape, array.tobytes())
    assert back.flags.writeable


@pytest.mark.parametrize("value", [object(), {1, 2}, np.array([None]), [np.array([(1, 2.0)], "i4,f8")]])
def test_what_is_none_of_these_is_refused(value):
    """An object is no state; the error names its type."""
    with pytest.raises(NotStorable, match=r"get_state must return .* got (object|set|ndarray) in it"):
        pack(value)


def test_the_time_and_the_random_generator_are_part_of_a_state():
    """What the environment need not think of: its time limit, and the generator that Gymnasium gave it."""
    env = TimeLimit(Wanderer(edge=1e9), 5)
    env.reset(seed=1)
    env.step(0)
    memory = StateSaver(env)
    saved = unpack(pack(memory.save()))
    expected = [env.step(1)[0].tolist() for _ in range(3)]
    assert env.step(1)[3]
    memory.load(saved)
    assert [env.step(1)[0].tolist() for _ in range(3)] == expected
    assert env.step(1)[3]


class Forgetful(Wanderer):
    """Gives another state than was set."""

    def set_state(self, state):
        super().set_state({**state, "visits": {(0, 0): 7}})


def test_a_state_that_cannot_be_trusted_is_not_taken():
    """A wrapper that remembers, and a state that does not come back; a wrapper that remembers nothing is fine."""
    for env, reason in (
        (FrameStackObservation(Wanderer(), 2), "wrapper FrameStackObservation may have a state"),
        (Forgetful(), "another state after set_state"),
    ):
        env.reset(seed=0)
        with pytest.raises(NotStorable, match=reason):
            state_size(env, None)
    plain = TransformObservation(Wanderer(), lambda seen: seen, None)
    plain.reset(seed=0)
    assert state_size(plain, None) > 0
    assert state_size(gymnasium.make("CartPole-v1"), None) == 0


class Calm(Wanderer):
    """Follows its seed."""

    def reset(self, *, seed=None, options=None):
        self._wind = np.random.default_rng(seed)
        return super().reset(seed=seed, options=options)


class Panorama(Calm):
    """Shows far more than it remembers."""

    observation_space = Box(-np.inf, np.inf, (3000,), np.float32)

    def _seen(self):
        return np.resize(super()._seen(), 3000)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["Calm", "Panorama"])
def test_a_task_with_saved_states_conforms(name):
    """Its state, restored in the midst of a play, goes on as it did."""
    task = find(f"{__name__}:{name}")
    assert task.saves
    assert not task.state_at_hand
    check(task, steps=50)
    assert find("CartPole-v1").state is None


@pytest.mark.parametrize("name", ["inline", pytest.param("shm", marks=pytest.mark.session)])
def test_other_environments_go_on_from_saved_states(name, monkeypatch):
    """Those of another backend of the same kind: all that they give is the same from there on."""
    monkeypatch.chdir(Path(__file__).parents[2])  # where workers find the module
    with (
        closing(make(find(WANDERER), 3, name, slots=4, seed=1)) as first,
        closing(make(find(WANDERER), 3, name, slots=4, seed=1)) as second,
    ):
        first.start(0)
        for _ in range(40):
            play(first)
        first.carry()
        assert first.save(0)
        second.start(0)
        assert second.restore(first.buffer["state"][0].copy())
        for backend in (first, second):
            play(backend)
        names = ("observation", "reward", "episode_return", "episode_length", "episode", "terminated")
        for field in names:
            assert np.array_equal(first.buffer[field][-3:], second.buffer[field][-3:]), field
        assert not second.restore(np.zeros_like(first.buffer["state"][0]))


class Hoarder(Wanderer):
    """Has a state that grows with every step."""

    def get_state(self):
        return {**super().get_state(), "hoard": bytes(2000 * len(self._visits))}


def test_a_state_that_outgrows_its_place_is_not_kept(caplog):
    """The training goes on without it, and the log tells how large it was."""
    with closing(make(find(f"{__name__}:Hoarder:edge=1e9"), 2, "inline", slots=4, seed=1)) as backend:
        backend.start(0)
        assert backend.save(0)
        assert backend.buffer["state"].any()
        play(backend)
        assert backend.save(3)
        assert not backend.buffer["state"].any()
        assert not backend.restore(backend.buffer["state"][0])
    assert "the state of environment 2 has grown to" in caplog.text


def play(backend):
    """Three steps to the right, from slot 0."""
    if backend.buffer["heartbeat"].any():
        backend.carry()
    for slot in range(3):
        backend.buffer["action"][slot] = 1
        backend.advance(slot)


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda row: row[LENGTH:].fill(ord("x")), id="not JSON"),
        pytest.param(lambda row: write_state(row, pack({"env": {}})), id="keys are missing"),
        pytest.param(lambda row: write_state(row, b'{"dict": [], "tuple": []}'), id="not what is packed"),
    ],
)
def test_a_damaged_state_is_an_impossible_state(damage):
    """It comes from a file: one sentence names the environment and what is wrong."""
    with closing(make(WANDERER, 2, "inline")) as envs:
        envs.start()
        assert envs.save(0)
        states = envs.buffer["state"][0].copy()
        damage(states[1])
        with pytest.raises(ImpossibleState, match="environment 2 cannot continue from its saved state"):
            envs.restore(states)


def write_state(row, packed):
    row[:] = 0
    row[:LENGTH] = np.frombuffer(len(packed).to_bytes(LENGTH, "little"), np.uint8)
    row[LENGTH : LENGTH + len(packed)] = np.frombuffer(packed, np.uint8)
