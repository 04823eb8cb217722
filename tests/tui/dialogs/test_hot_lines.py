"""The dialog of hot lines: what it lists, and the source of the selected line."""

import socket

from pac.backends.profiling.kinds import ENVIRONMENT, IDLE
from pac.tui.dialogs.hot_lines import HotLines

from ...training import hot
from ..fake_session import screen_text, seen, until

FRAMES = [["/train.py", 7, "<module>"], [hot.__file__, hot.LINE, "Hot.step"], [hot.__file__, hot.LINE + 1, "Hot.step"]]


def sampled(**more):
    """The answer of a session with a worker."""
    stacks = [["", ENVIRONMENT, False, 45, [0, 1]], ["", ENVIRONMENT, False, 30, [0, 2]], ["", IDLE, True, 25, [0]]]
    worker = {"process": "worker 1", "pid": 7, "seconds": 1.0, "frames": FRAMES, "stacks": stacks, "rest": 0}
    return {"processes": [worker], "elsewhere": [], **more}


async def test_the_hottest_lines_are_listed_with_their_source(fake, open_app):
    """Shares are of the time in which the worker had work; it is sampled as long as the dialog is open."""
    fake.answers["profile"] = sampled(elsewhere=[4711])
    fake.facts = {"host": socket.gethostname()}
    fake.restart(8)
    async with open_app(fake, (80, 24)) as (app, pilot):
        await pilot.press("H")
        await until(lambda: isinstance(app.screen, HotLines))
        await seen(app, "60.0 %", f"hot.py:{hot.LINE} Hot.step", "waiting 25 %", "py-spy", "(4711)")
        assert "sum(range(6 * WORK))  # the hot line" in screen_text(app)
        await pilot.press("f", "down", "down", "down", "enter")
        await seen(
            app, "▶Hot.step", "Backspace out", "100.0 % of all, 100.0 % itself, 100.0 % of the zoom  environment"
        )
        await pilot.press("escape")
        await until(lambda: not isinstance(app.screen, HotLines))
        await until(lambda: len(fake.viewers) == 1)


async def test_a_session_that_cannot_be_sampled_says_why(fake, open_app):
    """What is no sample is refused, as an error is."""
    fake.answers["profile"] = {"processes": [{"process": 3}], "elsewhere": []}
    async with open_app(fake, (80, 24)) as (app, pilot):
        await pilot.press("H")
        await seen(app, "the session's answer cannot be read")
        await pilot.press("escape")
        fake.refusal = "not today"
        await pilot.press("H")
        await seen(app, "not today")


async def test_the_stacks_of_all_threads_are_listed_and_written(fake, open_app, tmp_path, monkeypatch):
    """With the functions of each, the innermost last; what a process says instead is there, too."""
    monkeypatch.chdir(tmp_path)
    thread = {"thread": "", "stack": [["/train.py", 7, "<module>"], ["/envs.py", 9, "Env.step"]]}
    stuck = {"process": "worker 2", "pid": 8, "text": "it does not answer"}
    fake.answers["stacks"] = {
        "processes": [{"process": "script", "pid": 7, "threads": [thread]}, stuck],
        "elsewhere": [],
    }
    async with open_app(fake, (80, 24)) as (app, pilot):
        await pilot.press("K")
        await seen(app, "script (process 7)", "main thread", "Env.step  /envs.py:9", "it does not answer", "r again")
        await pilot.press("w")
        await until(lambda: list(tmp_path.glob("stacks-*.txt")))
    assert "    Env.step  /envs.py:9\n" in next(tmp_path.glob("stacks-*.txt")).read_text()
