"""Attach and detach: two terminals at one session, and what remains of a session that was killed."""

import json
import os
import signal
import subprocess
import sys
from contextlib import closing

import pytest

from pac.training.telemetry.records import Level, Phase

from ..programs import pac_tui
from ..waiting import until as wait
from .commands import QUICK, Terminal, environment
from .fake_session import screen_text, seen, until


async def test_q_asks_and_detaches(fake, open_app):
    """`d` lets the session continue."""
    async with open_app(fake) as (app, pilot):
        await pilot.press("q")
        await seen(app, "detach; return with pac-tui attach toy-run")
        await pilot.press("d")
        await until(lambda: app.return_code == 0)
        assert app.connection.detached
        assert not fake.commands


@pytest.mark.thorough
async def test_q_asks_and_stays(fake, open_app):
    """Esc closes the question, and keys work as before."""
    async with open_app(fake) as (app, pilot):
        await pilot.press("q")
        await seen(app, "Leave toy-run")
        await pilot.press("escape")
        await until(lambda: "Leave toy-run" not in screen_text(app))
        await pilot.press("space")
        await until(lambda: fake.commands == [("pause", {})])


@pytest.mark.thorough
@pytest.mark.parametrize("keys", [("q", "enter"), ("ctrl+c",)])
async def test_a_session_that_the_app_has_not_started_is_left_running(fake, open_app, keys):
    """The default is to detach."""
    async with open_app(fake, origin="elsewhere") as (app, pilot):
        await pilot.press(*keys)
        await until(lambda: app.return_code == 0)
    assert not fake.commands
    assert not fake.killed


@pytest.mark.thorough
async def test_a_refused_stop_is_shown(fake, open_app):
    """A viewer without control cannot stop the session, and the app continues."""
    fake.refusal = "pts/9 controls this training: c takes control"
    async with open_app(fake, origin="elsewhere") as (app, pilot):
        await pilot.press("q", "s")
        await seen(app, "pts/9 controls this training")
        assert not app.ending.stop_requests


@pytest.mark.thorough
async def test_the_footer_shows_who_has_control(fake, open_app):
    """Another viewer, with the key that takes control; this one, with the number of others; nobody after the end."""
    async with open_app(fake) as (app, pilot):
        await until(lambda: app.connection.number)
        fake.write("audience", viewers=2, controller=app.connection.number + 1, name=b"pts/9 (process 7)")
        await seen(app, "pts/9 (process 7) has control")
        await pilot.press("c")
        await until(lambda: fake.commands == [("control", {})])
        fake.write("audience", viewers=2, controller=app.connection.number)
        await seen(app, "you have control, 1 watching")
        fake.write("audience", viewers=2, controller=app.connection.number + 1, name=b"pts/9 (process 7)")
        await seen(app, "pts/9 (process 7) has control")
        fake.say(phase=Phase.FAILED, message=b"it was enough")
        await until(lambda: "it was enough" in screen_text(app) and "has control" not in screen_text(app))


@pytest.mark.thorough
async def test_attaching_shows_no_events_from_before(fake, open_app):
    """They are in the list of events; what happens from then on is shown."""
    fake.event(Level.WARNING, "long ago")
    async with open_app(fake, origin="elsewhere") as (app, _):
        fake.event(Level.WARNING, "just now")
        await seen(app, "just now")
        assert "long ago" not in screen_text(app)


@pytest.mark.thorough
@pytest.mark.parametrize("size", [(80, 24), (120, 40), (60, 16)])
async def test_messages_hide_neither_the_timeline_nor_the_last_lines(fake, open_app, size):
    """They are above them, also if there are several."""
    fake.say(phase=Phase.PAUSED)
    async with open_app(fake, size) as (app, pilot):
        await pilot.press("1")
        await until(lambda: app.query_one("#timeline").display)
        for number in range(2):
            app.notify(f"message {number}", title="Title")
        await seen(app, "message 0", "message 1")
        toasts = app.screen.query("Toast")
        assert max(toast.region.bottom for toast in toasts) <= app.query_one("#timeline").region.y


# -- real sessions, real terminals -------------------------------------------------------------------------------------


def headless(place, *more):
    """Start a session without the app, in the background."""
    return subprocess.Popen(
        [sys.executable, "-m", "pac.tui", "run", "--headless", *QUICK, "--name", "usual", *more],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment(place[0]),
        cwd=place[1],
    )


def command(place, *arguments):
    """Run a command to its end; return its exit code, stdout and stderr."""
    done = pac_tui(*arguments, env=environment(place[0]), cwd=place[1])
    return done.returncode, done.stdout, done.stderr


def listed(place):
    """Return the running sessions."""
    return json.loads(command(place, "attach", "--json")[1])["sessions"]


@pytest.mark.session
def test_a_session_outlives_its_viewers(place):
    """Headless in one terminal; attach, kill -9 the viewer, attach again, detach; then stop it from a viewer."""
    session = headless(place)
    try:
        wait(lambda: [each for each in listed(place) if each["phase"] == "running"], "it runs")
        code, out, _ = command(place, "runs", "list", "--json")
        assert (code, [run["live"] for run in json.loads(out)["runs"]]) == (0, [True])
        code, _, err = command(place, "run", "--headless", "--resume", "usual")
        assert code == 2
        assert "pac-tui attach usual" in err
        first = Terminal(("attach",), *place)
        wait(lambda: b"running" in first.drawn, "the first viewer sees it")
        first.process.kill()
        first.close()
        second = Terminal(("attach", "us"), *place)
        wait(lambda: b"running" in second.drawn, "the second viewer sees it")
        second.press("q\r")
        assert second.process.wait(120) == 0
        wait(lambda: b"usual continues" in second.drawn, "it says so")
        second.close()
        assert session.poll() is None
        third = Terminal(("attach", "latest"), *place)
        wait(lambda: b"running" in third.drawn, "the third viewer sees it")
        third.press("qs")
        assert third.process.wait(120) == 0
        third.close()
        assert session.wait(120) == 0
    finally:
        session.kill()
        session.wait()
    code, out, _ = command(place, "runs", "list", "--json")
    assert [(run["live"], run["state"]) for run in json.loads(out)["runs"]] == [(False, "interrupted")]


@pytest.mark.session
def test_an_app_that_detaches_leaves_its_session(place):
    """After `q d` the session continues without lingering, and can be stopped later."""
    with closing(Terminal(("run", *QUICK, "--name", "left", "--linger", "3"), *place)) as terminal:
        wait(lambda: b"running" in terminal.drawn, "boards")
        terminal.press("qd")
        assert terminal.process.wait(120) == 0
        wait(lambda: b"pac-tui attach left" in terminal.drawn, "it says how to come back")
    (found,) = wait(lambda: [each for each in listed(place) if not each["viewers"]], "the session has no viewer")
    assert found["run"] == "left"
    os.kill(found["pid"], signal.SIGTERM)


@pytest.mark.session
def test_the_last_boards_of_a_killed_session_are_shown(place):
    """After kill -9 the next start moves them into the run's folder, and `attach` shows them."""
    session = headless(place)
    wait(lambda: [each for each in listed(place) if each["phase"] == "running"], "it runs")
    (found,) = listed(place)
    os.kill(found["pid"], signal.SIGKILL)
    session.wait(120)
    code, out, _ = command(place, "runs", "list")
    assert code == 0
    assert "died" in out
    command(place, "run", "--headless", *QUICK, "--name", "next", "--steps", "10")
    assert list((place[1] / "runs" / "usual" / "last").iterdir())
    with closing(Terminal(("attach", "usual"), *place)) as terminal:
        wait(lambda: b"failed" in terminal.drawn, "it is shown as failed")
        terminal.press("q")
        assert terminal.process.wait(120) == 1


@pytest.mark.session
@pytest.mark.parametrize("arguments", [("attach",), ("attach", "nothing")])
def test_without_a_session_attach_says_what_to_do(place, arguments):
    """In one sentence."""
    code, _, err = command(place, *arguments)
    assert code == 2
    assert "pac-tui run --headless" in err


@pytest.mark.session
def test_an_orphaned_session_lingers_and_ends(place):
    """After kill -9 of the app that has started it, it continues for `--linger` seconds, then saves and ends."""
    terminal = Terminal(("run", *QUICK, "--name", "orphan", "--linger", "3"), *place)
    wait(lambda: b"running" in terminal.drawn, "boards")
    terminal.process.kill()
    terminal.close()
    metadata = place[1] / "runs" / "orphan" / "run.json"
    wait(lambda: json.loads(metadata.read_text())["state"] == "interrupted", "it ended itself")
