"""The app on a fake: a real segment and a real socket, played by the test."""

from contextlib import asynccontextmanager

import pytest
from textual._context import active_app
from textual.pilot import Pilot

from pac.tui.app import PacApp
from pac.tui.connection import SessionConnection
from pac.tui.refresh import RefreshScheduler

from .fake_session import FakeSession, until


@pytest.fixture(autouse=True)
def keys_are_handled(monkeypatch):
    """Let a pilot wait for messages under way, not for a process at rest: a starved one rests too, a busy one never."""

    async def handled(*_limits):
        await Pilot(active_app.get())._wait_for_screen()

    for module in ("app", "pilot"):
        monkeypatch.setattr(f"textual.{module}.wait_for_idle", handled)


@pytest.fixture
def fake(runtime_directory):
    """Eight bottles that run."""
    with_bottles = FakeSession(runtime_directory)
    yield with_bottles
    with_bottles.close()


class Hasty(RefreshScheduler):
    """Draws more often than a person could see, however busy the machine is: a test waits for it."""

    def measure(self):
        self.slowdown = 0.3


@pytest.fixture
def open_app():
    """Return a context that runs the app over a fake, until it has seen the session."""

    @asynccontextmanager
    async def opened(fake, size=(120, 40), *, wait=True, origin="process"):
        connection = SessionConnection(lambda: fake, origin)
        app = PacApp(connection)
        app.scheduler = Hasty()
        async with app.run_test(size=size, notifications=True) as pilot:
            if wait:
                await until(lambda: app.state.snapshot is not None, "the first snapshot")
            yield app, pilot
        connection.close()

    return opened
