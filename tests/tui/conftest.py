"""The app over a session that the test plays: a real segment and a real socket, without a process."""

import difflib
import os
import time
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from pac.tui.app.app import PacApp
from pac.tui.app.refresh import RefreshScheduler
from pac.tui.connections.connection import SessionConnection

from .commands import tidy
from .fake_session import FakeSession, run, until
from .stage import NOW, Stage

SNAPSHOTS = Path(__file__).with_name("snapshots")


@pytest.fixture
def shared():
    """A runtime directory that must be empty again at the end."""
    with tidy() as folder:
        yield folder


@pytest.fixture
def place(shared, tmp_path):
    """A runtime directory, which must be empty at the end, and a working directory."""
    return shared, tmp_path


@pytest.fixture
def fake(runtime_directory):
    """A running session of eight bottles."""
    with_bottles = FakeSession(runtime_directory)
    yield with_bottles
    with_bottles.close()


class Hasty(RefreshScheduler):
    """Draws more often than the app does, whatever that costs, since the test waits for it."""

    def __init__(self):
        super().__init__()
        self.slowdown = 0.1

    def measure(self, budget: float = 0.0):
        """Keep the rates."""


@pytest.fixture(autouse=True)
def apps_draw_often(monkeypatch):
    """Let apps start with a scheduler that waits less."""
    monkeypatch.setattr("pac.tui.app.app.RefreshScheduler", Hasty)


@pytest.fixture
def open_app():
    """Return a context manager that runs the app and waits for its first snapshot and its first request."""

    @asynccontextmanager
    async def opened(fake, size=(120, 40), *, wait=True, origin="process"):
        connection = SessionConnection(lambda: fake, origin)
        app = PacApp(connection)
        async with run(app, size) as pilot:
            if wait:
                await until(lambda: app.state.snapshot is not None, "the first snapshot")
                await until(lambda: fake.looks, "the first request")
            yield app, pilot
        connection.close()

    return opened


@pytest.fixture(scope="session")
def stage():
    """An app that draws views of sessions that do not change."""
    shown = Stage()
    yield shown
    shown.close()


@pytest.fixture
def still(runtime_directory):
    """Return a function that makes a session in which no time passes."""
    made = []

    def make(task="drmario", num_envs=8):
        made.append(FakeSession(runtime_directory, task, num_envs))
        return made[-1]

    yield make
    for session in made:
        session.close()


@pytest.fixture
def stored(monkeypatch):
    """Return a function that compares a text with the file of its name, or writes it if UPDATE_SNAPSHOTS is set.

    The time is `NOW`, in Greenwich.
    """
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setattr(time, "time", lambda: NOW)
    time.tzset()

    def compare(name, text):
        path = SNAPSHOTS / f"{name}.txt"
        if "UPDATE_SNAPSHOTS" in os.environ:
            path.write_text(text)
        known = path.read_text() if path.exists() else ""
        if text != known:
            changes = difflib.unified_diff(known.splitlines(), text.splitlines(), "stored", "drawn", n=2, lineterm="")
            pytest.fail("\n".join([f"{path.name} differs; `make snapshots` accepts it", *changes]), pytrace=False)

    yield compare
    monkeypatch.undo()
    time.tzset()
