"""Every misuse is an error of its own, on every backend."""

from __future__ import annotations

from contextlib import closing

import numpy as np
import pytest

from pac.backends import (
    BackendBusy,
    BackendClosed,
    BackendUnavailable,
    BadAction,
    make,
)
from pac.envs import BadParameter, PacError, UnknownName, find

TASK = find("drmario-frames")


@pytest.fixture(params=["inline", "threads", "device", "shm", "socket", "http"], scope="module")
def envs(request):
    made = make(TASK, 3, request.param, slots=3, workers=2)
    yield made
    made.close()


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


def test_waiting_for_nothing(begun):
    """Waiting when no step is pending names what to call first."""
    with pytest.raises(BackendBusy, match=r"send\(\) or step_async\(\) first"):
        begun.wait()


def test_a_second_step_while_one_is_pending(begun):
    """Stepping, starting or resetting while a step is pending is refused, and the step can still be waited for."""
    begun.send(0)
    for call in (lambda: begun.send(0), begun.start, begun.reset, lambda: begun.step(np.zeros(3, np.int64))):
        with pytest.raises(BackendBusy, match=r"wait\(\) or step_wait\(\) first"):
            call()
    begun.wait()
    begun.advance(1)


@pytest.mark.parametrize("action", [-1, 18, 2**40])
def test_an_action_out_of_range(begun, action):
    """It is refused before anything is stepped; the error names the environment, the action and the range."""
    begun.buffer["action"][0, 1] = action
    with pytest.raises(BadAction, match=rf"environment 1 got action {action}; expected 0 to 17"):
        begun.advance(0)
    begun.buffer["action"][0, 1] = 0
    begun.advance(0)


@pytest.mark.parametrize("actions", [np.zeros(2, np.int64), np.zeros((3, 1), np.int64), np.zeros(3), np.int64(1)])
def test_actions_of_the_wrong_shape_or_type(begun, actions):
    """They are refused; the error says what was expected and what came."""
    with pytest.raises(BadAction, match=r"integers of shape \(3,\), got"):
        begun.step(actions)


@pytest.mark.parametrize(
    "mask", [np.zeros(3, np.bool_), np.ones(2, np.bool_), np.ones(3, np.int64), [True, True, True]]
)
def test_a_bad_reset_mask(begun, mask):
    """A mask of another shape or type, or an empty one, is refused."""
    with pytest.raises(BadParameter, match="bool array of shape"):
        begun.reset(options={"reset_mask": mask})


@pytest.mark.parametrize("backend", ["inline", "threads", "device", "shm", "socket", "http"])
def test_a_closed_backend(backend):
    """Closing twice is fine; everything else says that it was closed."""
    envs = make(TASK, 2, backend, workers=1)
    envs.close()
    envs.close()
    for call in (envs.start, envs.reset, lambda: envs.advance(0), envs.wait):
        with pytest.raises(BackendClosed, match="was closed"):
            call()


@pytest.mark.parametrize(
    ("options", "text"), [({"num_envs": 0}, "at least 1, got 0"), ({"num_envs": 2, "workers": 0}, "workers")]
)
def test_too_few(options, text):
    """No environments, or no workers, is an error that says how many there must be."""
    with pytest.raises(BadParameter, match=text):
        make(TASK, backend="shm", **options)


def test_an_unknown_backend():
    """Its error lists the known ones, nearest first."""
    with pytest.raises(
        UnknownName, match=r"Did you mean threads\? Known: threads, device, http, inline, ray, shm, socket"
    ):
        make(TASK, 2, "thread")


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
    with closing(make("drmario", 2, backend, workers=1)) as envs:
        envs.start()
        envs.buffer["action"][0] = np.flatnonzero(~envs.action_masks()[0])[0]
        with pytest.raises(PacError, match="action_mask"):
            envs.advance(0)
        assert envs.workers[0].restarts == 0
