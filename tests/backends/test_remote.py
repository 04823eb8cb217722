"""Environments of a running server, either of this program or one that knows only the plain types."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from pac.backends import BackendBroken, BackendUnavailable, make
from pac.backends.core.errors import ProtocolError
from pac.backends.core.layout import Layout
from pac.backends.remote import RemoteBackend
from pac.backends.socket_backend.client import SocketConnections
from pac.backends.socket_backend.loop import SocketServer
from pac.backends.socket_backend.protocol import NUMBERS, FrameKind, frame
from pac.backends.socket_backend.server import listen
from pac.envs import Task, find
from pac.training.bench.backends.rates import RandomLegal

from ..tui.attack_text import ATTACK, smuggled

SEED = 3
ENVS = 3
STEPS = 120
PLAIN = range(0x01, 0x0D)


class Foreign(SocketServer):
    """A server that knows only the twelve plain types: it ignores or refuses others."""

    def refuse_more(self) -> None:
        self._sizes.requests = {kind: size for kind, size in self._sizes.requests.items() if kind in PLAIN}

    def ignore_more(self) -> None:
        for kind in set(self._handlers) - set(PLAIN):
            self._handlers[kind] = lambda *_: None


@pytest.fixture
def served(runtime_directory) -> Iterator[Callable[..., object]]:
    """Serve a task in a thread of this process, in a way of doing without the other types; give the path."""
    path, ends = runtime_directory / "elsewhere", threading.Event()
    threads = []

    def serve(task: Task, manner: str) -> object:
        server = Foreign(task, listen(path), 0, ENVS, SEED)
        if manner:
            getattr(server, manner)()

        def run() -> None:
            while not ends.is_set():
                server.turn(0.01)
            server.close()

        threads.append(threading.Thread(target=run, daemon=True))
        threads[0].start()
        return path

    yield serve
    ends.set()
    for thread in threads:
        thread.join()
    path.unlink(missing_ok=True)


def played(envs, fields: list[str]) -> list[bytes]:
    """Return some fields after every step, as bytes; play in two slots."""
    choose, seen = RandomLegal(envs.task, envs.num_envs), []
    envs.start()
    for _ in range(STEPS):
        choose(envs, 0)
        envs.advance(0)
        seen.append(b"".join(envs.buffer[name][1 if len(envs.buffer[name]) > 1 else 0].tobytes() for name in fields))
        envs.carry()
    return seen


def test_a_server_of_this_program(served):
    """Everything comes as from `inline`, with the seed that was asked for."""
    task = find("drmario:level=1")
    names = [item.name for item in task.fields]
    path = served(task, "")
    envs, reference = RemoteBackend(task, ENVS, path, slots=2, seed=8), make(task, ENVS, "inline", slots=2, seed=8)
    assert played(envs, names) == played(reference, names)
    envs.close()


@pytest.mark.thorough
@pytest.mark.parametrize("manner", ["refuse_more", "ignore_more"])
@pytest.mark.parametrize("spec", ["CartPole-v1", "drmario:level=1"])
def test_a_server_with_only_the_plain_types(served, manner, spec):
    """Its results equal those of `inline` with the server's seed, including returns, lengths and episodes."""
    task = find(spec)
    names = ["observation", "final_observation", "reward", "terminated", "truncated", "active", "episode", "heartbeat"]
    names += ["episode_return", "episode_length"] + (["action_mask"] if task.masked else ["outcome", "frames"])
    path = served(task, manner)
    envs, reference = RemoteBackend(task, ENVS, path, slots=2), make(task, ENVS, "inline", slots=2, seed=SEED)
    assert played(envs, names) == played(reference, names)
    assert reference.buffer["episode"].max() > 0
    with pytest.raises(BackendBroken, match="accepts no seed"):
        envs.reset(seed=1)
    envs.close()


def test_plain_types_carry_the_numbers_of_every_seat(served):
    """Each seat's numbers equal those of `inline`."""
    task = find("autochess:players=8")
    envs = RemoteBackend(task, ENVS, served(task, "refuse_more"), slots=2)
    reference = make(task, ENVS, "inline", slots=2, seed=SEED)
    assert played(envs, list(NUMBERS)) == played(reference, list(NUMBERS))
    assert len(np.unique(reference.buffer["rank"])) > 1
    envs.close()


def test_a_server_of_another_task(served):
    """It is refused at once, with what was expected."""
    path = served(find("CartPole-v1"), "")
    with pytest.raises(BackendUnavailable, match="as answer to SPACES_REQ"):
        RemoteBackend(find("drmario"), ENVS, path)


def test_more_environments_than_there_are(served):
    """A server that has too few says so."""
    path = served(find("CartPole-v1"), "")
    with pytest.raises(BackendUnavailable, match="not free"):
        RemoteBackend(find("CartPole-v1"), ENVS + 1, path)


def test_a_missing_server(tmp_path):
    """Without a server, the error has the path."""
    with pytest.raises(BackendUnavailable, match="nobody"):
        RemoteBackend(find("CartPole-v1"), 1, tmp_path / "nobody")


def test_a_partial_reset(served):
    """Only the masked environments are reset; the others' counts continue."""
    envs = RemoteBackend(find("CartPole-v1"), ENVS, served(find("CartPole-v1"), "refuse_more"))
    envs.reset()
    envs.step(np.zeros(ENVS, np.int64))
    envs.reset(options={"reset_mask": np.array([False, True, False])})
    assert envs.buffer["episode"].tolist() == [[0, 1, 0]]
    assert envs.buffer["episode_length"].tolist() == [[1, 0, 1]]
    envs.close()


def test_an_error_that_attacks_the_terminal(runtime_directory):
    """The text of an ERROR frame is written out, whatever a server puts into it."""
    path, task = runtime_directory / "hostile", find("CartPole-v1")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        lines = SocketConnections(task, Layout(task, 1).map(), plain=True)
        lines.connect(0, path, 0, 20.0)
        with listener.accept()[0] as server:
            server.sendall(frame(FrameKind.ERROR, 1, b"\x01\x00" + ATTACK.encode() + b"\xff"))
            lines.send_reset([0])
            with pytest.raises(ProtocolError, match="PWNED") as caught:
                lines.receive(0)
        lines.close()
    path.unlink()
    assert smuggled(str(caught.value)) == set()
