"""A session that is shown through a relay, in real processes. The transport runs the command on this machine."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from pac.envs import BadParameter
from pac.training.relay.messages import Kind, versions, write_message
from pac.training.relay.remote_session import RelayFailed, RemoteSession, relay_command
from pac.training.session.control import CommandRefused, SessionClient
from pac.training.telemetry.blocks import TelemetryReader
from pac.training.telemetry.records import Phase
from pac.training.telemetry.snapshot import ViewRequest, take_snapshot

from ...waiting import until
from ..watched import Watched, running, session

pytestmark = pytest.mark.session
PAC_TUI = f"{sys.executable} -m pac.tui"
TRANSPORT = """
import os, subprocess, sys, threading

relay = subprocess.Popen(["sh", "-c", " ".join(sys.argv[2:])], stdin=-1, stdout=-1, bufsize=0)

def forward():
    while data := os.read(0, 65536):
        relay.stdin.write(data)
    relay.stdin.close()

threading.Thread(target=forward, daemon=True).start()
while data := os.read(relay.stdout.fileno(), 65536):
    os.write(1, data)
os._exit(relay.wait())
"""


def transport(folder: Path) -> str:
    """Return a command like ssh, whose host is this machine: a process that passes on what goes to the relay and back.

    It ends with the relay. If it is killed, the relay sees the end of its input.
    """
    path = folder / "rsh"
    path.write_text(f"#!{sys.executable}\n{TRANSPORT}")
    path.chmod(0o700)
    return str(path)


@contextlib.contextmanager
def remote(folder: Path, run: str) -> Iterator[RemoteSession]:
    command = relay_command("box", run, rsh=transport(folder), command=PAC_TUI)
    with contextlib.closing(RemoteSession("box", command)) as shown:
        shown.start()
        yield shown


@pytest.mark.parametrize(("host", "run"), [("-oProxyCommand=touch x", "latest"), ("--", "latest"), ("box", "--help")])
def test_a_host_or_a_run_is_no_option(host, run):
    """Of the remote shell, which could run any command, or of pac-tui there."""
    with pytest.raises(BadParameter, match=host if host != "box" else run):
        relay_command(host, run)


def relays(watched: Watched) -> list[psutil.Process]:
    """Return the processes of relays of a session."""
    wanted = ["-m", "pac.tui", "relay", str(watched.process.pid)]
    return [each for each in psutil.process_iter(["cmdline"]) if (each.info["cmdline"] or [])[1:] == wanted]


def transports(watched: Watched) -> list[psutil.Process]:
    """Return the processes of transports to a session, without the relay."""
    wanted = ["-m", "pac.tui", "relay", str(watched.process.pid)]
    lines = {each: each.info["cmdline"] or [] for each in psutil.process_iter(["cmdline"])}
    return [each for each, line in lines.items() if line[-4:] == wanted and line[1:] != wanted]


def seen(shown: RemoteSession, **look: Any) -> Any:
    return take_snapshot(TelemetryReader(shown.directory), ViewRequest(**{"focus": 0, **look}))


def test_a_remote_viewer_sees_and_does_what_a_local_one_does(tmp_path):
    """The telemetry of a paused session is equal, byte for byte; commands are answered; nothing is left at the end."""
    with session(tmp_path, task="gameboy", name="far") as watched:
        watched.until(running)
        with remote(tmp_path, str(watched.process.pid)) as shown:
            assert shown.name == "far"
            with contextlib.closing(SessionClient(shown.directory)) as client:
                assert client.call("join", name="me")["number"] > 0
                client.call("look", focus=1, count=4, detail=True)
                client.call("pause")
                until(lambda: seen(shown).phase is Phase.PAUSED, "paused on both sides")
                client.call("step", count=2)
                steps = watched.until(lambda snapshot: snapshot.state["credits"] == 0).state["steps"]
                until(lambda: seen(shown).state["steps"] == steps, "the same step")
                here, there = TelemetryReader(shown.directory), watched.reader
                names = ("environments", "detail", "board:frame", "history", "events", "outcomes")
                until(
                    lambda: all(here.read(name).tobytes() == there.read(name).tobytes() for name in names),
                    "equal blocks",
                )
                with pytest.raises(CommandRefused, match="environments are numbered 1 to 4"):
                    client.call("record", env=9)
                with pytest.raises(CommandRefused, match="the file would be on box"):
                    client.call("keep_episode", env=0, episode=0, length=1)
                answer = client.call("save_state", env=0)  # on the machine of the session
                assert answer["host"] == "box"
                assert [Path(path).parent for path in answer["paths"]] == [tmp_path / "far" / "states"] * 2
                client.call("restart", num_envs=2)
                client.call("resume")
                until(lambda: seen(shown).num_envs == 2, "another N")
            assert not Path(seen(shown).description.folder).is_relative_to(tmp_path)
        until(lambda: not relays(watched), "no relay")
        assert not shown.directory.exists()
        watched.until(lambda snapshot: snapshot.phase is Phase.RUNNING)


def moved(shown: RemoteSession, before: int) -> bool:
    return bool(seen(shown).state["steps"] > before)


@pytest.fixture
def hurried(monkeypatch):
    """Try again at once."""
    monkeypatch.setattr("pac.training.relay.remote_session.RETRIES", (0.1,))


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("times", [2, pytest.param(20, marks=[pytest.mark.slow, pytest.mark.timeout(1200)])])
@pytest.mark.parametrize("part", [relays, transports])
def test_a_broken_connection_is_made_again(tmp_path, live, part, times):
    """The training goes on meanwhile. The viewer has joined again, and sees the environment that it had chosen."""
    watched = live(task="drmario")
    with (
        remote(tmp_path, str(watched.process.pid)) as shown,
        contextlib.closing(SessionClient(shown.directory)) as client,
    ):
        watched.call("look", focus=0, count=4, detail=True)
        watched.call("speed", sps=50.0)  # it need not keep a core busy
        client.call("join", name="me")
        client.call("look", focus=2, count=4, detail=True)
        for _ in range(times):
            until(lambda: seen(shown).phase is Phase.RUNNING, "a picture")
            before, killed = seen(shown).state["steps"], part(watched)
            assert killed
            for process in killed:
                with contextlib.suppress(psutil.Error):
                    process.kill()
            until(partial(moved, shown, before), "the next picture")
            until(lambda: seen(shown).audience["viewers"] == 1, "this viewer to have joined again")
            until(lambda: TelemetryReader(shown.directory).read("detail")["env"] == 2, "what it shows")
            until(lambda: len(relays(watched)) == 1, "the end of the relay that was cut off")
        assert watched.process.poll() is None
    until(lambda: not relays(watched) + transports(watched), "no relay and no transport")


def test_an_error_of_ssh_is_one_line():
    """Its lines end with carriage returns, which are not shown."""
    said = "printf 'Warning: new key.\\r\\nPermission denied.\\r\\n' >&2; exit 255"
    with pytest.raises(RelayFailed, match=r"^box: Warning: new key\.; Permission denied\.$"):
        RemoteSession("box", ["sh", "-c", said]).start()


def test_a_connection_over_which_nothing_comes_is_made_again(tmp_path, monkeypatch, live):
    """As after a network was lost: both sides live, and nothing is said. The loss is shown."""
    monkeypatch.setattr("pac.training.relay.remote_session.SILENCE", 2.0)
    watched = live(task="drmario")
    with pytest.raises(RelayFailed, match=r"box: pac-tui: unknown session 'nothing'"), remote(tmp_path, "nothing"):
        pass
    with remote(tmp_path, str(watched.process.pid)) as shown:
        (stuck,) = relays(watched)
        stuck.suspend()
        until(lambda: seen(shown).phase is Phase.DISCONNECTED, "the loss to be shown")
        assert "trying again" in seen(shown).message
        before = seen(shown).state["steps"]
        until(partial(moved, shown, before), "the next picture")
        stuck.resume()
        until(lambda: len(relays(watched)) == 1, "the end of the relay that was stuck")


def test_the_end_of_the_session_is_seen(tmp_path):
    """Its last state stays."""
    with session(tmp_path) as watched:
        watched.until(running)
        with remote(tmp_path, str(watched.process.pid)) as shown:
            watched.end()
            until(lambda: shown.poll() is not None, "the end")
            assert seen(shown).state["steps"] > 0


def hostile(folder: Path, frames: list[tuple[Kind, bytes]], *, raw: bytes = b"") -> RemoteSession:
    """Return a session whose other side sends what it likes."""
    path = folder / "sent"
    with path.open("wb") as file:
        file.write(raw)
        for kind, data in frames:
            write_message(file, kind, data)
    return RemoteSession("box", ["cat", str(path)])


def hello(**other: Any) -> tuple[Kind, bytes]:
    return Kind.HELLO, json.dumps({**versions(), "run": "run", "pid": 1, "ranks": [[0, 1]], **other}).encode()


RANDOM = [np.random.default_rng(seed).bytes(200) for seed in range(3)]


@pytest.mark.parametrize(
    ("frames", "raw", "said"),
    [
        ([hello(telemetry=0, version="0.0.9")], b"", "pac-tui there has version 0.0.9, and here"),
        ([], b"Welcome to box!\n" * 9, "does not speak the protocol"),
        ([hello(), (Kind.CHANGES, b"abc")], b"", "before a header"),
        *(([hello(), (Kind.HEADER, data)], b"", "cannot be used") for data in (b"{}", *RANDOM)),
        ([hello(), (Kind.HEADER, json.dumps({"blocks": [["a", "|O", [9]]]}).encode())], b"", "cannot be used"),
        ([hello(), (Kind.HEADER, json.dumps({"blocks": [["a", "<f8", [1 << 40]]]}).encode())], b"", "cannot be used"),
        ([hello(protocol=1, version="0.0.9", ranks=None)], b"", "pac-tui there has version 0.0.9, and here"),
        ([hello(ranks=[["a", None]])], b"", "not a relay"),
        ([(Kind.HELLO, b"[]")], b"", "not a relay"),
        ([(Kind.ANSWER, b"{}")], b"", "not a relay"),
    ],
)
def test_a_false_other_side_gets_nowhere(tmp_path, frames, raw, said):
    """One clear sentence, and nothing of it is used."""
    shown = hostile(tmp_path, frames, raw=raw)
    with pytest.raises(Exception, match=said):
        shown.start()
    assert not shown.directory.exists()
