"""No command runs code that a run, an episode or a configuration file names without the user's trust."""

from __future__ import annotations

import json
import socket
import stat
import subprocess
import sys
from contextlib import closing
from io import StringIO
from pathlib import Path

import pytest

from pac.envs import Names, find
from pac.envs.trust import Doubt
from pac.training.past.recorder import EpisodeRecorder
from pac.training.telemetry.events import EventLog
from pac.tui.trust import _mark_of, ask, path

from ...training.journey import Journey
from ...training.wanderer import WANDERER
from ...waiting import until
from ..commands import Terminal, start

pytestmark = pytest.mark.session

ROOT = Path(__file__).parents[3]
SPEC = "homemade:Homemade,length=3"
MODULE = """
from pathlib import Path

Path("imported").touch()

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete


class Homemade(gymnasium.Env):
    observation_space, action_space = Box(0, 100, (1,), np.float32), Discrete(2)

    def __init__(self, length=7):
        self.length = length

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.count += 1
        return np.full(1, self.count, np.float32), 1.0, self.count == self.length, False, {}
"""
TRAIN = ("run", "--headless", "--json", "--trainer", "random", "--backend", "inline", "--num-envs", "2")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a working directory with an environment's module, which writes a file when it is imported."""
    (tmp_path / "homemade.py").write_text(MODULE)
    return tmp_path


def a_run(place: Path, task: str, **options: str) -> None:
    """Write the folder of a run from another person."""
    folder = place / "runs" / "theirs"
    folder.mkdir(parents=True)
    config = {"task": task, "trainer": "random", "num_envs": 1, "backend": "inline", **options}
    (folder / "run.json").write_text(json.dumps({"task": task, "trainer": "random", "config": config}))
    (folder / "metrics.jsonl").touch()


def an_episode(place: Path, task: str) -> None:
    """Write an episode's file with a correct header."""
    header = {"format": "pac-episode", "version": 1, "task": task, "seed": 0, "env": 0, "episode": 0, "run": "theirs"}
    lines = [{**header, "replays": True, "steps": 0}, {"prints": {}}, {"trajectory": ""}]
    (place / "theirs.jsonl").write_text("\n".join(map(json.dumps, lines)))


def a_configuration(place: Path, task: str, **options: str) -> None:
    """Write a file for `--config`."""
    (place / "theirs.yaml").write_text(json.dumps({"task": task, **options}))


def finished(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


RESUME, CHECK = ("run", "--headless", "--resume", "theirs"), ("replay", "theirs.jsonl", "--check")
COMMAND = "os:system:command=touch imported"


@pytest.mark.parametrize(
    ("command", "task"),
    [
        (RESUME, COMMAND),
        (RESUME, SPEC),
        (CHECK, COMMAND),
        (CHECK, SPEC),
        (("run", "--headless", "--config", "theirs.yaml"), SPEC),
        (("eval", "theirs", "--headless"), SPEC),
        (("config", "--resume", "theirs"), SPEC),
        (("replay", "theirs.jsonl", "--export", "x.cast"), SPEC),
        (("bench", "scaling", "--config", "theirs.yaml", "--quick"), SPEC),
    ],
)
def test_no_command_runs_code_named_by_a_file(shared, place, command, task):
    """The command ends with exit code 2 and names the file and --trust; nothing is imported or called."""
    for write_file in (a_run, an_episode, a_configuration):
        write_file(place, task)
    code, out, err = finished(start(command, shared, place))
    assert (code, out) == (2, "")
    assert "theirs" in err
    assert repr(task) in err
    assert "Add --trust" in err
    assert not (place / "imported").exists()


@pytest.mark.parametrize(
    "command",
    [
        RESUME,
        ("eval", "theirs", "--headless"),
        ("run", "--headless", "--config", "theirs.yaml"),
        ("run", "--headless", "--ranks", "2", "--config", "theirs.yaml"),
    ],
)
def test_no_command_connects_to_a_server_named_by_a_file(shared, place, command):
    """The answers of a Ray cluster are unpickled, so its address needs trust."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        server.setblocking(False)
        for write_file in (a_run, a_configuration):
            write_file(place, "noop", backend="ray", ray_address=f"127.0.0.1:{server.getsockname()[1]}")
        code, out, err = finished(start(command, shared, place))
        assert (code, out) == (2, "")
        assert "names the ray_address" in err
        with pytest.raises(BlockingIOError):
            server.accept()


@pytest.mark.parametrize("command", [("runs",), ("runs", "show", "theirs"), ("attach", "--json")], ids=" ".join)
def test_listing_runs_imports_nothing(shared, place, command):
    """Listing runs imports no task."""
    a_run(place, SPEC)
    code, _, err = finished(start(command, shared, place))
    assert code == 0, err
    assert not (place / "imported").exists()


def test_a_run_with_a_custom_environment_resumes_with_trust(shared, place):
    """A run with a custom environment resumes with --trust."""
    done = finished(start((*TRAIN, "--task", SPEC, "--name", "mine", "--steps", "100"), shared, place))
    assert done[0] == 0, done
    more = ("run", "--headless", "--json", "--resume", "mine", "--steps", "200", "--trust")
    code, out, err = finished(start(more, shared, place))
    assert code == 0, err
    assert json.loads(out)["task"] == SPEC


def test_an_episode_of_a_custom_environment_is_checked_with_trust(shared, tmp_path):
    """The replay is identical with --trust, and is refused without it."""
    events = EventLog()
    recorder = EpisodeRecorder(find(WANDERER), 11, "a-run", tmp_path, events)
    recorder.want(1)
    Journey(WANDERER, 100, recorder=recorder)
    until(lambda: events.recent, "the recording is written")
    (path,) = tmp_path.glob("*.jsonl")
    check = ("replay", str(path), "--check")
    assert finished(start(check, shared, ROOT))[0] == 2
    code, out, err = finished(start((*check, "--trust"), shared, ROOT))
    assert (code, err) == (0, "")
    assert "identical" in out


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("yes", 0), ("n", 2), ("", 2)])
def test_a_person_at_a_terminal_is_asked(shared, place, answer, code):
    """The question shows the task and the file, and only a yes imports the module."""
    a_run(place, SPEC)
    with closing(Terminal(("config", "--resume", "theirs"), shared, place)) as terminal:
        until(lambda: b"[y/N]" in terminal.drawn, "the question")
        assert repr(SPEC).encode() in terminal.drawn
        assert b"runs/theirs/run.json" in terminal.drawn
        assert not (place / "imported").exists()
        terminal.press(f"{answer}\n")
        until(lambda: terminal.process.poll() is not None, "the end")
        assert terminal.process.returncode == code, terminal.drawn
        assert (place / "imported").exists() == (code == 0)


def test_a_yes_is_remembered_until_the_module_changes(place, monkeypatch):
    """By folder and class, in a file that only this user can read or write."""
    monkeypatch.chdir(place)
    monkeypatch.setenv("XDG_STATE_HOME", str(place / "state"))
    answers, shown = StringIO("yes\nno\nno\nno\n"), StringIO()
    for name, stream in (("stdin", answers), ("stderr", shown)):
        monkeypatch.setattr(stream, "isatty", lambda: True)
        monkeypatch.setattr(sys, name, stream)

    def asked(spec: str = SPEC) -> tuple[bool, bool]:
        """Return whether it is trusted, and whether that was asked."""
        before = shown.getvalue()
        trusted = ask(Doubt("task", spec, Names.TASK, "which is code"), "a file")
        return trusted, shown.getvalue() != before

    assert [asked(), asked()] == [(True, True), (True, False)]
    assert stat.S_IMODE(path().stat().st_mode) == 0o600
    assert asked("homemade:Other") == (False, True)
    path().chmod(0o644)
    assert asked() == (False, True)
    path().chmod(0o600)
    assert asked() == (True, False)
    (place / "homemade.py").write_text(f"{MODULE}\n")
    assert asked() == (False, True)


@pytest.mark.parametrize("spec", ["os:system:command=ls", f"{SPEC},config=/etc/x", "Ant-v5,xml_file=/tmp/a.xml"])
def test_only_code_of_the_folder_is_remembered(place, monkeypatch, spec):
    """Not what names another file, or a module that is elsewhere."""
    monkeypatch.chdir(place)
    assert not _mark_of(Doubt("task", spec, Names.TASK, ""))


def test_the_question_cannot_rewrite_the_terminal(shared, place):
    """Control characters of a task are escaped."""
    a_run(place, "homemade:Homemade,size=3,name='\x1b[2J\u202e'")
    with closing(Terminal(("config", "--resume", "theirs"), shared, place)) as terminal:
        until(lambda: b"[y/N]" in terminal.drawn, "the question")
        assert b"\\x1b[2J\\u202e" in terminal.drawn
        assert b"\x1b[2J" not in terminal.drawn
