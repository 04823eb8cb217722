"""Reading output from log files that grow, are truncated and are deleted."""

import os

import pytest

from pac.training.logs import CHUNK, MAX_CHARACTERS, MAX_LINES, Logs, LogSeverity, plain, severity_of


@pytest.fixture
def logs(tmp_path):
    return Logs(tmp_path, "")


def texts(logs):
    return [(line.source, line.text) for line in logs.lines]


def test_lines_have_a_source(logs, tmp_path):
    """Workers are numbered from 1. A line that is not finished yet is apart."""
    assert not logs.read()
    (tmp_path / "session.log").write_text("one\ntw")
    (tmp_path / "fleet-0a1b-0.log").write_text("hello\n")
    assert logs.read()
    assert texts(logs) == [("training", "one"), ("worker 1", "hello")]
    assert [line.text for line in logs.unfinished()] == ["tw"]
    with (tmp_path / "session.log").open("a") as file:
        file.write("o\n")
    logs.read()
    assert texts(logs)[2:] == [("training", "two")]
    assert logs.unfinished() == []
    assert not logs.read()


def test_the_folder_of_a_run_has_what_the_training_prints(tmp_path):
    """The session's log is read from the run's folder and not from elsewhere; FIFOs and devices are not read."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "session.log").write_text("here\n")
    os.mkfifo(tmp_path / "session.log")
    (tmp_path / "fleet-0.log").symlink_to("/dev/zero")
    logs = Logs(tmp_path, str(tmp_path / "run"))
    logs.read()
    assert texts(logs) == [("training", "here")]
    assert not Logs(tmp_path, "").read()


def test_the_output_of_a_script_moves_into_its_run_when_it_ends(tmp_path):
    """While it runs, it is in the session's directory, which then is gone; what was printed last is in the run."""
    (tmp_path / "run").mkdir()
    (tmp_path / "session").mkdir()
    log = tmp_path / "session" / "session.log"
    logs = Logs(tmp_path / "session", str(tmp_path / "run"), "script")
    assert not logs.read()
    assert not logs.exists
    log.write_text("one\n")
    assert logs.read()
    assert texts(logs) == [("script", "one")]
    log.unlink()
    (tmp_path / "run" / "session.log").write_text("one\ntwo\n")
    assert logs.read()
    assert texts(logs) == [("script", "one"), ("script", "two")]
    assert logs.exists


def test_a_truncated_file_is_read_from_its_start(logs, tmp_path):
    """A truncated file is read from its start, and lines of a deleted file are kept."""
    log = tmp_path / "fleet-0a1b-1.log"
    log.write_text("a long line\n")
    logs.read()
    log.write_text("new\n")
    logs.read()
    log.unlink()
    assert not logs.read()
    assert texts(logs) == [("worker 2", "a long line"), ("worker 2", "new")]


@pytest.mark.thorough
def test_memory_is_bounded(logs, tmp_path):
    """Only the end of old files, the latest lines, and the beginning of long lines are kept."""
    (tmp_path / "session.log").write_text("x" * 99 + "\n" + "y\n" * CHUNK)
    while logs.read():
        pass
    assert len(logs.lines) == MAX_LINES
    assert logs.count == CHUNK // 2
    assert len(plain("z" * 9999)) == MAX_CHARACTERS


@pytest.mark.parametrize(
    ("raw", "shown"),
    [("\x1b[31mred\x1b[0m", "red"), ("10 %\r20 %\r", "20 %"), ("a\tb", "a   b"), ("\x1b]0;title\x07x\x00", "x\\x00")],
)
def test_escape_sequences_are_removed(raw, shown):
    """Escape sequences in the output are removed."""
    assert plain(raw) == shown


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        ("ValueError: no", LogSeverity.ERROR),
        ("2026-01-01 ERROR it broke", LogSeverity.ERROR),
        ("x.py:3: DeprecationWarning: old", LogSeverity.WARNING),
        ("warning: low", LogSeverity.WARNING),
        ("no errors, terror or forewarnings", LogSeverity.PLAIN),
    ],
)
def test_the_severity_follows_from_words(text, severity):
    """The severity follows from common words of programs."""
    assert severity_of(text) is severity


def test_a_traceback_is_an_error_as_a_whole(logs, tmp_path):
    """All lines of a traceback are errors, and the line after it is not."""
    text = "ok\nTraceback (most recent call last):\n  File 'x'\n    boom()\nOdd: really\nok again\n"
    (tmp_path / "session.log").write_text(text)
    logs.read()
    assert [line.severity for line in logs.lines] == [LogSeverity.PLAIN, *[LogSeverity.ERROR] * 4, LogSeverity.PLAIN]
