"""Attach and detach: two terminals at one session, a way out that does not end it, and what a dead one leaves."""

import json
import os
import signal
import subprocess
import sys

import pytest

from pac.training.telemetry.records import Phase

from ..waiting import until as wait
from .commands import QUICK, Terminal, environment, tidy
from .fake_session import screen_text, seen, until


async def test_q_asks_and_detaches(fake, open_app):
    """`d` leaves the session to itself."""
    async with open_app(fake) as (app, pilot):
        await pilot.press("q")
        await seen(app, "detach; return with pac-tui attach toy-run")
        await pilot.press("d")
        await until(lambda: app.return_code == 0)
        assert app.connection.detached
        assert not fake.commands


@pytest.mark.thorough
async def test_q_asks_and_stays(fake, open_app):
    """Esc goes on as if nothing had been asked."""
    async with open_app(fake) as (app, pilot):
        await pilot.press("q")
        await seen(app, "Leave toy-run")
        await pilot.press("escape")
        await until(lambda: "Leave toy-run" not in screen_text(app))
        await pilot.press("space")
        await until(lambda: fake.commands == [("pause", {})])


@pytest.mark.parametrize("keys", [("q", "enter"), ("ctrl+c",)])
async def test_a_session_of_somebody_else_is_left_running(fake, open_app, keys):
    """Attached, the usual way out is to detach."""
    async with open_app(fake, origin="elsewhere") as (app, pilot):
        await pilot.press(*keys)
        await until(lambda: app.return_code == 0)
    assert not fake.commands
    assert not fake.killed


@pytest.mark.thorough
async def test_a_refused_stop_is_told(fake, open_app):
    """Who does not control cannot stop, and the app goes on."""
    fake.refusal = "pts/9 controls this training: c takes control"
    async with open_app(fake, origin="elsewhere") as (app, pilot):
        await pilot.press("q", "s")
        await seen(app, "pts/9 controls this training")
        assert not app.ending.stop_requests


async def test_the_foot_says_who_controls(fake, open_app):
    """Another viewer, with the key that takes over; oneself, with how many watch; of what is over, nobody."""
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


# -- real sessions, real terminals -------------------------------------------------------------------------------------


@pytest.fixture
def place(tmp_path):
    """A runtime directory and a working directory, both of which the test leaves clean."""
    with tidy() as folder:
        yield folder, tmp_path


def headless(place, *more):
    """Start a session without the app, in the background."""
    return subprocess.Popen(
        [sys.executable, "-m", "pac.tui", "run", "--headless", *QUICK, "--name", "usual", *more],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment(place[0]),
        cwd=place[1],
    )


def told(place, *arguments):
    """Run a command to its end; return its exit code, stdout and stderr."""
    done = subprocess.run(
        [sys.executable, "-m", "pac.tui", *arguments],
        check=False,
        capture_output=True,
        text=True,
        env=environment(place[0]),
        cwd=place[1],
        timeout=120,
    )
    return done.returncode, done.stdout, done.stderr


def listed(place):
    """The sessions that run."""
    return json.loads(told(place, "attach", "--json")[1])["sessions"]


@pytest.mark.session
def test_the_usual_day(place):
    """Headless in one terminal; attach, kill -9 the viewer, attach again, detach; then stop it from a viewer."""
    session = headless(place)
    try:
        wait(lambda: [each for each in listed(place) if each["phase"] == "running"], "it runs")
        code, out, _ = told(place, "runs", "list", "--json")
        assert (code, [run["live"] for run in json.loads(out)["runs"]]) == (0, [True])
        code, _, err = told(place, "run", "--headless", "--resume", "usual")
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
    code, out, _ = told(place, "runs", "list", "--json")
    assert [(run["live"], run["state"]) for run in json.loads(out)["runs"]] == [(False, "interrupted")]


@pytest.mark.session
def test_an_app_that_detaches_leaves_its_session(place):
    """`q d`: the app is gone, the session trains on without lingering, and can be stopped later."""
    terminal = Terminal(("run", *QUICK, "--name", "left", "--linger", "3"), *place)
    try:
        wait(lambda: b"running" in terminal.drawn, "boards")
        terminal.press("qd")
        assert terminal.process.wait(120) == 0
        wait(lambda: b"pac-tui attach left" in terminal.drawn, "it says how to come back")
    finally:
        terminal.close()
    (found,) = listed(place)
    assert (found["run"], found["viewers"]) == ("left", 0)
    os.kill(found["pid"], signal.SIGTERM)


@pytest.mark.session
def test_a_killed_session_can_still_be_looked_at(place):
    """kill -9: its last boards stand in its run's folder from the next start on, and `attach` shows them."""
    session = headless(place)
    wait(lambda: [each for each in listed(place) if each["phase"] == "running"], "it runs")
    (found,) = listed(place)
    os.kill(found["pid"], signal.SIGKILL)
    session.wait(120)
    code, out, _ = told(place, "runs", "list")
    assert code == 0
    assert "died" in out
    told(place, "run", "--headless", *QUICK, "--name", "next", "--steps", "10")
    assert list((place[1] / "runs" / "usual" / "last").iterdir())
    terminal = Terminal(("attach", "usual"), *place)
    try:
        wait(lambda: b"failed" in terminal.drawn, "it is shown as failed")
        terminal.press("q")
        assert terminal.process.wait(120) == 1
    finally:
        terminal.close()


@pytest.mark.session
@pytest.mark.parametrize("arguments", [("attach",), ("attach", "nothing")])
def test_nothing_to_attach_to_is_told(place, arguments):
    """One sentence that says what to do."""
    code, _, err = told(place, *arguments)
    assert code == 2
    assert "pac-tui run --headless" in err


@pytest.mark.session
def test_an_orphaned_session_lingers_and_ends(place):
    """kill -9 of the app that started a session: it goes on for `--linger`, then saves and ends."""
    terminal = Terminal(("run", *QUICK, "--name", "orphan", "--linger", "3"), *place)
    wait(lambda: b"running" in terminal.drawn, "boards")
    terminal.process.kill()
    terminal.close()
    metadata = place[1] / "runs" / "orphan" / "run.json"
    wait(lambda: json.loads(metadata.read_text())["state"] == "interrupted", "it ended itself")
