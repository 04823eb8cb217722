"""Somebody's script under the app of `pac-tui watch`, on a terminal: what the app may not harm, and how both end."""

import contextlib
import shutil
import signal
from dataclasses import replace

import psutil
import pytest

from pac.envs.apart import start_ticks

from ..waiting import LIMIT, until
from .commands import users
from .watch_app import ScriptTerminal, plain

pytestmark = pytest.mark.session

BEGIN = """
import multiprocessing, os, pathlib, signal, subprocess, sys, time
import gymnasium, numpy

class Line(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (2,))
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        return numpy.zeros(2, "f4"), {}

    def step(self, action):
        return numpy.zeros(2, "f4"), 1.0, False, False, {}

def has(sign):
    return pathlib.Path("..", sign).exists()

def wait(sign):
    while not has(sign):
        time.sleep(0.002)

def train(env, sign="seen"):
    env.reset(seed=0)
    while not has(sign):
        env.step(env.action_space.sample())
        time.sleep(0.002)

def save():
    pathlib.Path("model").write_text("weights")
"""
SAVED = {"model": b"weights"}
GRACE = 1.0  # s in which a script is interrupted, if it is


@pytest.fixture
def place(shared, tmp_path):
    """A runtime directory and a working directory; the script waits for signs in the folder above."""
    (tmp_path / "work").mkdir()
    return shared, tmp_path / "work"


@pytest.fixture
def give(tmp_path):
    """Return a function that gives the script a sign."""
    return lambda sign="seen": (tmp_path / sign).touch()


@pytest.fixture
def run(place):
    """Return a function that runs a script under the app, and waits until the app shows its environment."""

    @contextlib.contextmanager
    def started(text, *arguments, shown="Line", options=("--exit",)):
        (place[1] / "train.py").write_text(BEGIN + text)
        with contextlib.closing(ScriptTerminal(place, "train.py", *arguments, options=options)) as terminal:
            if shown:
                terminal.wait_for(f" pac-tui   {shown} ")
            yield terminal

    return started


def ask(terminal, choice):
    """Press q, and choose what to do."""
    terminal.press("q")
    terminal.wait_for("detach")
    terminal.press(choice)


def interrupted(terminal, times=1, limit=GRACE):
    """Wait as long as an interrupt takes that the app sends by itself, or until then."""
    with contextlib.suppress(AssertionError):
        until(lambda: len(terminal.signals) >= times, limit=limit)


@pytest.mark.parametrize(("end", "code"), [("sys.exit(3)", 3), ("os.kill(os.getpid(), signal.SIGTERM)", 143)])
def test_a_script_without_environments_is_not_changed(run, place, end, code):
    """Its arguments, its output and its exit code are those without pac-tui, and the app does not open."""
    with run(f"print(sys.argv)\n{end}", "--seed", "1", shown="") as terminal:
        outcome = terminal.outcome()
        outcome.expect(**vars(plain(place, "train.py", "--seed", "1")))
        outcome.expect(code=code, stdout="['train.py', '--seed', '1']\n")
        assert b"1049" not in terminal.drawn


OUTPUT = """
print("first")
print("warning", file=sys.stderr)
env = Line()
train(env)
sys.stdout.write("unfinished ")
sys.stderr.write("\\u00fc\\u4e16 ")
os.write(1, b"at once\\n")
print("finished", "x" * 150)
for percent in range(0, 101, 20):
    print(f"\\r{percent} %", end="", file=sys.stderr)
print(file=sys.stderr)
subprocess.run([sys.executable, "-c", "print('from a child')"])
save()
raise ValueError("no reward")
"""


def test_output_and_exception_of_a_script_are_those_of_a_plain_run(run, place, give):
    """In the same order on the terminal and by stream. The app shows the exception until the user leaves."""
    with run(OUTPUT, options=()) as terminal:
        give()
        terminal.wait_for("ValueError: no reward")
        terminal.wait_for("ended, exit code 1: press any key to leave")
        assert terminal.in_app
        terminal.press("o")
        terminal.wait_for("Traceback (most recent call last)")
        terminal.press(" ")
        watched = terminal.outcome()
    (place[1] / "model").unlink()
    watched.expect(**vars(plain(place, "train.py")))
    watched.expect(code=1, files=SAVED, signals=())
    assert watched.printed.endswith("\nValueError: no reward")


@pytest.mark.parametrize(("end", "code", "files"), [("save()", 0, SAVED), ("sys.exit(3)", 3, {})])
def test_a_script_goes_on_after_it_has_closed_its_environment(run, give, end, code, files):
    """It saves its model, and its exit code is that of `pac-tui watch`."""
    with run(
        f'env = gymnasium.vector.SyncVectorEnv([Line] * 2)\ntrain(env)\nenv.close()\nwait("go on")\n{end}'
    ) as terminal:
        give()
        interrupted(terminal)
        give("go on")
        terminal.outcome().expect(code=code, files=files, stderr="", signals=())


SIX = """
for number in range(6):
    env = type(f"Line{number}", (Line,), {})()
    train(env, f"seen{number}")
    env.close()
save()
"""


def test_environments_that_replace_each_other_are_shown_in_turn(run, give):
    """Six in a row: the app follows them, and the script runs to its end."""
    with run(SIX, shown="Line0") as terminal:
        for name in map("Line{}".format, range(6)):
            terminal.wait(lambda name=name: f" pac-tui   {name} " in terminal.screen or terminal.signals, name)
            give(name.replace("Line", "seen"))
        terminal.outcome().expect(code=0, files=SAVED, stderr="", signals=())


SAVES_AT_AN_INTERRUPT = """
env = Line()
try:
    train(env)
finally:
    {}
    pathlib.Path("interrupted").touch()
    wait("go on")
    save()
"""


@pytest.mark.parametrize(
    ("keys", "before", "signals"),
    [("q", "pass", 1), ("\x03", "pass", 1), ("q", "env.close()", 1)],
)
def test_the_user_interrupts_a_script_once(run, give, keys, before, signals):
    """It can save, and then ends as after Ctrl-C; the terminal is as before."""
    with run(SAVES_AT_AN_INTERRUPT.format(before)) as terminal:
        ask(terminal, "s") if keys == "q" else terminal.press(keys)
        until((terminal.cwd / "interrupted").exists, "the interrupt")
        interrupted(terminal, signals)
        before_it_ends = terminal.signals
        give("go on")
        outcome = replace(terminal.outcome(), signals=before_it_ends)
        outcome.expect(code=130, files={**SAVED, "interrupted": b""}, signals=(2,))
        assert terminal.attributes == terminal.attributes_before


def test_a_script_that_was_paused_goes_on_when_its_last_viewer_is_gone(run, give):
    """Nobody else could continue it."""
    with run("train(Line())\nsave()") as terminal:
        terminal.press(" ")
        terminal.wait_for("paused")
        terminal.process.terminate()
        give()
        until((terminal.cwd / "model").exists, "the end of the training")


FAULT = """
import ctypes
env = gymnasium.make("CartPole-v1")
env.reset(seed=0)
while "pygame" not in sys.modules:
    env.step(0)
    env.reset()
ctypes.string_at(0)
"""


def test_a_fault_of_a_script_has_its_exit_code(run):
    """Also after the app has drawn with pygame, which would abort instead."""
    pytest.importorskip("pygame", reason="CartPole is drawn with it")
    with run(FAULT, shown="") as terminal:
        terminal.outcome().expect(code=128 + signal.SIGSEGV)


def test_an_interrupt_before_the_app_opens_reaches_the_script_once(run, give):
    """As without pac-tui, and it can go on."""
    text = "pathlib.Path('begun').touch()\ntry:\n    wait('never')\nexcept KeyboardInterrupt:\n    save()\nsys.exit(5)"
    with run(text, shown="") as terminal:
        until((terminal.cwd / "begun").exists, "the script")
        terminal.press("\x03")
        outcome = terminal.outcome()
    outcome.expect(code=5, files={**SAVED, "begun": b""}, signals=(2,))


def test_a_detached_script_runs_to_its_end(run, give):
    """Also when the terminal is closed; the app says how to return."""
    with run("train(Line())\nsave()") as terminal:
        ask(terminal, "d")
        terminal.outcome().expect(code=0, printed="train continues: pac-tui attach train", files={}, signals=())
        terminal.hang_up()
        give()
        until((terminal.cwd / "model").exists, "the model")
        assert terminal.signals == ()


STUBBORN = """
signal.signal(signal.SIGINT, lambda *_: None)
multiprocessing.Process(target=wait, args=("never",)).start()
train(Line())
"""


def test_a_script_that_ignores_interrupts_is_killed_with_its_workers(run, place):
    """The second q interrupts it again, the third one kills it."""
    with run(STUBBORN) as terminal:
        ask(terminal, "s")
        until(lambda: terminal.signals == (2,), "the interrupt")
        terminal.press("q")
        until(lambda: terminal.signals == (2, 2), "the second interrupt")
        terminal.wait_for("press q again to quit now")
        terminal.press("q")
        terminal.outcome().expect(code=137)
        until(lambda: not [*users(place[0])], "no process")
    for folder in place[0].glob("pac-*/*"):  # kept until the next start, since it was killed
        shutil.rmtree(folder)


WORKERS = """
envs = gymnasium.vector.AsyncVectorEnv([Line] * 2)
train(envs)
pathlib.Path("idle").touch()
try:
    wait("never")  # an interrupt within a step is another matter: Gymnasium may then wait for ever
finally:
    pathlib.Path("interrupted").touch()
    wait("go on")
    save()
"""


def test_no_worker_remains(run, place, give):
    """The two of an AsyncVectorEnv end with their script, which the user interrupts."""
    with run(WORKERS) as terminal:
        assert len(psutil.Process(terminal.script).children()) == 2
        give()
        until((terminal.cwd / "idle").exists, "the end of the steps")
        ask(terminal, "s")
        until((terminal.cwd / "interrupted").exists, "the interrupt")
        give("go on")
        until(lambda: not [*users(place[0])], "no process")
        assert terminal.process.wait() == 130
        assert (terminal.cwd / "model").exists()


@pytest.mark.parametrize("end", ["hang up", "SIGTERM", "SIGKILL"])
@pytest.mark.parametrize("shown", ["Line", ""])
def test_a_script_goes_on_without_the_app(run, place, give, end, shown):
    """If its terminal closes, or a signal ends the app, before or after the app has opened."""
    text = "pathlib.Path('begun').touch()\nwait('seen')\nsave()" if not shown else "train(Line())\nsave()"
    with run(text, shown=shown) as terminal:
        if not shown:
            until((terminal.cwd / "begun").exists, "the script")
        script = terminal.script
        terminal.hang_up() if end == "hang up" else terminal.process.send_signal(signal.Signals[end])
        terminal.process.wait(LIMIT)
        assert start_ticks(script) is not None
        give()
        until((terminal.cwd / "model").exists, "the model")
        until(lambda: not [*users(place[0])], "no process")
        assert terminal.signals == ()
    for folder in place[0].glob("pac-*/*"):  # after SIGKILL, kept until the next start
        shutil.rmtree(folder)


def test_the_app_fills_the_terminal_when_it_is_resized(run):
    """From edge to edge, with the keys in the last line."""
    with run("train(Line())") as terminal:
        for columns, lines in ((140, 40), (81, 25)):
            terminal.resize(columns, lines)
            terminal.wait(lambda: terminal.screen.splitlines()[-1].startswith(" Space pause"), "the keys")
            terminal.wait(
                lambda wide=columns: max(map(len, map(str.rstrip, terminal.screen.splitlines()))) == wide, "edges"
            )
        terminal.press("\x03")
        assert terminal.outcome().code == 130
