"""Which environments one session shows: those of one kind that are made at one place, and whatever replaces them."""

import sys
import threading
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv

from pac.training import watch
from pac.training.telemetry.blocks import TelemetryReader
from pac.training.telemetry.snapshot import ViewRequest, take_snapshot
from pac.training.watching import groups
from pac.training.watching.boards import UsedByOtherThread
from pac.training.watching.intercept import here
from pac.training.watching.naming import callers, creation_label
from pac.training.watching.script import _open, script_name

from ...waiting import LIMIT, until
from .scripted import counted_by, followed_by, forget_all, session_of

NAME = script_name()


class Steps(gymnasium.Env):
    """Ends after three steps."""

    observation_space = gymnasium.spaces.Box(0, 9, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, **_):
        self.at = 0
        return np.zeros(1, np.float32), {}

    def step(self, _action):
        self.at += 1
        return np.full(1, self.at, np.float32), 1.0, self.at == 3, False, {}


class Others(Steps):
    """Environments of another kind."""


def made(kind=Steps):
    """An environment, always made at this place."""
    return watch(kind())


def play(env, steps=3):
    """Play from a reset on; return the session."""
    env.reset()
    for _ in range(steps):
        env.step(0)
    return session_of(env)


def shown():
    """The open sessions as numbers of environments by name."""
    return {session.name: session.step_log.rows for session in _open}


@pytest.mark.parametrize("ends", ["kept", "closed", "dropped"])
def test_an_environment_for_each_episode_continues_the_session(ends):
    """Also if the one before is kept: it is stepped no more. Steps and episodes go on."""
    kept, found = [], set()
    for _ in range(4):
        env = made()
        found.add(play(env))
        if ends == "closed":
            env.close()
        if ends != "dropped":
            kept.append(env)
    counts = counted_by(env).counter.counts
    assert shown() == {NAME: 1}
    assert len(found) == 1
    assert (counts.steps, counts.episodes) == (12, 4 if ends == "closed" else 3)  # the last one waits for a reset
    env.reset()
    assert counted_by(env).counter.counts.episodes == 4


def test_the_last_step_of_the_process_ends_an_episode():
    """If it has a flag, since no other step follows that could ignore it."""
    reader = TelemetryReader(play(made()).directory)
    forget_all()
    state = take_snapshot(reader, ViewRequest()).state
    assert (state["steps"], state["episodes"]) == (3, 1)


def test_an_episode_of_a_dropped_environment_is_none():
    """It did not end."""
    for _ in range(3):
        env = made()
        play(env, 2)
    counts = counted_by(env).counter.counts
    assert (counts.steps, counts.episodes) == (6, 0)


def test_environments_made_together_are_one_session():
    """Each has a row. One that is made later gets the row of one that was closed, or a new one."""
    envs: list[Any] = []
    for closed in (None, None, None, 1, None):
        new = made()
        if closed is not None:
            envs.pop(closed).close()
        for env in envs:
            env.step(0)
        envs.append(new)
        new.reset()
        new.step(0)
    assert [followed_by(env).row for env in envs] == [0, 2, 1, 3]
    assert shown() == {NAME: 4}
    assert counted_by(envs[0]).counter.counts.steps == 1 + 2 + 3 + 3 + 4


def test_what_a_viewer_stopped_watching_is_shown_no_more():
    """Nor what the script makes at the same place later."""
    env = made()
    play(env).stop()
    for _ in range(3):
        play(env)
        env = made()
    assert shown() == {}


def test_others_that_live_at_the_same_time_have_a_session_of_their_own():
    """What replaces either continues its session."""
    first, second = made(), made(Others)
    for _ in range(2):
        play(first)
        play(second)
    assert shown() == {NAME: 1, f"{NAME}-2": 1}
    del first
    third = watch(Steps())
    assert play(third).name == NAME
    assert shown() == {NAME: 1, f"{NAME}-2": 1}
    counts = counted_by(third).counter.counts
    assert (counts.steps, counts.episodes) == (9, 2)
    assert counted_by(second).counter.counts.steps == 6


def test_what_replaces_a_group_may_be_of_another_kind():
    """A sanity check with one environment, and then the training with several."""
    env = made()
    play(env)
    env.close()
    envs = watch(SyncVectorEnv([Others] * 3))
    envs.reset()
    envs.step([0, 0, 0])
    session = session_of(envs)
    assert shown() == {NAME: 3}
    assert (session.services.task.name, session.state.backend) == ("Others", "SyncVectorEnv")
    assert counted_by(envs).counter.counts.steps == 6


def test_each_role_goes_on_by_itself():
    """By the variable; it continues with the next evaluation, beside the training."""
    env = made()
    for _ in range(3):
        play(env)
        eval_env = watch(Steps())
        play(eval_env)
        eval_env.close()
    assert shown() == {NAME: 1, f"{NAME}-eval": 1}
    assert (counted_by(env).counter.counts.steps, counted_by(eval_env).counter.counts.steps) == (9, 9)


def label():
    return creation_label(callers(sys._getframe(1)))


def evaluate_policy():
    return label()


def test_a_role_is_known_by_names():
    """Of functions and variables."""
    test_envs = label()
    envs = label()
    assert (evaluate_policy(), test_envs, envs) == ("eval", "eval", "")


def test_vectors_that_are_stepped_in_turn_are_two_sessions():
    """Although they are of one kind and made at one place."""
    both = [watch(SyncVectorEnv([Steps] * 2)) for _ in range(2)]
    for envs in both * 2:
        envs.reset()
        envs.step([0, 0])
    assert shown() == {NAME: 2, f"{NAME}-2": 2}
    assert len(groups._groups) == 2


@pytest.mark.thorough
def test_threads_that_step_go_on_after_pauses():
    """One that notes a step and one that publishes at the gate do not wait for each other."""
    envs = [watch(Steps(), name="threads") for _ in range(4)]
    counts, done = [0] * len(envs), threading.Event()
    for env in envs:
        env.reset()
    envs[0].step(0)
    session = session_of(envs[0])

    def work(row):
        while not done.is_set():
            if any(envs[row].step(0)[2:4]):
                envs[row].reset()
            counts[row] += 1

    def stepped(number):
        return sum(counts) > number

    threads = [threading.Thread(target=work, args=(row,), daemon=True) for row in range(len(envs))]
    for thread in threads:
        thread.start()
    session.gate.set_speed(20_000)
    for _ in range(10):
        session.gate.pause()
        until(lambda: session.gate.paused, "paused")
        enough = sum(counts) + 500
        session.gate.resume()
        session.process_soon()
        until(partial(stepped, enough), "they go on")
    done.set()
    session.gate.set_speed(0)
    for thread in threads:
        thread.join(LIMIT)
        assert not thread.is_alive()


def test_an_environment_is_drawn_while_no_other_thread_uses_it():
    """A thread that comes meanwhile waits; after its step, only that thread draws it."""
    env, stepped = made(), threading.Event()
    session, followed = play(env, 1), followed_by(env)

    def step():
        env.step(0)
        stepped.set()

    thread = threading.Thread(target=step, daemon=True)

    def drawer():
        thread.start()
        until(lambda: followed.thread is not here.thread)
        assert not stepped.wait(0.05)
        return env.at

    with session.lock:
        assert followed.draw(drawer) == 1
    assert stepped.wait(LIMIT)
    with session.lock, pytest.raises(UsedByOtherThread):
        followed.draw(drawer)
