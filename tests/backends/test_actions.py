"""Actions of several components and continuous ones, on every backend that steps Python environments."""

from __future__ import annotations

from contextlib import ExitStack, closing

import numpy as np
import pytest

from pac.backends import BadAction, make
from pac.backends.core.base import Backend
from pac.envs import find


@pytest.fixture(params=["inline", "shm"], scope="module")
def begun(request):
    """Return a function that begins episodes of environments, which are made once for all tests."""
    with ExitStack() as stack:
        made = {
            name: stack.enter_context(closing(make(find(f"kinds:{name}"), 3, request.param, workers=1)))
            for name in ("Arm", "Levers", "Switches", "Tag")
        }

        def begin(name: str) -> Backend:
            made[name].reset(seed=4)
            return made[name]

        yield begin


def test_continuous_actions_are_clipped(begun):
    """What lies outside of the bounds is taken as the bound, in the buffer too; the environment asserts it is legal."""
    envs = begun("Arm")
    envs.buffer["action"][0] = [[-5, 0], [0.5, 3], [9, 9]]
    envs.advance(0)
    assert np.allclose(envs.buffer["action"][0], [[-1, 0.1], [0.5, 3], [1, 7.3]])
    assert np.allclose(envs.buffer["reward"][0], [-0.9, 3.5, 8.3])


def test_nan_and_infinity_are_refused(begun):
    """It is refused before anything is stepped, with its environment."""
    envs = begun("Arm")
    for number in (np.nan, np.inf):
        envs.buffer["action"][0] = 0.5
        envs.buffer["action"][0, 2, 1] = number
        with pytest.raises(BadAction, match=rf"environment 2 got action \[0.5, {number}\]; expected finite"):
            envs.advance(0)
    envs.buffer["action"][0] = 0.5
    envs.advance(0)
    assert envs.buffer["episode_length"].tolist() == [[1, 1, 1]]


def test_a_choice_out_of_range(begun):
    """The error names environment, action, component and its range."""
    envs = begun("Levers")
    envs.buffer["action"][0] = 0
    for choice in (-1, 2):
        envs.buffer["action"][0, 1, 1] = choice
        text = rf"environment 1 got action \[0, {choice}\]; expected 0 to 1 for component 1"
        with pytest.raises(BadAction, match=text):
            envs.advance(0)


@pytest.mark.parametrize(
    ("name", "actions", "text"),
    [
        ("Arm", np.zeros(3), r"numbers of shape \(3, 2\), got float64 of shape \(3,\)"),
        ("Arm", np.full((3, 2), "up"), r"numbers of shape \(3, 2\), got"),
        ("Levers", np.zeros((3, 2)), r"integers of shape \(3, 2\), got float64"),
    ],
)
def test_actions_of_the_wrong_shape_or_type(begun, name, actions, text):
    """They are refused; the error says what was expected and what came."""
    with pytest.raises(BadAction, match=text):
        begun(name).step(actions)


@pytest.mark.parametrize("name", ["Arm", "Levers", "Switches", "Tag"])
def test_sampled_actions_are_taken(begun, name):
    """What Gymnasium samples from the spaces fits, and observations are of theirs."""
    envs = begun(name)
    observations, infos = envs.reset(seed=1)
    assert observations in envs.observation_space
    envs.action_space.seed(1)
    actions = np.asarray(envs.action_space.sample())
    if "action_mask" in infos:
        actions[:] = 1 if name == "Levers" else 2
        actions[..., -1:] = 0 if name == "Levers" else 2
    envs.step(actions)
    assert envs.buffer["episode_length"].tolist() == [[1, 1, 1]]


@pytest.mark.session
def test_a_failure_has_its_action():
    """A worker that fails is data: environment, seed, step, the numbers it was given and the traceback."""
    with closing(make(find("kinds:Brittle"), 2, "shm", workers=1, seed=4)) as envs:
        envs.start()
        envs.buffer["action"][0] = 0.5
        for _ in range(3):
            envs.advance(0)
        (event, *_) = envs.drain_events()
        assert "environment 1, seed 4, action [0.5, 0.5]) failed after 2 steps" in event.text
        assert "ValueError: the arm broke" in event.text
        assert "kinds.py" in event.text
