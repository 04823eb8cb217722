"""Watched scripts as processes: forked, ended, killed."""

import multiprocessing
import os
import signal

import pytest

from pac.training import watch
from pac.training.telemetry.blocks import TelemetryReader
from pac.training.telemetry.records import Phase
from pac.training.telemetry.snapshot import ViewRequest, take_snapshot

from ...programs import talking
from ...waiting import LIMIT
from .scripted import cartpoles, named

pytestmark = pytest.mark.session


def forked(envs, answers):
    envs.step(envs.action_space.sample())
    answers.put([session.pid for session in named("parent")])


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_is_not_watched():
    """It steps, unseen; what is watched is the process that called `watch`."""
    envs = watch(cartpoles(), name="parent")
    envs.reset(seed=1)
    envs.step(envs.action_space.sample())
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=forked, args=(envs, answers))
    child.start()
    assert answers.get(timeout=LIMIT) == [os.getpid()]
    child.join(LIMIT)
    assert child.exitcode == 0
    assert named("parent")


SCRIPT = """
import sys
import gymnasium
import numpy as np
from pac.training import watch
envs = watch(gymnasium.make_vec("CartPole-v1", num_envs=2), name="a-process")
envs.reset(seed=1)
envs.step(np.array([0, 1]))
print("stands", flush=True)
sys.stdin.readline()
raise SystemExit(0) if sys.argv[1] == "ends" else ValueError("the loss is nan")
"""


@pytest.mark.parametrize(
    ("how", "phase", "message"),
    [("ends", Phase.ENDED, "ended"), ("fails", Phase.FAILED, "ValueError: the loss is nan")],
)
def test_whoever_looks_sees_how_a_script_ended(how, phase, message):
    """Its last state and its error stay with the viewer; nothing stays in the runtime directory."""
    script = talking("-c", SCRIPT, how)
    assert script.stdout
    assert script.stdout.readline() == "stands\n"
    (found,) = named("a-process")
    reader = TelemetryReader(found.directory)
    script.communicate("\n", timeout=LIMIT)
    last = take_snapshot(reader, ViewRequest())
    assert (last.phase, last.message) == (phase, message)
    assert not found.directory.exists()


def test_what_a_killed_script_leaves_is_removed_by_the_next_watch():
    """kill -9 leaves a directory behind, and the next start removes it."""
    script = talking("-c", SCRIPT, "ends")
    assert script.stdout
    script.stdout.readline()
    (found,) = named("a-process")
    script.send_signal(signal.SIGKILL)
    script.communicate(timeout=LIMIT)
    assert found.directory.exists()
    envs = watch(cartpoles())
    envs.reset(seed=1)
    envs.step(envs.action_space.sample())
    assert not found.directory.exists()
