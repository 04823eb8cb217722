"""Every misuse is an error of its own, on every backend."""

from __future__ import annotations

from contextlib import closing

import numpy as np
import pytest

from pac.backends import BackendBusy, BackendClosed, BackendUnavailable, BadAction, make
from pac.envs import BadParameter, PacError, UnknownName, find

TASK = find("frames")
EVERY = ("inline", "threads", "device", "shm", "socket", "http")
SHAPES = (np.zeros(2, np.int64), np.zeros((3, 1), np.int64), np.zeros(3), np.int64(1))
MASKS = (np.zeros(3, np.bool_), np.ones(2, np.bool_), np.ones(3, np.int64), [True, True, True])


@pytest.fixture(params=EVERY, scope="module")
def envs(request):
    with closing(make(TASK, 3, request.param, slots=3, workers=2)) as made:
        yield made


@pytest.fixture
def begun(envs):
    envs.buffer["action"][:] = 0
    envs.start()
    return envs


def test_a_step_before_the_first_episode(envs):
    """Stepping, or waiting, before an episode has begun names what to call first."""
    with pytest.raises(BackendBusy, match=r"start\(\) or reset\(\) first"):
        envs.advance(0)
    with pytest.raises(BackendBusy, match=r"start\(\) or reset\(\) first"):
        envs.step(np.zeros(3, np.int64))
    with pytest.raises(BackendBusy, match="must start all"):
        envs.reset(options={"reset_mask": np.array([True, False, False])})


def test_calls_out_of_turn(begun):
    """Waiting for nothing, and anything but waiting while a step is pending, name what to call; then it goes on."""
    with pytest.raises(BackendBusy, match=r"send\(\) or step_async\(\) first"):
        begun.wait()
    begun.send(0)
    for call in (lambda: begun.send(0), begun.start, begun.reset, lambda: begun.step(np.zeros(3, np.int64))):
        with pytest.raises(BackendBusy, match=r"wait\(\) or step_wait\(\) first"):
            call()
    begun.wait()
    begun.advance(1)


def test_an_action_out_of_range(begun):
    """It is refused before anything is stepped; the error names the environment, the action and the range."""
    for action in (-1, 5, 2**40):
        begun.buffer["action"][0, 1] = action
        with pytest.raises(BadAction, match=rf"environment 1 got action {action}; expected 0 to 4"):
            begun.advance(0)
    begun.buffer["action"][0, 1] = 4
    begun.advance(0)
    assert begun.buffer["episode_length"][1].tolist() == [1, 1, 1]


def test_arrays_of_the_wrong_shape_or_type(begun):
    """Such actions and masks of a reset, or an empty one, are refused; the error says what was expected."""
    for actions in SHAPES:
        with pytest.raises(BadAction, match=r"integers of shape \(3,\), got"):
            begun.step(actions)
    for mask in MASKS:
        with pytest.raises(BadParameter, match="bool array of shape"):
            begun.reset(options={"reset_mask": mask})


@pytest.mark.parametrize("backend", EVERY)
def test_a_closed_backend(backend):
    """Closing twice is fine; everything else says that it was closed."""
    envs = make(TASK, 2, backend, workers=1)
    envs.close()
    envs.close()
    for call in (envs.start, envs.reset, lambda: envs.advance(0), envs.wait):
        with pytest.raises(BackendClosed, match="was closed"):
            call()


@pytest.mark.parametrize(
    ("backend", "options", "error", "text"),
    [
        ("shm", {"num_envs": 0}, BadParameter, "at least 1, got 0"),
        ("shm", {"num_envs": 2, "workers": 0}, BadParameter, "workers"),
        ("thread", {"num_envs": 2}, UnknownName, r"Did you mean threads\? Known: threads, device, http, inline, ray, "),
    ],
)
def test_what_cannot_be_made(backend, options, error, text):
    """No environments or no workers is an error with their number; an unknown name lists those that there are."""
    with pytest.raises(error, match=text):
        make(TASK, backend=backend, **options)


def test_the_fallback_backend(toy):
    """What cannot run here is replaced by what can, and says so; `strict` makes it an error."""
    with closing(make(toy("Counter"), 2, "threads")) as envs:
        assert envs.name == "inline"
        (event,) = envs.drain_events()
        assert "GIL" in event.text
    with pytest.raises(BackendUnavailable, match="threads backend cannot run"):
        make(toy("Counter"), 2, "threads", strict=True)


@pytest.mark.parametrize("backend", ["shm", "socket", "http"])
def test_a_masked_action_is_an_error_of_the_caller(backend):
    """A worker that refuses an action is not replaced: the error is the caller's, and names the mask."""
    with closing(make("kuhn", 2, backend, workers=1)) as envs:
        envs.start()
        envs.buffer["action"][0] = np.flatnonzero(~envs.action_masks()[0])[0]
        with pytest.raises(PacError, match="action_mask"):
            envs.advance(0)
        assert envs.workers[0].restarts == 0
