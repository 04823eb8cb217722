"""The app in a process of its own, on a terminal: what it imports, how it ends, and what it leaves behind."""

import json
import signal
import subprocess
import sys

import pytest

from pac.tui.drawing import ink

from ..waiting import until
from .commands import QUICK, Terminal, tidy

pytestmark = pytest.mark.session

HEAVY = ("torch", "numba", "gymnasium", "scipy")


def test_the_app_imports_nothing_heavy():
    """A fresh interpreter that imports all of the app holds neither PyTorch nor Numba nor Gymnasium."""
    modules = "pac.tui.app, pac.tui.application, pac.tui.screenshots, pac.tui.bench"
    code = f"import sys, json, {modules}; print(json.dumps([name for name in {HEAVY} if name in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert json.loads(done.stdout) == []


def test_the_session_starts_before_textual_is_imported():
    """The module that starts a session is light: no Textual either."""
    code = "import sys, pac.tui.app; print('textual' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "False"


def test_the_console_has_plain_signs():
    """On the Linux console, whose font has few characters, all signs are of its code page."""
    plain = ink.signs_for({"TERM": "linux"}, "auto")
    assert not plain.braille
    texts = (plain.good, plain.bad, plain.stepping, plain.paused, plain.full, plain.track, *plain.corners)
    assert all(text.encode("cp437") for text in texts)
    assert ink.signs_for({"TERM": "xterm-256color"}, "auto").braille


@pytest.fixture
def place(tmp_path):
    """A runtime directory and a working directory, both of which the test leaves clean."""
    with tidy() as folder:
        yield folder, tmp_path


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"COLORTERM": "truecolor"}, id="truecolor", marks=pytest.mark.slow),
        pytest.param({"NO_COLOR": "1"}, id="no colour"),
        pytest.param({"TERM": "linux"}, id="console", marks=pytest.mark.slow),
    ],
)
def test_the_app_runs_on_any_terminal_and_restores_it(place, more):
    """From the first screen over running boards to q: exit code 0, the terminal echoes again, nothing is left."""
    terminal = Terminal((*QUICK, "--runs-dir", "runs"), *place, **more)
    try:
        until(lambda: b"running" in terminal.drawn, f"boards in {more}")
        assert not terminal.echoes
        terminal.press("q\r")
        until(lambda: terminal.process.poll() is not None, "the end")
        assert terminal.process.returncode == 0, terminal.drawn[-2000:]
        assert terminal.echoes
    finally:
        terminal.close()


@pytest.mark.parametrize(
    "number", [signal.SIGHUP, *(pytest.param(each, marks=pytest.mark.slow) for each in (signal.SIGTERM, signal.SIGINT))]
)
def test_a_signal_ends_app_and_session(place, number):
    """The session ends with the app; but for a closed terminal, which is gone, the terminal is restored."""
    terminal = Terminal((*QUICK, "--runs-dir", "runs"), *place)
    try:
        until(lambda: b"running" in terminal.drawn, "boards")
        terminal.process.send_signal(number)
        until(lambda: terminal.process.poll() is not None, "the end")
        assert terminal.process.returncode == 130
        assert terminal.echoes or number is signal.SIGHUP
    finally:
        terminal.close()


def test_a_terminal_that_goes_without_a_signal_ends_app_and_session(place):
    """Whoever draws into nothing would wait for ever, and let its thread for keys spin."""
    terminal = Terminal((*QUICK, "--runs-dir", "runs"), *place)
    try:
        until(lambda: b"running" in terminal.drawn, "boards")
        terminal.hang_up()
        until(lambda: terminal.process.poll() is not None, "the end")
        assert terminal.process.returncode == 130
    finally:
        terminal.close()
