"""A training of somebody else's, watched: seen, paused, slowed, let go; nothing changes for it, nothing is left."""

import itertools
import math
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.envs.classic_control import CartPoleEnv
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

from pac.envs import BadParameter, allocate
from pac.training import watch
from pac.training.runs.sessions import find_session
from pac.training.session.control import CommandRefused, SessionClient
from pac.training.telemetry.blocks import TelemetryReader
from pac.training.telemetry.records import Phase
from pac.training.telemetry.snapshot import ViewRequest, take_snapshot
from pac.training.watching.boards import WatchedBoards
from pac.training.watching.step_log import StepLog
from pac.training.watching.task import WatchedActions, describe_script

from ...waiting import until
from .scripted import cartpoles, forget_all, named, session_of, training


@pytest.mark.thorough
def test_a_watched_script_is_found_and_seen():
    """Its curves and what it is made of are published."""
    with training() as started:
        until(lambda: "loss" in started.see().curves and len(started.see().curves["loss"].values), "a curve")
        seen = started.see()
        assert (seen.description.task, seen.description.trainer) == ("CartPole-v1", "script")
        assert seen.description.watched
        assert seen.state["backend"] == "SyncVectorEnv"
        assert seen.num_envs == 3


@pytest.mark.thorough
def test_what_environments_draw_is_shown(monkeypatch):
    """A picture, made small, that changes; here as often as anybody looks, whatever it costs."""
    monkeypatch.setattr("pac.envs.spaces.drawing.SHARE", math.inf)
    with training(cartpoles(render_mode="rgb_array")) as started:
        until(lambda: np.any(started.see().boards.get("picture", 0)), "a picture")
        first = started.see().boards["picture"][0]
        assert first.shape[1] <= 96
        until(lambda: not np.array_equal(started.see().boards["picture"][0], first), "another picture")


def test_waiting_goes_into_pictures(monkeypatch):
    """Beyond their share of the time they are drawn while the training stands still anyway."""
    monkeypatch.setattr("pac.envs.spaces.drawing.SHARE", 1e-9)
    shades = itertools.count(1)
    boards = WatchedBoards(lambda _env: np.full((4, 4, 3), next(shades), np.uint8), np.zeros(1, np.float32))
    assert boards.look()
    task = describe_script("toy", WatchedActions(gymnasium.spaces.Discrete(2)), boards)
    buffers = allocate(task, 1)

    def shade(spare: float) -> int:
        buffers["looked_at"][:] = 1
        boards.draw(buffers, StepLog(1, keeps=False), spare=spare)
        return int(buffers["picture"].max())

    first = shade(0.0)
    assert first
    assert shade(0.0) == first
    assert shade(math.inf) == first + 1


def test_where_nothing_is_drawn_observations_are_shown(monkeypatch):
    """The newest of a stack of frames, grey; a render that fails costs the picture, not the training."""

    def broken(_env):
        raise RuntimeError("no display")

    monkeypatch.delitem(sys.modules, "mujoco", raising=False)
    frames = np.zeros((4, 84, 84), np.uint8)
    frames[-1] = 200
    boards = WatchedBoards(None, frames)
    assert (boards.panels[0].kind, boards.fields[0].shape) == ("pixels", (64, 64, 3))
    boards = WatchedBoards(broken, np.ones(5))
    assert not boards.look()
    assert boards.panels[0].kind == "bars"
    assert boards.take_notes() == ["rendering failed (RuntimeError: no display): boards show what is observed"]
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    monkeypatch.setitem(sys.modules, "mujoco", object())
    boards = WatchedBoards(broken, np.ones(5))
    boards.look()
    assert boards.take_notes()[0].endswith(
        "start the script with MUJOCO_GL=egl or osmesa: `pac-tui doctor` says what works here"
    )


def test_observations_of_any_kind_are_named_numbers():
    """Dicts and tuples give their parts one after the other; what is no number is left out."""
    parts = WatchedBoards(None, {"a": np.array([1.0, 2.0]), "b": (np.array(3), np.array("x"))}).parts
    assert parts.labels == ("a 0", "a 1", "b.0")
    assert parts.slices == {"a": (0, 2), "b.0": (2, 3)}
    assert parts.numbers({"a": np.array([1, 2]), "b": (np.int64(4), "y")}).tolist() == [1, 2, 4]


def test_an_image_among_other_parts_is_a_picture_beside_them():
    """It is the board, and its numbers are not among the bars; an image of few pixels is numbers."""
    camera, tile = np.full((20, 30, 3), 7, np.uint8), np.zeros((3, 3, 3), np.uint8)
    boards = WatchedBoards(None, {"speed": np.ones(2), "camera": camera, "tile": tile})
    assert [(panel.kind, panel.title) for panel in boards.panels][::2] == [
        ("pixels", "camera"),
        ("bars", "Observation"),
    ]


def test_it_pauses_steps_and_goes_on():
    """The gate stands in `step`."""
    with training() as started:
        started.pause()
        until(lambda: getattr(started.see().moment, "next_action", None) is not None, "the next action is known")
        steps = started.steps
        started.client.call("step", count=3)
        until(lambda: started.steps == steps + 3, "three steps")
        until(lambda: not started.see().state["credits"], "no more")
        assert started.steps == steps + 3
        seconds = started.see().state["training_seconds"]
        started.client.call("resume")
        until(lambda: started.steps > steps + 50, "it goes on")
        until(lambda: started.see().state["training_seconds"] > seconds, "and its clock")


def test_what_a_script_keeps_to_itself_is_refused():
    """With a sentence."""
    with training() as started:
        for command, arguments in (("restart", {"num_envs": 4}), ("baseline", {}), ("record", {"env": 0})):
            with pytest.raises(CommandRefused, match="this is a watched script"):
                started.client.call(command, **arguments)


def test_a_viewer_can_stop_watching():
    """The script trains on, unpaused, and nobody finds it any more."""
    with training() as started:
        started.pause()
        until(lambda: "picture" in started.see().boards, "the last segment")
        started.client.call("stop")
        until(lambda: not started.directory.exists(), "gone")
        steps = started.steps
        until(lambda: started.steps > steps + 50, "it goes on")
        assert started.see().phase is Phase.ENDED


@pytest.mark.thorough
def test_only_the_first_viewer_controls_until_another_takes_over():
    """Others are refused, with the name of who controls; when that one leaves, the next one may."""
    with training() as started:
        second = SessionClient(started.directory)
        started.client.call("join", name="pts/1")
        second.call("join", name="pts/2")
        with pytest.raises(CommandRefused, match="pts/1 controls"):
            second.call("pause")
        second.call("control")
        second.call("pause")
        until(lambda: started.see().audience["name"] == "pts/2", "the new one is named")
        with pytest.raises(CommandRefused, match="pts/2 controls"):
            started.client.call("resume")
        second.close()
        until(lambda: started.see().audience["viewers"] == 1, "it left")
        started.client.call("resume")


def test_watched_environments_stay_the_same():
    """The object, its class and its attributes; only its class's functions have other code, which nobody sees."""
    bare = cartpoles()
    kind, attributes, functions = type(bare), dict(vars(bare)), dict(vars(type(bare)))
    assert watch(bare) is bare
    bare.reset(seed=1)
    bare.step(bare.action_space.sample())
    assert session_of(bare).mirror.environments == 3
    assert (type(bare), vars(type(bare)), vars(bare).keys()) == (kind, functions, attributes.keys())


@pytest.mark.parametrize(
    ("wrong", "reported"),
    [([gymnasium.make("CartPole-v1")], "got list: call watch with each environment"), (None, "got NoneType")],
)
def test_only_environments_can_be_watched(wrong, reported):
    """The error says what to do."""
    with pytest.raises(BadParameter, match=reported):
        watch(wrong)


@pytest.mark.parametrize(("value", "reported"), [("high", "'loss' is 'high'"), (torch.zeros(2), "'loss' is tensor")])
def test_only_numbers_can_be_logged(value, reported):
    """The name of what is not a number is reported, also where PyTorch raises another error."""
    with training(), pytest.raises(BadParameter, match=reported):
        watch.log({"loss": value})


def played(envs, name=None):
    """Watch environments, reset them and make a step; return their session."""
    watch(envs, name=name).reset(seed=1)
    envs.step(envs.action_space.sample())
    return session_of(envs)


def test_what_a_script_logs_last_is_shown():
    """A viewer sees it at the end of the process, however short that was."""
    session = played(cartpoles(), "short")
    reader = TelemetryReader(session.directory)
    watch.log({"loss": 3.0})
    forget_all()
    seen = take_snapshot(reader, ViewRequest(count=0))
    assert (seen.phase, seen.metrics["loss"]) == (Phase.ENDED, 3.0)
    assert not named("short")


def test_a_second_session_of_a_name_gets_a_number(tmp_path, monkeypatch):
    """So that each can be attached to by its name; `latest` is a session that lives."""
    monkeypatch.setenv("PAC_RUNTIME_DIR", str(tmp_path))  # without the sessions of other tests
    first = watch(cartpoles(), name="twin")
    second = watch(cartpoles(2), name="twin")
    for envs in (first, second):
        envs.reset()
        envs.step(envs.action_space.sample())
    found = [find_session(name, Path()).name for name in ("twin", "twin-2", "latest")]
    assert found == ["twin", "twin-2", "twin-2"]
    forget_all()
    with pytest.raises(BadParameter, match="no session is running"):
        find_session("latest", Path())


class Unregistered(CartPoleEnv):
    """An environment without an id."""


@pytest.mark.parametrize("kind", [SyncVectorEnv, pytest.param(AsyncVectorEnv, marks=pytest.mark.session)])
def test_an_environment_without_an_id_is_called_by_its_class(kind):
    """Not by the class of the vector environment, also if it runs in another process."""
    envs = kind([Unregistered] * 2)
    assert played(envs).services.task.name == "Unregistered"
    envs.close()
