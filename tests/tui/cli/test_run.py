"""Sessions from the command line in real processes: their reports and ends."""

import json
import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import pytest

from ...programs import pac_tui
from ...training.watched import unwritable
from ...waiting import until
from ..commands import QUICK, Terminal, environment, start

pytestmark = pytest.mark.session

KEYS = {
    *("task", "trainer", "backend", "device", "num_envs", "seconds", "frames", "steps", "episodes", "fps"),
    *("fps_per_env", "sps", "speedup", "efficiency", "return_mean", "time_ms", "workers", "restarts", "events"),
    *("run", "version"),
}


def slow(*values: int) -> list[Any]:
    """Mark similar cases as thorough."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]


def metadata(cwd: Path) -> dict[str, object]:
    """Return the metadata of the only run."""
    (path,) = cwd.glob("runs/*/run.json")
    found: dict[str, object] = json.loads(path.read_text())
    return found


def trains(cwd: Path) -> bool:
    """Return whether the run has checkpoints."""
    return any(path.stat().st_size for path in cwd.glob("runs/*/metrics.jsonl"))


def test_two_at_once(shared, tmp_path):
    """Two sessions run at once; each prints one JSON object, writes it to a file, and shows its progress."""
    limits = ("--seconds", "0.3", "--json", "--report", "a.json")
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        folder.mkdir()
    both = [start(("run", "--headless", *QUICK, *limits), shared, folder) for folder in folders]
    for folder, process in zip(folders, both, strict=True):
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        report = json.loads(out)
        assert set(report) >= KEYS
        assert (report["num_envs"], report["task"], report["trainer"]) == (2, "CartPole-v1", "random")
        assert report["steps"] > 0
        assert report["scaling"] or report["fps"] == report["sps"]  # one frame per step, and no window was full
        assert json.loads((folder / "a.json").read_text()) == report
        assert "CartPole-v1 random" in err


@pytest.mark.parametrize("number", [signal.SIGINT, *slow(signal.SIGTERM, signal.SIGHUP)])
def test_a_signal_saves_and_ends(shared, tmp_path, number):
    """SIGINT, SIGTERM and SIGHUP end a training with a checkpoint, a report and exit code 130."""
    process = start(("run", "--headless", *QUICK, "--json"), shared, tmp_path)
    until(lambda: trains(tmp_path) or process.poll() is not None, "it trains")
    process.send_signal(number)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert json.loads(out)["steps"] > 0
    assert metadata(tmp_path)["state"] == "interrupted"
    assert list(tmp_path.glob("runs/*/checkpoints/step-*"))


def test_a_last_checkpoint_that_cannot_be_written_is_a_failure(shared, tmp_path):
    """A failed checkpoint is one sentence on stderr and in the run's metadata, with exit code 1."""
    process = start(("run", "--headless", *QUICK, "--json"), shared, tmp_path)
    until(lambda: trains(tmp_path), "it trains")
    (run,) = tmp_path.glob("runs/*")
    with unwritable(run / "checkpoints"):
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 1, err
    printed = json.loads(out)["error"]
    assert err.splitlines()[-1] == f"pac-tui: {printed}"
    assert printed.startswith("what was learned since the last checkpoint is lost")
    assert metadata(tmp_path)["state"] == "failed"
    assert printed in str(metadata(tmp_path)["error"])


def test_an_interrupt_while_it_starts(shared, tmp_path):
    """Ctrl-C while PyTorch is imported ends the command without a traceback."""
    process = start(("run", "--headless", "--task", "CartPole-v1", "--backend", "inline"), shared, tmp_path)
    assert process.stderr is not None
    assert process.stderr.readline()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Traceback" not in err


def test_two_interrupts_while_the_app_starts(shared, tmp_path):
    """Two interrupts end the app and its session at once during the start."""
    terminal = Terminal(("run", "--task", "CartPole-v1", "--backend", "inline"), shared, tmp_path)
    until(lambda: list(shared.glob("pac-*/*")), "its session stands")
    terminal.process.send_signal(signal.SIGINT)
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.process.wait(120) in {130, -signal.SIGINT}
    assert terminal.echoes
    terminal.close()


@pytest.fixture
def hanging(tmp_path, monkeypatch):
    """Return the flags of a task whose constructor hangs, and a function that returns the process it hangs in."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    note = tmp_path / "made"

    def hangs():
        until(lambda: note.exists() and note.read_text(), "the constructor")
        return psutil.Process(int(note.read_text().split()[0]))

    return ("run", "--task", f"tests.training.unruly:Unruly:how=hangs,path={note}", "--backend", "inline"), hangs


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_while_the_environment_is_made(shared, tmp_path, hanging, number):
    """The command shows for how long it is made, and a signal ends it, with the process that makes it."""
    flags, hangs = hanging
    process = start((*flags, "--headless"), shared, tmp_path)
    made = hangs()
    assert process.stderr is not None
    assert "making the environment tests.training.unruly:Unruly" in process.stderr.readline()
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "interrupted before the training started\n")
    assert not made.is_running()
    assert not list(shared.glob("pac-*/*"))


@pytest.mark.parametrize("end", ["q", "\x03", signal.SIGTERM])
def test_the_app_can_be_left_while_the_environment_is_made(shared, tmp_path, hanging, end):
    """It shows for how long it is made; the session ends, with the process that makes it."""
    flags, hangs = hanging
    with closing(Terminal(flags, shared, tmp_path)) as terminal:
        made = hangs()
        until(lambda: b"making the environment" in terminal.drawn, "what it does")
        terminal.press(end) if isinstance(end, str) else terminal.process.send_signal(end)
        assert terminal.process.wait(60) in {0, 130}
        assert terminal.echoes
    assert not made.is_running()


def test_a_killed_command_leaves_no_orphan(shared, tmp_path):
    """A session whose command was killed ends itself."""
    process = start(("run", "--headless", *QUICK, "--linger", "2"), shared, tmp_path)
    until(lambda: trains(tmp_path), "it trains")
    process.kill()
    process.communicate(timeout=120)
    until(lambda: metadata(tmp_path)["state"] == "interrupted", "the session ended itself")


@pytest.mark.parametrize("how", ["qs", signal.SIGHUP, *slow(signal.SIGTERM)])
def test_the_app_gives_the_terminal_back(shared, tmp_path, how):
    """However the app ends, the session is saved and the terminal is restored."""
    terminal = Terminal(("run", *QUICK), shared, tmp_path)
    until(lambda: trains(tmp_path) or terminal.process.poll() is not None, "it trains")
    if isinstance(how, str):
        terminal.press(how)
    else:
        terminal.process.send_signal(how)
    assert terminal.process.wait(120) == (0 if how == "qs" else 130)
    assert terminal.echoes
    terminal.close()
    assert b"Traceback" not in terminal.drawn
    assert metadata(tmp_path)["state"] == "interrupted"


@pytest.mark.slow
def test_a_trained_policy_plays(shared, tmp_path):
    """`eval` plays the policy of a run and does not change the run."""
    tiny = ("--task", "CartPole-v1", "--backend", "inline", "--num-envs", "4")
    where = {"env": environment(shared), "cwd": tmp_path}
    learned = ("--steps", "64", "--ppo.batch", "64", "--ppo.minibatch", "32", "--name", "one")
    trained = pac_tui("run", "--headless", *tiny, *learned, **where)
    assert trained.returncode == 0, trained.stderr
    before = metadata(tmp_path)
    played = pac_tui("eval", "one", "--headless", "--episodes", "3", "--json", **where)
    assert played.returncode == 0, played.stderr
    assert json.loads(played.stdout)["episodes"] >= 3
    assert metadata(tmp_path) == before
    again = pac_tui("run", "--headless", "--resume", "one", "--steps", "200", "--json", **where)
    assert again.returncode == 0, again.stderr
    assert metadata(tmp_path)["steps"] >= 200  # type: ignore[operator]


def test_the_screen_is_drawn_on_the_terminal_when_stderr_is_not_one(tmp_path):
    """With `2> errors.txt`, errors go to the file and the app is drawn on the terminal."""
    screen, terminal = os.openpty()
    code = (
        "import sys; from pac.tui.terminal.modes import check_terminal; check_terminal();"
        "sys.__stderr__.write('drawn'); sys.__stderr__.flush(); sys.stderr.write('printed')"
    )
    errors = tmp_path / "errors.txt"
    with errors.open("w") as file:
        subprocess.run(
            [sys.executable, "-c", code],
            stdin=terminal,
            stdout=terminal,
            stderr=file,
            env={**os.environ, "TERM": "xterm"},
            timeout=120,
            check=True,
        )
    assert os.read(screen, 100) == b"drawn"
    assert errors.read_text() == "printed"
    os.close(screen)
    os.close(terminal)


def test_the_screen_is_drawn_in_utf_8_whatever_the_locale_says():
    """The app is drawn in UTF-8 with any locale."""
    screen, terminal = os.openpty()
    code = (
        "import sys; from pac.tui.terminal.modes import check_terminal; check_terminal();"
        "sys.__stderr__.write('│'); sys.__stderr__.flush()"
    )
    subprocess.run(
        [sys.executable, "-c", code],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env={**os.environ, "TERM": "xterm", "PYTHONIOENCODING": "latin-1"},
        timeout=120,
        check=True,
    )
    assert os.read(screen, 100) == "│".encode()
