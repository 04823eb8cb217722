"""Environments of a running server, either of this program or one that knows only the plain types."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

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

from ..tui.attack_text import ATTACK, smuggled
from .playing import trajectory

SEED = 3
ENVS = 3
STEPS = 60
PLAIN = range(0x01, 0x0D)


class Foreign(SocketServer):
    """A server that knows only the twelve plain types: it ignores or refuses others."""

    def refuse_more(self) -> None:
        self._sizes.requests = {kind: size for kind, size in self._sizes.requests.items() if kind in PLAIN}

    def ignore_more(self) -> None:
        for kind in set(self._handlers) - set(PLAIN):
            self._handlers[kind] = lambda *_: None


@pytest.fixture
def served(runtime_directory) -> Iterator[Callable[..., Path]]:
    """Serve a task in a thread of this process, in a way of doing without the other types; give the path."""
    path: Path = runtime_directory / "elsewhere"
    ends = threading.Event()
    threads = []

    def serve(task: Task, manner: str) -> Path:
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


def test_a_server_of_this_program(served):
    """Everything comes as from `inline`, with the seed that was asked for."""
    task = find("leduc")
    path = served(task, "")
    envs, reference = RemoteBackend(task, ENVS, path, slots=2, seed=8), make(task, ENVS, "inline", slots=2, seed=8)
    assert trajectory(envs, STEPS) == trajectory(reference, STEPS)
    envs.close()


@pytest.mark.parametrize(("spec", "manner"), [("CartPole-v1", "refuse_more"), ("drmario:level=20", "ignore_more")])
def test_a_server_with_only_the_plain_types(served, manner, spec):
    """Its results equal those of `inline` with the server's seed, including returns, lengths and episodes."""
    task = find(spec)
    names = ["observation", "final_observation", "reward", "terminated", "truncated", "active", "episode", "heartbeat"]
    names += ["episode_return", "episode_length"] + (["action_mask"] if task.masked else ["outcome", "frames"])
    path = served(task, manner)
    envs, reference = RemoteBackend(task, ENVS, path, slots=2), make(task, ENVS, "inline", slots=2, seed=SEED)
    assert trajectory(envs, STEPS, names) == trajectory(reference, STEPS, names)
    assert reference.buffer["episode"].max() > 0
    with pytest.raises(BackendBroken, match="accepts no seed"):
        envs.reset(seed=1)
    envs.close()


def test_plain_types_carry_the_numbers_of_every_seat(served):
    """Each seat's numbers equal those of `inline`."""
    task = find("autochess:players=8")
    envs = RemoteBackend(task, ENVS, served(task, "refuse_more"), slots=2)
    reference = make(task, ENVS, "inline", slots=2, seed=SEED)
    assert trajectory(envs, STEPS, NUMBERS) == trajectory(reference, STEPS, NUMBERS)
    assert len(np.unique(reference.buffer["rank"])) > 1
    envs.close()


@pytest.mark.parametrize(
    ("spec", "num_envs", "text"), [("drmario", ENVS, "as answer to SPACES_REQ"), ("CartPole-v1", ENVS + 1, "not free")]
)
def test_a_server_that_does_not_fit(served, spec, num_envs, text):
    """One of another task or with too few environments is refused at once, with what was expected."""
    path = served(find("CartPole-v1"), "")
    with pytest.raises(BackendUnavailable, match=text):
        RemoteBackend(find(spec), num_envs, path)
    with pytest.raises(BackendUnavailable, match="nobody"):
        RemoteBackend(find(spec), 1, path.with_name("nobody"))


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
