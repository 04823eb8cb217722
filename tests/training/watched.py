"""A real session in a real process, and a viewer of it."""

import contextlib
import time
from pathlib import Path

import pytest

from pac.backends.system import segment
from pac.training.config import Config
from pac.training.session.control import SessionClient
from pac.training.session.host import SessionFailed, SessionThread, launch
from pac.training.session.session import Session
from pac.training.telemetry.blocks import TelemetryReader
from pac.training.telemetry.records import Phase
from pac.training.telemetry.snapshot import ViewRequest, take_snapshot

NUM_ENVS = 4
LIMIT = 200.0  # s: the first session of a game compiles it
RESIDENT = ["apart", "apart graph", *(pytest.param(name, marks=pytest.mark.gpu) for name in ("cuda", "cuda graph"))]
"""Environments in memory of the policy's device, also with rollouts that are replayed as a whole."""


class Watched:
    """A session with a viewer."""

    def __init__(self, *, in_process=False, **options):
        options = {"trainer": "random", "backend": "inline", "num_envs": NUM_ENVS, **options}
        kind, _, graph = options["backend"].partition(" ")  # "graph": rollouts are replayed as a whole
        apart = kind == "apart"  # memory that the host reads and writes as that of a GPU
        if apart or kind == "cuda":
            small = {"batch": 64, "minibatch": 64, "epochs": 1, "threads": 1, "cuda_graph": bool(graph)}
            options |= {"backend": "device", "trainer": "ppo", "device": "cpu" if apart else "cuda", "settings": small}
        with pytest.MonkeyPatch.context() as patch:
            if apart:
                patch.setenv("PAC_DEVICE_MEMORY", "apart")
            if in_process:  # one after the other, each as in a process of its own
                patch.setattr(segment, "own_directory", segment.new_directory)
            self.process = (SessionThread if in_process else launch)(Config(**options))
        self.reader = TelemetryReader(self.process.directory)
        self.client = SessionClient(self.process.directory)
        self.call("look", focus=0)

    def call(self, command, **arguments):
        return self.client.call(command, **arguments)

    def see(self, **look):
        return take_snapshot(self.reader, ViewRequest(**{"focus": 0, **look}))

    def until(self, condition, seconds=LIMIT):
        end = time.monotonic() + seconds
        while not condition(snapshot := self.see()):
            assert time.monotonic() < end, (snapshot.phase, snapshot.message, dict(snapshot.state))
            assert self.process.poll() is None, "the session ended"
            time.sleep(0.02)  # a look at telemetry costs both processes: not as fast as possible
        return snapshot

    def begin_anew(self):
        """Undo what a test has done, and wait until four environments run."""
        for number in self.see().breakpoints["number"].tolist():
            self.call("unbreak", number=number)
        self.call("look", focus=0)
        self.call("speed", sps=0)
        if self.see().num_envs != NUM_ENVS:
            self.call("restart", num_envs=NUM_ENVS)
        self.call("resume")
        self.until(lambda snapshot: running(snapshot) and snapshot.num_envs == NUM_ENVS)

    def pause(self):
        """Pause; return what is seen then."""
        self.call("pause")
        return self.until(lambda snapshot: snapshot.phase is Phase.PAUSED)

    def end(self):
        self.call("stop")
        self.client.close()
        return self.process.report()

    def kill(self):
        self.client.close()
        self.process.kill()
        with contextlib.suppress(SessionFailed):
            self.process.report()
        segment.remove_directory(self.process.directory)


def run_here(runs_dir, *, begin=None, **options):
    """Run a session in this process, after `begin` was called with it; return its report and the session."""
    made = Session(Config.model_validate({"runs_dir": runs_dir, **options}), segment.new_directory(), headless=True)
    if begin is not None:
        begin(made)
    try:
        return made.run(), made
    finally:
        segment.remove_directory(made.directory)


@contextlib.contextmanager
def session(tmp_path, **options):
    watched = Watched(runs_dir=tmp_path, **options)
    try:
        yield watched
    finally:
        watched.kill()


def running(snapshot):
    return snapshot.phase is Phase.RUNNING and snapshot.state["steps"] > 0


@contextlib.contextmanager
def unwritable(folder: Path):
    """Put a file in the place of a folder: nothing can be written there, whoever tries."""
    aside = folder.with_name("aside")
    folder.rename(aside)
    folder.touch()
    yield
    folder.unlink()
    aside.rename(folder)
