"""The parts of `pac-tui watch` that run a script: which session is shown, what of its output is printed."""

import io
import os
import sys
import time

import pytest

from pac.training.telemetry.records import Phase
from pac.tui import script_app, script_process
from pac.tui.script_app import find_session
from pac.tui.script_process import MAX_BYTES, MAX_LINES, READS_TERMINAL, ScriptProcess, shortened


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


def test_output_is_printed_whole_unless_it_is_too_long():
    """A sentence tells how much of it is left out."""
    for text in (b"", b"one\ntwo", b"x" * MAX_BYTES, b"x\n" * MAX_LINES):
        assert b"".join(shortened(io.BytesIO(text))) == text
    lines = [b"%06d\n" % number for number in range(MAX_LINES + 5000)]
    output = io.BytesIO(b"before" + b"".join(lines))
    output.seek(len("before"))
    first, sentence, last = shortened(output)
    assert first == b"".join(lines[: script_process.FIRST_LINES])
    assert last == b"".join(lines[script_process.FIRST_LINES + 5000 :])
    assert sentence == b"pac-tui: 5,000 lines (34.2 KiB) of the script's output are left out here\n"
    assert b"".join(shortened(output)) == b""
    long = b"".join(shortened(io.BytesIO(b"x" * 3 * MAX_BYTES)))
    assert long.count(b"x") == MAX_BYTES
    assert b"pac-tui: 0 lines (8.0 MiB)" in long


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
