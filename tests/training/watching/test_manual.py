"""Loops without an environment object, which call `watch.step`."""

from contextlib import closing

import numpy as np
import pytest

from pac.envs import BadParameter
from pac.training import watch
from pac.training.session.control import SessionClient
from pac.training.watching.script import _open

from .scripted import named

ENDS = np.array([True, False, False])


def step(number, num_envs=3, *, convert=np.asarray, name="loop"):
    """A step of episodes that end, each in turn, every third step."""
    shown = np.full((num_envs, 2), number, np.float32)
    ends = np.roll(np.resize(ENDS, num_envs), number)
    rewards, never = np.arange(num_envs) + 0.5, np.zeros(num_envs, np.bool_)
    given = shown, np.ones(num_envs, np.int64), rewards, ends, never
    seen, actions, gained, over, cut = map(convert, given)
    watch.step(seen, actions, gained, over, cut, {"fuel": convert(rewards * 2)}, name=name)


def counter():
    """What was counted."""
    (session,) = _open
    session.process_soon()
    session._flush()
    session.counter.mark()
    return session.counter


@pytest.mark.parametrize("library", ["numpy", "list", "torch"])
def test_steps_of_a_loop_are_counted(library):
    """Arrays, lists or tensors, with their numbers of infos."""
    convert = {"numpy": np.asarray, "list": np.ndarray.tolist}.get(library) or pytest.importorskip("torch").as_tensor
    for number in range(9):
        step(number, convert=convert)
    counts = counter().counts
    assert (counts.steps, counts.episodes) == (27, 9)
    assert counts.metrics()["info/fuel"] == pytest.approx(np.mean([1, 3, 5]))


def test_a_loop_may_change_its_number_of_environments():
    """The session goes on."""
    for number in range(6):
        step(number, 3 if number < 3 else 5)
    assert [session.name for session in _open] == ["loop"]
    assert counter().counts.steps == 3 * 3 + 3 * 5


def test_a_loop_waits_after_a_step():
    """While viewers pause it."""
    step(0)
    (session,) = _open
    waited: list[int] = []
    session.step_log.attention, session.step_log.wait = [1], lambda: waited.append(1)
    step(1)
    assert waited == [1]


def test_a_viewer_who_stops_watching_a_loop_sees_it_no_more():
    """It goes on."""
    step(0)
    (session,) = _open
    with closing(SessionClient(session.directory)) as client:
        client.call("stop")
    for number in range(3):
        step(number)
    assert not named("loop")


def test_a_single_reward_is_refused():
    """With what to do."""
    with pytest.raises(BadParameter, match=r"got 1.0: give it \[reward\]"):
        watch.step([0.0], [1], 1.0, [False], [False])
