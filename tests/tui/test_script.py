"""The parts of `pac-tui watch` that run a script: which session is shown, what of its output is printed."""

import contextlib
import os
import re
import sys
import time

import pytest

from pac.training.telemetry.records import Phase
from pac.training.telemetry.snapshot import ViewRequest
from pac.tui.starting import script_app, script_process
from pac.tui.starting.script_app import find_session, run_script_app
from pac.tui.starting.script_process import MAX_BYTES, MAX_LINES, READS_TERMINAL, ScriptProcess, shortened


class Reader:
    """The telemetry of a session, as far as the choice of a session needs it."""

    def __init__(self, directory, run, now, phase=Phase.RUNNING):
        self.directory, self.description, self.state = directory, self, {"now": now, "phase": phase}
        self.run = run
        directory.mkdir()

    def read(self, name):
        assert name == "state"
        return self.state


@pytest.fixture
def session(tmp_path, monkeypatch):
    """Return a function that opens a session of this process which made its last step so many seconds ago."""
    known = {}

    def opened(run, ago=0.0, **facts):
        folder = tmp_path / f"{os.getpid()}-1-{run}"
        known[folder] = Reader(folder, run, 1000 - ago, **facts)
        return known[folder]

    monkeypatch.setattr(script_app, "runtime_directory", lambda: tmp_path)
    monkeypatch.setattr(script_app, "owner_of", lambda path: int(path.name.partition("-")[0]))
    monkeypatch.setattr(script_app, "open_telemetry", known.get)
    monkeypatch.setattr(time, "time", lambda: 1000.0)
    return opened


def found(shown, wanted=None):
    """Return the name of the session that is shown instead."""
    reader = find_session(os.getpid(), shown, wanted)
    return reader and reader.description.run


def test_trainings_are_shown_before_evaluations(session):
    """The first of them; an evaluation only as long as there is no training."""
    assert found(None) is None
    evaluation = session("train-eval")
    assert found(None) == "train-eval"
    assert found(evaluation) is None
    session("train-2")
    train = session("train", ago=60)
    assert found(None) == found(evaluation) == "train"
    assert found(train) == "train-2"


def test_a_training_stays_while_it_is_stepped_or_paused(session):
    """Or if no other is stepped, or if the user has chosen it."""
    train, other = session("train"), session("train-2")
    assert found(train) is None
    train.state["now"] = other.state["now"] = 900
    assert found(train) is None
    other.state["now"] = 1000
    assert found(train) == "train-2"
    assert found(train, "train") is None
    train.state["phase"] = Phase.PAUSED
    assert found(train) is None
    assert found(train, "train-2") == "train-2"


def test_a_session_that_has_ended_is_replaced(session):
    """By any other, and by none if there is none: the app keeps what it shows."""
    train = session("train", phase=Phase.ENDED)
    assert found(train) is None
    session("train-eval")
    assert found(train) == "train-eval"
    gone = session("train-3")
    gone.directory.rmdir()
    assert found(gone) == "train-eval"


@pytest.fixture
def output(tmp_path):
    """Return a function that opens a file with an output."""
    with contextlib.ExitStack() as files:

        def opened(text):
            (tmp_path / "output").write_bytes(text)
            return files.enter_context((tmp_path / "output").open("rb"))

        yield opened


def test_output_is_printed_whole_unless_it_is_too_long(output):
    """A sentence tells how much of it is left out."""
    for text in (b"", b"one\ntwo", b"x" * MAX_BYTES, b"x\n" * MAX_LINES):
        assert b"".join(shortened(output(text))) == text
    lines = [b"%06d\n" % number for number in range(MAX_LINES + 5000)]
    file = output(b"before" + b"".join(lines))
    file.seek(len("before"))
    first, sentence, last = shortened(file)
    assert first == b"".join(lines[: script_process.FIRST_LINES])
    assert last == b"".join(lines[script_process.FIRST_LINES + 5000 :])
    assert sentence == b"pac-tui: 5,000 lines (34.2 KiB) of the script's output are left out here\n"
    assert b"".join(shortened(file)) == b""
    long = b"".join(shortened(output(b"x" * 3 * MAX_BYTES)))
    assert long.count(b"x") == MAX_BYTES
    assert b"pac-tui: 0 lines (8.0 MiB)" in long


def run_to_the_end(script, *arguments):
    """Run a script; return the process."""
    process = ScriptProcess(sys.executable, [str(script), *arguments])
    while not process.wait(0.1):
        process.notice()
    process.notice()
    return process


@pytest.mark.session
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux frees parts of files")
def test_much_output_needs_little_memory(tmp_path, capfdbinary):
    """While nothing is printed, as in the app; how much is left out is still known."""
    (tmp_path / "train.py").write_text("for number in range(30):\n    print('x' * 999_999)\nprint('end')")
    process = run_to_the_end(tmp_path / "train.py")
    found = (process.directory / "session.log").stat()
    assert found.st_size == 30_000_004
    assert found.st_blocks * 512 < MAX_BYTES + 3 * script_process.LEAST_FREED
    process.copy_shortened()
    printed = capfdbinary.readouterr().out
    assert b"\0" not in printed
    assert printed.endswith(b"\nend\n")
    told = re.search(rb"\npac-tui: (\d+) lines \(24.6 MiB\) of the script's output are left out here\n", printed)
    assert told is not None
    assert int(told[1]) + printed.count(b"\n") - told[0].count(b"\n") == 31
    process.close()
    assert not process.directory.exists()


STEPS = """
import pathlib, sys, time
import gymnasium, numpy
print("begin")

class Line(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (2,))
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        return numpy.zeros(2, "f4"), {}

    def step(self, action):
        return numpy.zeros(2, "f4"), 1.0, False, False, {}

env = Line()
env.reset(seed=0)
while not pathlib.Path(sys.argv[1]).exists():
    env.step(0)
    time.sleep(0.01)
print("end")
sys.exit(3)
"""


@pytest.mark.session
@pytest.mark.parametrize("error", [RuntimeError("broken"), KeyboardInterrupt()])
def test_a_script_goes_on_if_the_app_fails(tmp_path, monkeypatch, capfd, error):
    """Its output and its exit code are as without the app. Ctrl-C while the app opens interrupts the script."""
    (tmp_path / "train.py").write_text(STEPS)

    def show_app(connection):
        assert connection.take(ViewRequest(count=0)).description.run == "train"
        if isinstance(error, RuntimeError):
            (tmp_path / "seen").touch()
        raise error

    monkeypatch.setattr(script_app, "show_app", show_app)
    code = run_script_app(sys.executable, [str(tmp_path / "train.py"), str(tmp_path / "seen")], leaves=False)
    printed = capfd.readouterr()
    if isinstance(error, RuntimeError):
        assert (code, printed.out) == (3, "begin\nend\n")
        assert printed.err == (
            "pac-tui: the app has failed: RuntimeError: broken; the script continues, and its output follows\n"
        )
    else:
        assert (code, printed.out) == (130, "begin\n")
        assert "\nKeyboardInterrupt\n" in printed.err


@pytest.mark.parametrize(
    "text",
    [
        b"EOFError: EOF when reading a line\n",
        b"bdb.BdbQuit\n",
        b"(Pdb) ",
        b">>> \nnow exiting InteractiveConsole...\n",
        b"OSError: [Errno 6] No such device or address: '/dev/tty'\n",
    ],
)
def test_a_script_that_reads_from_the_terminal_is_recognized(text):
    """By what Python prints then."""
    assert READS_TERMINAL.search(b"before\n" + text)
    assert not READS_TERMINAL.search(b"EOFError: the file is cut\nloss 3.0\n")


@pytest.mark.thorough
def test_a_script_that_executes_another_program_is_noticed(tmp_path):
    """That is not watched, unless it is Python."""
    script = tmp_path / "train.py"
    script.write_text("import os\nos.execvp('sleep', ['sleep', '60'])\n")
    process = ScriptProcess(sys.executable, [str(script)])
    try:
        while not process.replaced and process.poll() is None:
            process.notice()
        assert process.replaced
    finally:
        process.kill()
        process.wait(5)
        process.close()
    assert (process.exit_code, process.describe_end()) == (137, "ended, killed by SIGKILL")
