"""What a session publishes last arrives at the other side, however close to its end it came."""

import contextlib
import io
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pac.backends.system.segment import new_directory, remove_directory
from pac.envs import find
from pac.training.relay import sender
from pac.training.relay.messages import Kind, versions
from pac.training.relay.remote_session import RemoteSession
from pac.training.session.control import ControlServer
from pac.training.session.viewers import Viewers
from pac.training.telemetry.blocks import TelemetryReader, TelemetryWriter
from pac.training.telemetry.description import describe
from pac.training.telemetry.records import Phase

from ...toys import FACTS
from ...waiting import until

pytestmark = pytest.mark.session
TASK = find("noop")


@pytest.fixture
def ending(tmp_path, monkeypatch):
    """Return a session that writes into all blocks and its log, the last time when it is seen to be gone."""
    directory = new_directory()
    writer = TelemetryWriter(describe(TASK, **{**FACTS, "folder": str(tmp_path)}), 3, 1, directory)
    server = ControlServer(directory, lambda *_: {}, Viewers())
    log, random, looks = tmp_path / "session.log", np.random.default_rng(0), []

    def publish(phase, lines):
        for name in TelemetryReader(directory).names:
            with writer.write(name) as block:
                data = block.reshape(-1).view("u1")
                data[:] = random.integers(0, 2, block.nbytes, "u1")
                data[: block.nbytes // 2] *= phase is not Phase.ENDED
        with writer.write("state") as state:
            state["phase"] = phase
        with log.open("a") as file:
            file.writelines(f"{phase} {random.integers(10**9)}\n" for _ in range(lines))

    def is_owned(_):
        looks.append(1)
        publish(Phase.RUNNING if len(looks) < 3 else Phase.ENDED, 10 if len(looks) < 3 else 20_000)
        return len(looks) < 3

    monkeypatch.setattr(sender, "is_owned", is_owned)
    monkeypatch.setattr(sender, "CHECK_PERIOD", 0.0)
    monkeypatch.setattr(sender, "PERIOD", 0.0)
    log.write_text("begun\n")
    yield SimpleNamespace(directory=directory, log=log)
    server.close()
    remove_directory(directory)


def test_the_last_state_and_the_rest_of_the_log_arrive(tmp_path, ending):
    """Every block, byte for byte, and every line, also if there are more than are sent at once."""
    sent = io.BytesIO()
    found: Any = SimpleNamespace(directory=ending.directory, pid=1)
    relay = sender.Relay(found, sent)
    relay._send(Kind.HELLO, {**versions(), "run": "r", "pid": 1, "ranks": []})
    relay.run()
    relay._client.close()
    (tmp_path / "sent").write_bytes(sent.getvalue())
    with contextlib.closing(RemoteSession("box", ["cat", str(tmp_path / "sent")])) as shown:
        shown.start()
        until(lambda: shown.poll() is not None, "the end")
        here, there = TelemetryReader(shown.directory), TelemetryReader(ending.directory)
        assert there.copy("state")["phase"] == Phase.ENDED
        assert [name for name in there.names if here.copy(name).tobytes() != there.copy(name).tobytes()] == []
        assert (shown._mirror._folder / "session.log").read_text() == ending.log.read_text()
