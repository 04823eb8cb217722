"""Runs in the app: listing, filtering and opening them."""

import contextlib
import json
import re
import subprocess
import sys
import threading
from functools import partial

import pytest

from pac.training.runs.folder import RunFolder
from pac.training.runs.overview import RunOverview
from pac.tui.dialogs.run_picker import RunPicker
from pac.tui.dialogs.run_rows import facts
from pac.tui.preferences import InUse

from ...waiting import until as wait
from ..commands import QUICK, Terminal, environment, tidy
from ..fake_session import seen, until

CONTROL = re.compile(rb"\x1b\[[0-9;?<>=]*[A-Za-z]")


def kept(folder, name, state="completed", *, saved=True, **metadata):
    """Write a run with a learning curve."""
    run = RunFolder.create(folder, name)
    run.write_metadata(
        {"task": "drmario", "trainer": "ppo", "num_envs": 4, "steps": 40_000, "state": state, **metadata}
    )
    for index in range(40):
        run.append_metrics({"steps": 1000 * (index + 1), "seconds": index, "return_mean": index / 10})
    if saved:
        (run.checkpoints / "step-000000040000").mkdir()
    return run


@pytest.fixture
def runs(fake, tmp_path):
    """Four runs, one of them damaged, beside the run of the session."""
    fake.facts = {"folder": str(tmp_path / "toy-run")}
    fake.restart(8)
    kept(tmp_path, "usual")
    kept(tmp_path, "cart", "failed", task="CartPole-v1", saved=False)
    kept(tmp_path, "killed", "running")
    (kept(tmp_path, "broken").path / "run.json").write_text('{"task": ')
    return tmp_path


async def opened(app, pilot):
    """Open the dialog."""
    await pilot.press("R")
    await until(lambda: isinstance(app.screen, RunPicker))


@pytest.mark.thorough
async def test_names_of_runs_are_not_cut_for_their_curves(fake, runs, open_app):
    """In 80 columns, a long name takes the room of the curve, which is shown below the table anyway."""
    name = "CartPole-v1-20261123-152426"
    kept(runs, name)
    async with open_app(fake, (80, 24)) as (app, pilot):
        await opened(app, pilot)
        await seen(app, f"{name} ", "best")


async def test_reading_the_disk_takes_less_than_a_fiftieth_of_a_core(fake, runs, open_app, monkeypatch):
    """However many runs there are: the longer it takes, the rarer it is."""
    async with open_app(fake) as (app, pilot):
        await opened(app, pilot)
        pauses = []
        monkeypatch.setattr(app.screen, "set_timer", lambda seconds, _: pauses.append(seconds))
        costs = (0.01, 0.1, 1.0)
        for cost in costs:
            app.screen.on_run_picker_listed(RunPicker.Listed([], cost))
        assert all(cost / pause < 0.02 for cost, pause in zip(costs, pauses, strict=True))


async def test_reading_the_disk_ends_with_the_app(fake, open_app, monkeypatch):
    """The thread is told to stop, so that a signal ends the process."""
    reading, stopped = threading.Event(), threading.Event()

    def read(_folder, over):
        reading.set()
        wait(over)
        stopped.set()
        return []

    monkeypatch.setattr("pac.tui.dialogs.run_picker.overviews", read)
    async with open_app(fake) as (app, pilot):
        await opened(app, pilot)
        await until(reading.is_set)
    assert stopped.wait(10)


async def test_runs_are_listed_with_their_state_and_curve(fake, runs, open_app):
    """A killed run is shown as died; damaged metadata is reported for its run only."""
    async with open_app(fake, (120, 40)) as (app, pilot):
        await opened(app, pilot)
        await seen(app, "usual", "completed", "40k", "3.90", "▁▁▂▂▃▃▄▄▅▅▆▆▇▇██", "cart", "failed", "killed", "died")
        await pilot.press(*"broken")
        await seen(app, "damaged", "cannot", "1 of 1", "no checkpoint to resume from")


@pytest.mark.thorough
async def test_in_a_low_terminal_the_list_has_all_the_room(fake, runs, open_app):
    """The facts of one run would leave no room for the list."""
    async with open_app(fake, (40, 12)) as (app, pilot):
        await opened(app, pilot)
        await seen(app, "usual", "cart", "killed", "broken")


@pytest.mark.thorough
async def test_the_input_filters(fake, runs, open_app):
    """Every word must occur; Esc clears the filter, then closes the dialog."""
    async with open_app(fake, (120, 40)) as (app, pilot):
        await opened(app, pilot)
        await seen(app, "1 of 4")
        await pilot.press(*"ppo", "space", *"cartpole")
        await seen(app, "1 of 1", "CartPole-v1")
        await pilot.press(*"x")
        await seen(app, "no run matches")
        await pilot.press("escape")
        await seen(app, "1 of 4")
        await pilot.press("escape")
        await until(lambda: not isinstance(app.screen, RunPicker))


@pytest.mark.thorough
async def test_runs_are_put_in_order(fake, runs, open_app, monkeypatch, tmp_path):
    """Tags, columns, order, a condition, another name; what is refused says why, and removing asks."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(InUse, "now", None)
    monkeypatch.setattr(InUse, "kept", None)
    async with open_app(fake, (130, 40)) as (app, pilot):

        async def answer(key, question, text):
            await pilot.press(key)
            await seen(app, question)
            await pilot.press(*text, "enter")
            await until(lambda: isinstance(app.screen, RunPicker))

        await opened(app, pilot)
        await pilot.press(*"usual")
        await seen(app, "1 of 1")
        await answer("ctrl+t", "tags of usual", "good")
        await seen(app, "tags       good")
        await answer("ctrl+o", "columns, such as", "tags,returm")
        await seen(app, "unknown column 'returm'. Did you mean return?")
        await answer("ctrl+o", "columns, such as", "tags,return")
        await answer("ctrl+s", "sort by, such as", "-return")
        await seen(app, "return", "3.900")
        text = (tmp_path / "config" / "pac-tui" / "config.toml").read_text()
        assert text == '[runs]\ncolumns = ["tags", "return"]\nsort = "-return"\n'
        await pilot.press("escape", *"?tag/good and return > 3")
        await seen(app, "1 of 1", "usual")
        await pilot.press(*" and")
        await seen(app, "expected a number or a name at the end")
        await pilot.press("escape", *"usual")
        await answer("ctrl+r", "new name of usual", "-2")
        await seen(app, "usual-2")
        await answer("ctrl+x", "remove usual-2", "n")
        assert (runs / "usual-2").is_dir()
        await answer("ctrl+x", "remove usual-2", "y")
        await until(lambda: not (runs / "usual-2").exists())
        run = RunFolder(runs / "cart")
        run.claim()
        await pilot.press("escape", *"cart")
        await answer("ctrl+x", "remove cart", "y")
        await seen(app, "is being trained by process")
        run.release()
        assert run.path.is_dir()


@pytest.mark.thorough
async def test_a_checkpoint_is_chosen_with_the_arrows(fake, runs, open_app):
    """Enter has it play, after the usual question."""
    (runs / "usual" / "checkpoints" / "step-000000010000").mkdir()
    async with open_app(fake, (130, 40)) as (app, pilot):
        await opened(app, pilot)
        await seen(app, "1 of 4")
        for _ in range(4):
            if app.screen.item.name == "usual":
                break
            await pilot.press("down")
        await seen(app, "checkpoint", "40k")
        await pilot.press("left", "left")
        await seen(app, "10k", "Enter has this checkpoint play")
        await pilot.press("enter")
        await seen(app, "Leave toy-run for usual")
        assert app.ending.next_run.checkpoint == "10000"
        await pilot.press("escape")


@pytest.mark.thorough
async def test_opening_a_run_leaves_the_present_one(fake, runs, open_app):
    """The usual question is asked; Esc stays; `d` detaches, and the app knows which run is next."""
    async with open_app(fake, (120, 40)) as (app, pilot):
        await opened(app, pilot)
        await pilot.press(*"usual")
        await seen(app, "Enter resumes it", "1 of 1")
        await pilot.press("enter")
        await seen(app, "Leave toy-run for usual")
        await pilot.press("escape")
        await until(lambda: app.ending.next_run is None)
        await opened(app, pilot)
        await pilot.press(*"usual")
        await seen(app, "Enter resumes it", "1 of 1")
        await pilot.press("enter", "d")
        await until(lambda: app.return_code == 0)
        assert app.ending.next_run.folder == runs / "usual"
        assert app.connection.detached


@pytest.mark.thorough
async def test_a_run_without_a_checkpoint_cannot_be_resumed(fake, runs, open_app):
    """Enter does nothing, and the frame gives the reason."""
    async with open_app(fake, (120, 40)) as (app, pilot):
        await opened(app, pilot)
        await pilot.press(*"cart")
        await seen(app, "no checkpoint to resume from", "1 of 1")
        await pilot.press("enter")
        assert isinstance(app.screen, RunPicker)


@pytest.mark.session
def test_from_one_session_to_another_and_back(tmp_path):
    """A running session is shown while the first one continues; then a finished run is resumed and stopped."""
    with tidy() as folder:
        first = [sys.executable, "-m", "pac.tui", "run", "--headless", *QUICK]
        subprocess.run(
            [*first, "--name", "done", "--episodes", "5"],
            env=environment(folder),
            cwd=tmp_path,
            check=True,
            timeout=120,
            capture_output=True,
        )
        other = subprocess.Popen(
            [*first, "--name", "other"],
            env=environment(folder),
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait(lambda: _state(tmp_path, "other") == "running", "the other session")
        terminal = Terminal(("run", *QUICK, "--name", "mine"), folder, tmp_path)
        try:
            metrics = tmp_path / "runs" / "mine" / "metrics.jsonl"
            wait(lambda: metrics.exists() and metrics.stat().st_size, "its first step, without which no run is kept")
            _pressed(terminal, "R", b"type to filter")
            _pressed(terminal, "other", b"Enter shows it")
            _pressed(terminal, "\r", b"Leave mine for other")
            _pressed(terminal, "s", b"run: runs/mine", b"running")
            _pressed(terminal, "R", b"type to filter")
            _pressed(terminal, "done", b"Enter resumes it")
            _pressed(terminal, "\r", b"Leave other for done")
            _pressed(terminal, "d", b"other continues", b"resumed done")
            _pressed(terminal, "q", b"Leave done")
            _pressed(terminal, "s", b"/runs/done")
            wait(lambda: terminal.process.poll() == 0, "the end")
            assert other.poll() is None
        finally:
            terminal.close()
            other.terminate()
            other.wait(120)


def _state(place, name):
    with contextlib.suppress(OSError, ValueError):
        return json.loads((place / "runs" / name / "run.json").read_text())["state"]
    return None


def _pressed(terminal, keys, *texts):
    """Press keys and wait until the texts are drawn after them in this order."""
    at = len(_drawn(terminal))
    terminal.press(keys)
    for text in texts:
        wait(partial(_found, terminal, text, at), text)
        at = _drawn(terminal).index(text, at)


def _found(terminal, text, at):
    return text in _drawn(terminal)[at:]


def _drawn(terminal):
    """Return what was drawn without control sequences: edges of panels below a message divide its text."""
    return CONTROL.sub(b"", terminal.drawn)


def test_the_folder_of_a_run_keeps_its_end(tmp_path):
    """Folders of runs differ there."""
    folder = tmp_path / "a-very-long-name-of-a-folder" / "drmario-ppo-1128"
    (*_, row) = facts(RunOverview("r", folder, {}, "completed", 0.0), 40)
    assert "".join(piece.text for piece in row).rstrip().endswith("/drmario-ppo-1128")
