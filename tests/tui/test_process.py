"""The app in its own process, on a terminal: its imports, how it ends, and what remains."""

import json
import os
import pty
import signal
import subprocess
import sys
import termios
from contextlib import closing
from functools import partial

import psutil
import pytest

from pac.tui.drawing import styles

from ..programs import python
from ..waiting import until
from .attack_text import ATTACK, smuggled
from .commands import QUICK, Terminal

pytestmark = pytest.mark.session

ALTERNATE_SCREEN = b"\x1b[?1049h"
BORROWED = "with borrowed_terminal():\n    tty.setraw(0)\n    {}"
HEAVY = ("torch", "numba", "gymnasium", "scipy")


def test_the_app_imports_nothing_heavy():
    """An interpreter that imports all of the app has not imported PyTorch, Numba or Gymnasium."""
    modules = "pac.tui.starting.launch, pac.tui.app.app, pac.tui.terminal.svg"
    code = f"import sys, json, {modules}; print(json.dumps([name for name in {HEAVY} if name in sys.modules]))"
    done = python("-c", code, check=True)
    assert json.loads(done.stdout) == []


def test_the_session_starts_before_textual_is_imported():
    """The module that starts a session does not import Textual."""
    code = "import sys, pac.tui.starting.launch; print('textual' in sys.modules)"
    done = python("-c", code, check=True)
    assert done.stdout.strip() == "False"


def test_the_console_has_plain_signs():
    """The font of the Linux console is small, so all signs are in its code page."""
    plain = styles.signs_for({"TERM": "linux"}, "auto")
    assert not plain.braille
    texts = (plain.good, plain.bad, plain.stepping, plain.paused, plain.full, plain.track, *plain.corners)
    assert all(text.encode("cp437") for text in texts)
    assert styles.signs_for({"TERM": "xterm-256color"}, "auto").braille


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"COLORTERM": "truecolor"}, id="truecolor", marks=pytest.mark.slow),
        pytest.param({"NO_COLOR": "1"}, id="no colour"),
        pytest.param({"TERM": "linux"}, id="console", marks=pytest.mark.slow),
    ],
)
def test_the_app_runs_on_any_terminal_and_restores_it(place, more):
    """From the first screen to q: exit code 0, the terminal echoes again, nothing remains."""
    with closing(Terminal((*QUICK, "--runs-dir", "runs"), *place, **more)) as terminal:
        until(lambda: b"running" in terminal.drawn, f"boards in {more}")
        assert not terminal.echoes
        terminal.press("q\r")
        until(lambda: terminal.process.poll() is not None, "the end")
        assert terminal.process.returncode == 0, terminal.drawn[-2000:]
        assert terminal.echoes


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGHUP,
        signal.SIGQUIT,
        *(pytest.param(each, marks=pytest.mark.slow) for each in (signal.SIGTERM, signal.SIGINT)),
    ],
)
def test_a_signal_ends_app_and_session(place, number):
    """The terminal is restored, unless it was closed."""
    with closing(Terminal((*QUICK, "--runs-dir", "runs"), *place)) as terminal:
        until(lambda: b"running" in terminal.drawn, "boards")
        terminal.process.send_signal(number)
        until(lambda: terminal.process.poll() is not None, "the end")
        assert terminal.process.returncode == 130
        assert terminal.echoes or number is signal.SIGHUP


def stop(terminal, number):
    """Stop an app with a signal and wait until it has stopped."""
    terminal.process.send_signal(number)
    stopped = psutil.Process(terminal.process.pid)
    until(lambda: stopped.status() == psutil.STATUS_STOPPED, "the stop")


def resume(terminal):
    """Send SIGCONT to an app, and wait until it has entered its screen and reads keys again."""
    before = terminal.drawn.count(ALTERNATE_SCREEN)
    terminal.process.send_signal(signal.SIGCONT)
    until(lambda: terminal.drawn.count(ALTERNATE_SCREEN) > before, "the screen again")
    until(lambda: not terminal.echoes, "the keys again")


@pytest.mark.parametrize(
    "numbers",
    [
        pytest.param((signal.SIGCONT, signal.SIGCONT, signal.SIGCONT), id="continued"),
        pytest.param((signal.SIGTSTP, signal.SIGCONT, signal.SIGCONT), id="suspended"),
        pytest.param((signal.SIGSTOP, signal.SIGCONT), id="stopped"),
    ],
)
@pytest.mark.parametrize("end", ["q\r", signal.SIGTERM], ids=["q", "terminated"])
def test_the_terminal_is_restored_after_the_app_was_continued(place, numbers, end):
    """Keys work after SIGCONT, and at the end the attributes are those from before the app."""
    with closing(Terminal((*QUICK, "--runs-dir", "runs"), *place)) as terminal:
        until(lambda: b"running" in terminal.drawn, "boards")
        for number in numbers:
            resume(terminal) if number == signal.SIGCONT else stop(terminal, number)
        terminal.press("w")
        until(lambda: b"heartbeat" in terminal.drawn, "the view of workers")
        terminal.press(end) if isinstance(end, str) else terminal.process.send_signal(end)
        until(lambda: terminal.process.poll() is not None, "the end")
        assert terminal.attributes == terminal.attributes_before


def test_a_suspended_app_restores_the_terminal_until_it_is_continued(place):
    """While SIGTSTP has stopped it, the shell has its attributes and its screen."""
    with closing(Terminal((*QUICK, "--runs-dir", "runs"), *place)) as terminal:
        until(lambda: b"running" in terminal.drawn, "boards")
        stop(terminal, signal.SIGTSTP)
        assert terminal.attributes == terminal.attributes_before
        until(lambda: terminal.drawn.rstrip().endswith(b"\x1b[?1004l"), "the screen from before")
        resume(terminal)
        terminal.press("q\r")
        until(lambda: terminal.process.poll() is not None, "the end")


def test_a_game_that_is_terminated_restores_the_terminal(place):
    """SIGTERM ends it with exit code 130."""
    with closing(Terminal(("play", "kuhn"), *place)) as terminal:
        until(lambda: b"quit" in terminal.drawn, "the table")
        terminal.process.terminate()
        until(lambda: terminal.process.poll() is not None, "the end")
        assert terminal.process.returncode == 130
        assert terminal.attributes == terminal.attributes_before


@pytest.mark.parametrize(
    "end",
    ["pass", "1 / 0", "sys.exit()", "os.kill(os.getpid(), signal.SIGHUP)", "os.kill(os.getpid(), signal.SIGQUIT)"],
)
def test_a_borrowed_terminal_is_restored_however_the_block_ends(end):
    """Also after an exception or a signal."""
    code = f"import os, signal, sys, tty; from pac.tui.terminal.modes import borrowed_terminal\n{BORROWED.format(end)}"
    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    subprocess.run([sys.executable, "-c", code], stdin=theirs, stderr=subprocess.DEVNULL, timeout=60, check=False)
    assert termios.tcgetattr(theirs) == before
    os.close(ours)
    os.close(theirs)


def test_a_terminal_that_closes_without_a_signal_ends_app_and_session(place):
    """Otherwise the app would wait for ever, with a thread that spins."""
    with closing(Terminal((*QUICK, "--runs-dir", "runs"), *place)) as terminal:
        until(lambda: b"running" in terminal.drawn, "boards")
        terminal.hang_up()
        until(lambda: terminal.process.poll() is not None, "the end")
        assert terminal.process.returncode == 130


def test_an_app_ends_after_its_terminal_whatever_it_was_doing(place):
    """Also if foreign code never lets Python handle a signal."""
    code = (
        "import signal, time; from pac.tui.terminal.modes import borrowed_terminal\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})\n"
        "with borrowed_terminal():\n    print('deaf', flush=True)\n    time.sleep(10_000)"
    )
    with closing(Terminal(("-c", code), *place, program=(sys.executable,))) as terminal:
        until(lambda: terminal.has_drawn("deaf"), "the start")
        terminal.hang_up()
        until(lambda: terminal.process.poll() is not None, "the end")


def test_a_signal_ends_an_app_whose_event_loop_is_busy(place):
    """It is asked at first, and restores the terminal."""
    code = (
        "from pac.tui.terminal.modes import borrowed_terminal; from pac.tui.terminal.terminal_app import TerminalApp\n"
        "class Busy(TerminalApp):\n"
        "    def on_ready(self):\n        print('busy', file=__import__('sys').__stdout__, flush=True)\n"
        "        while True: pass\n"
        "with borrowed_terminal():\n    Busy().run()"
    )
    with closing(Terminal(("-c", code), *place, program=(sys.executable,))) as terminal:
        until(lambda: terminal.has_drawn("busy"), "the start")
        terminal.process.terminate()
        until(lambda: terminal.process.poll() is not None, "the end")
        assert terminal.process.returncode == 130
        assert terminal.attributes == terminal.attributes_before


EVIL = f"""
import gymnasium, numpy
ATTACK = {ATTACK!r}

class Evil(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(0, 1, (2,))
    action_space = gymnasium.spaces.Discrete(2)
    metadata = {{"render_modes": ["ansi"], "render_fps": 4}}

    def __init__(self, render_mode=None):
        self.render_mode = render_mode

    def reset(self, seed=None, options=None):
        return numpy.zeros(2, "f4"), {{"key" + ATTACK[:20]: 1.0}}

    def step(self, action):
        print(ATTACK, flush=True)
        return numpy.zeros(2, "f4"), 0.0, False, False, {{"key" + ATTACK[:20]: 1.0}}

    def render(self):
        return "picture" + ATTACK
"""


def test_an_environment_writes_nothing_raw_to_the_terminal(place):
    """Info keys, output and text boards: all bytes of the app are its own or printable."""
    (place[1] / "evil.py").write_text(EVIL)
    arguments = ("--task", "evil:Evil", *QUICK[2:], "--runs-dir", "runs")
    with closing(Terminal(arguments, *place, PYTHONPATH=str(place[1]), COLUMNS="160", LINES="45")) as terminal:
        until(lambda: terminal.has_drawn("running"), "boards")
        for key, title in {"1": "key", "i": "Decision", "o": "PWNED", "w": "heartbeat", "q": "detach"}.items():
            terminal.press(key)
            until(partial(terminal.has_drawn, title), title)
        terminal.press("\r")
        until(lambda: terminal.process.poll() is not None, "the end")
        assert smuggled(terminal.drawn.decode()) == set()


def test_a_command_prints_nothing_raw(place):
    """On a terminal, where styles are escape sequences."""
    run = place[1] / "runs" / ATTACK.replace("/", "")
    run.mkdir(parents=True)
    (run / "run.json").write_text(json.dumps({"task": ATTACK, "state": ATTACK, "config": {}}))
    with closing(Terminal(("runs",), *place)) as terminal:
        until(lambda: terminal.process.poll() is not None, "the end")
        until(lambda: b"PWNED" in terminal.drawn, "the run")
        assert smuggled(terminal.drawn.decode()) == set()
