"""A training in a thread, as a script has it, that is watched."""

import threading
import time
from contextlib import contextmanager
from typing import Any

import gymnasium
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from pac.training import watch
from pac.training.runs.sessions import sessions
from pac.training.session.control import SessionClient
from pac.training.telemetry.blocks import TelemetryReader
from pac.training.telemetry.records import Phase
from pac.training.telemetry.snapshot import ViewRequest, take_snapshot
from pac.training.watching import followed, groups, intercept, manual, script

from ...waiting import until

ALL = ViewRequest(focus=0, curves=("loss",))


def cartpoles(num_envs=3, mode=AutoresetMode.NEXT_STEP, render_mode=None):
    """Some poles on carts."""
    make = [lambda: gymnasium.make("CartPole-v1", render_mode=render_mode, max_episode_steps=15)] * num_envs
    return SyncVectorEnv(make, autoreset_mode=mode)


def followed_by(envs) -> Any:
    """What follows environments; None if nothing does."""
    return intercept.followed_by(envs)


def session_of(envs) -> Any:
    """The session that shows environments which were stepped."""
    return followed_by(envs).session


def named(name):
    """What is found of the running sessions with a name."""
    return [session for session in sessions() if session.name == name]


def forget_all():
    """End all sessions of this process, as its end does, and follow none of its environments any more."""
    for session in tuple(script._open):
        session.close()
    for known in (groups._groups, intercept.objects, followed.Reports.said, manual._loops):
        known.clear()


class Training:
    """A training in a thread of its own, as a script has it, and a viewer of it."""

    def __init__(self, envs, act=None):
        self.act = act or envs.action_space.sample
        self.envs = watch(envs, name="a-script")
        self.envs.reset(seed=1)
        self.envs.step(self.envs.action_space.sample())
        self.session = session_of(envs)
        self.directory = self.session.directory
        self.reader, self.client = TelemetryReader(self.directory), SessionClient(self.directory)
        self.steps = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        while not self._done.is_set():
            self.envs.step(self.act())
            self.steps += 1
            if self.steps % 50 == 0:
                watch.log({"loss": 1 / self.steps})
            time.sleep(0.0005)

    def see(self):
        return take_snapshot(self.reader, ALL)

    def pause(self):
        self.client.call("pause")
        until(lambda: self.see().phase is Phase.PAUSED, "paused")

    def close(self):
        if self.directory.exists():
            self.client.call("resume")
        self._done.set()
        self._thread.join()
        self.client.close()
        self.envs.close()
        forget_all()


@contextmanager
def training(envs=None, act=None):
    """Train for the length of a test; `act` returns the next actions instead of random ones."""
    started = Training(envs or cartpoles(), act)
    started.client.call("look", focus=0)
    try:
        yield started
    finally:
        started.close()
    assert not started.directory.exists()


def counted_by(envs):
    """The monitor, which has counted all steps."""
    session = session_of(envs)
    session.step_log.every = True  # also a step with a flag, of which it is not known yet whether a reset follows
    session._flush()
    session.step_log.every = False
    session.counter.mark()
    return session.monitor
