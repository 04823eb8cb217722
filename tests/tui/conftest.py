"""The app over a session that the test plays: a real segment and a real socket, without a process."""

from contextlib import asynccontextmanager

import pytest
from textual._compositor import Compositor
from textual._context import active_app
from textual.css.stylesheet import Stylesheet
from textual.pilot import Pilot

from pac.tui.app import PacApp
from pac.tui.connection import SessionConnection
from pac.tui.refresh import RefreshScheduler

from .commands import tidy
from .fake_session import FakeSession, until

PARSED: dict[tuple[object, ...], object] = {}


@pytest.fixture(autouse=True)
def keys_are_handled(monkeypatch):
    """Let a pilot wait until messages are handled, not until the process is idle, which depends on the machine."""

    async def handled(*_limits):
        await Pilot(active_app.get())._wait_for_screen()

    for module in ("app", "pilot"):
        monkeypatch.setattr(f"textual.{module}.wait_for_idle", handled)


@pytest.fixture(autouse=True)
def updates_are_not_rendered(monkeypatch):
    """Skip the updates for the terminal: Textual renders them without one, too. Tests render the screen themselves."""

    def discard(compositor, **_options):
        compositor._dirty_regions.clear()

    monkeypatch.setattr(Compositor, "render_update", discard)


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


@pytest.fixture(autouse=True)
def styles_are_parsed_once(monkeypatch):
    """Keep parsed CSS from one app to the next."""
    parse = Stylesheet._parse_rules

    def parse_once(sheet, css, read_from, *args, **options):
        key = css, read_from, args, *options.items(), *sheet._variables.items()
        if key not in PARSED:
            PARSED[key] = parse(sheet, css, read_from, *args, **options)
        return PARSED[key]

    monkeypatch.setattr(Stylesheet, "_parse_rules", parse_once)


class Hasty(RefreshScheduler):
    """Draws more often than the app does, whatever that costs, since the test waits for it."""

    def __init__(self):
        super().__init__()
        self.slowdown = 0.1

    def measure(self):
        """Keep the rates."""


@pytest.fixture(autouse=True)
def apps_draw_often(monkeypatch):
    """Let apps start with a scheduler that waits less."""
    monkeypatch.setattr("pac.tui.app.RefreshScheduler", Hasty)


@pytest.fixture
def open_app():
    """Return a context manager that runs the app and waits for its first snapshot and its first request."""

    @asynccontextmanager
    async def opened(fake, size=(120, 40), *, wait=True, origin="process"):
        connection = SessionConnection(lambda: fake, origin)
        app = PacApp(connection)
        async with app.run_test(size=size, notifications=True) as pilot:
            if wait:
                await until(lambda: app.state.snapshot is not None, "the first snapshot")
                await until(lambda: fake.looks, "the first request")
            yield app, pilot
        connection.close()

    return opened
