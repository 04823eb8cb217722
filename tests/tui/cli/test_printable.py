"""Untrusted text on the command line: no escape sequence reaches the terminal."""

from __future__ import annotations

import json
import sys

import pytest

from pac.envs.unknown import UNKNOWN
from pac.tui.cli import show
from pac.tui.cli.commands import main
from pac.tui.cli.run import ProgressLine
from pac.tui.terminal.console import PrintableConsole
from pac.tui.terminal.output import PrintableStream, guard_streams, json_text

from ..attack_text import ATTACK, hostile, smuggled

FILE = ATTACK.replace("/", "")
BOLD = "\x1b[1m"


@pytest.fixture(autouse=True)
def attacked(monkeypatch, capfd, tmp_path):
    """Work in a directory with runs and files that contain escape sequences, with streams replaced for one test."""
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, getattr(sys, name))
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.chdir(tmp_path)
    for name in (FILE, "second"):
        run = tmp_path / "runs" / name
        (run / "checkpoints" / FILE).mkdir(parents=True)
        config = {"task": hostile("task"), "trainer": "ppo", hostile("key"): hostile(name)}
        metadata = {
            "task": hostile("task"),
            "trainer": "ppo",
            "state": hostile("state"),
            "config": config,
            "started": 1.0,
        }
        (run / "run.json").write_text(json.dumps(metadata))
    (tmp_path / "runs" / f"broken{FILE}").mkdir()
    (tmp_path / "runs" / f"broken{FILE}" / "run.json").write_text(ATTACK)
    (tmp_path / "config.yaml").write_text(json.dumps({hostile("key"): 1}))
    (tmp_path / "value.yaml").write_text(json.dumps({"num_envs": ATTACK, "backend": ATTACK}))
    (tmp_path / f"{FILE}.jsonl").write_text(json.dumps({hostile("key"): ATTACK, "task": hostile("task")}) + "\n")


COMMANDS = [
    ("runs",),
    ("runs", "show", FILE),
    ("runs", "compare", FILE, "second"),
    ("runs", "rm", hostile("nothing")),
    ("run", "--name", FILE),
    ("run", "--task", hostile("task")),
    ("run", "--backend", hostile("backend")),
    ("run", "--resume", hostile("run")),
    ("run", "--resume", FILE),
    ("run", "--runs-dir", hostile("folder"), "--resume", "latest"),
    ("run", "--break", hostile("condition")),
    ("run", "--set", hostile("setting=1")),
    ("run", "--report", hostile("no/such/folder/")),
    ("run", f"--{ATTACK}"),
    (ATTACK,),
    ("config", "--config", "config.yaml"),
    ("config", "--config", "value.yaml"),
    ("config", "--config", hostile("file")),
    ("eval", FILE),
    ("eval", hostile("run")),
    ("attach", hostile("run")),
    ("replay", f"{FILE}.jsonl", "--check"),
    ("replay", hostile("file")),
    ("play", hostile("task")),
    ("play", "kuhn", "--against", ATTACK),
    ("env-server", "--task", hostile("task")),
]


@pytest.mark.thorough
@pytest.mark.parametrize("json_flag", [(), ("--json",)], ids=["text", "json"])
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command).replace(ATTACK, "ATTACK")[:40])
def test_no_command_prints_raw_input(command, json_flag, capfd):
    """Names, files, keys, values and options are escaped, JSON is ASCII, and markup is text."""
    guard_streams()
    main([*command, *json_flag])
    out, err = capfd.readouterr()
    assert out + err
    assert smuggled(out) | smuggled(err) == set()
    if json_flag and out:
        assert out.isascii()
        json.loads(out)


def test_a_variable_is_not_echoed_raw(monkeypatch, capfd):
    """The value of a variable is escaped."""
    guard_streams()
    monkeypatch.setenv("PAC_NUM_ENVS", ATTACK)
    assert main(["config"]) == 2
    assert smuggled(capfd.readouterr().err) == set()


@pytest.mark.parametrize("name", ["a\x1bb", "a\u202eb", "a\u2028b", "a\nb", "a/b", "..", "\x7f"])
def test_a_name_of_a_run_is_printable_and_no_path(name, capfd):
    """The error about a bad name says what is expected."""
    assert main(["run", "--headless", "--name", name]) == 2
    assert "--name expects the name of a folder, without a slash or unprintable characters" in capfd.readouterr().err


def test_a_progress_line_is_printable(capfd):
    """Events are printed above it, each in one line."""
    guard_streams()
    line = ProgressLine()
    line._print(hostile("event"))
    assert smuggled(capfd.readouterr().err) == set()


def test_a_traceback_is_printable(capfd):
    """The traceback of an unexpected error is escaped."""
    guard_streams()
    error = ValueError(hostile("why"))
    sys.excepthook(ValueError, error, None)
    found = capfd.readouterr().err
    assert found.startswith("ValueError: why\\x1b]0;PWNED")
    assert smuggled(found) == set()


def test_a_console_reads_no_markup(capfd):
    """Emoji names are not replaced, and table cells are as wide as the escaped text."""
    guard_streams()
    PrintableConsole(width=300).print(ATTACK)
    found = capfd.readouterr().out
    assert "[red]M[/red][@click=app.bell]x[/][link=http://a.b]y[/link]:boom:" in found
    assert smuggled(found) == set()


def test_json_is_ascii_without_controls():
    """JSON is ASCII, without the control character that JSON allows."""
    text = json_text({"a": f"{ATTACK}é"})
    assert text.isascii()
    assert text.isprintable()
    assert json.loads(text) == {"a": f"{ATTACK}é"}


def test_a_guarded_stream_keeps_its_attributes(tmp_path):
    """Encoding and descriptor are those of the stream."""
    with (tmp_path / "out").open("w", encoding="utf-8") as file:
        stream = PrintableStream(file)
        assert (stream.fileno(), stream.encoding) == (file.fileno(), "utf-8")


def test_json_has_text_for_nan_and_infinity():
    """JSON has neither, and strict readers refuse them; what is unknown is null."""
    given = {"fps": float("nan"), "all": [1.5, float("inf")], "return": UNKNOWN}
    assert json.loads(json_text(given)) == {"fps": "NaN", "all": [1.5, "Infinity"], "return": None}


def test_a_table_has_styles_in_a_terminal(monkeypatch, capfd):
    """Its own escape sequences are written as they are, and those of its cells are not."""
    monkeypatch.setattr(show, "console", PrintableConsole(force_terminal=True, width=80))
    guard_streams()
    table = show.plain_table("run", "state")
    table.add_row(ATTACK, "running")
    show.show_table(table)
    head, row = capfd.readouterr().out.splitlines()
    assert BOLD in head
    assert "\x1b" not in row
