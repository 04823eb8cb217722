"""Answers of an HTTP server that are malformed, over a real connection."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pac.backends.core.errors import BackendBroken
from pac.backends.core.layout import Layout
from pac.backends.http_backend.client import HttpConnections
from pac.backends.http_backend.messages import ResetRequest, result
from pac.backends.servers.hosting import HostedEnvironment
from pac.envs import BadParameter, allocate, find

from ..tui.attack_text import ATTACK, smuggled

MISSING = object()
SEAT = ("results", 0)


class Server:
    """Answers every request with the same bytes, on a thread of this process."""

    def __init__(self, status: str, body: bytes) -> None:
        self.answer = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        wire = self.listener.accept()[0]
        with wire, self.listener:
            try:
                while wire.recv(1 << 16):
                    wire.sendall(self.answer)
            except OSError:  # the client read as much as it wanted
                return


@pytest.fixture
def ask() -> Iterator[Callable[..., HttpConnections]]:
    """Ask a server for an episode of `kinds:Tag`, which has two seats and a mask; decode its answer."""
    opened = []

    def connect(body: bytes, status: str = "200 OK") -> HttpConnections:
        task = find("kinds:Tag")
        server = Server(status, body)
        lines = HttpConnections(task, Layout(task, 1).map(), "token")
        opened.append((server, lines))
        lines.connect(0, server.listener.getsockname()[1], 0, timeout=20)
        lines.send_reset([0])
        while not lines.receive(0):
            pass
        lines.decode(0)
        return lines

    yield connect
    for server, lines in opened:
        lines.close()
        server.thread.join(20)


@pytest.fixture
def sound() -> dict[str, Any]:
    """The right answer."""
    task = find("kinds:Tag")
    host = HostedEnvironment(task, 0, 3, allocate(task, 1))
    host.reset()
    answer: dict[str, Any] = json.loads(json.dumps(result(host, ResetRequest(fields=True), 5)))
    host.close()
    return answer


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "it is not JSON"),
        (b"{", "it is not JSON"),
        (b"\xff", "it is not JSON: it is not text in UTF-8"),
        (b"[" * 100_000, "it is nested too deeply"),
        (b"[" * 100 + b"]" * 100, "it is nested more than 64 deep"),
        (b'{"reward": NaN}', "it has a number that is NaN or infinite"),
        (b'{"frames": 1' + b"0" * 400 + b"}", "it has an integer of more than 100 digits"),
        (b'{"frames": 1' + b"0" * 9_000 + b"}", "it is not JSON"),
        (b"[1]", r"it is not a JSON object but \[1\]"),
        (b"null", "it is not a JSON object but None"),
        (b" " * (2 << 20), "it is larger than"),
        (b"{}", "it lacks 'results'"),
    ],
)
def test_what_is_not_an_answer(ask, body, reason):
    """One sentence names the environment and says what is wrong."""
    with pytest.raises(BackendBroken, match=f"^the server of environment 1 sent a malformed answer: {reason}"):
        ask(body)


def with_value(value: Any, *path: Any) -> Callable[[Any], None]:
    def change(answer: Any) -> None:
        *way, last = path
        for step in way:
            answer = answer[step]
        answer[last] = value
        if value is MISSING:
            del answer[last]

    return change


def without(*path: Any) -> Callable[[Any], None]:
    return with_value(MISSING, *path)


CHANGES = {
    "no info": (without("info"), "it lacks 'info'"),
    "no number of the info": (without("info", "age"), "it lacks 'age'"),
    "no reward": (without(*SEAT, "reward"), "it lacks 'reward'"),
    "one seat": (without("results", 1), "expected 2 results, got 1"),
    "a third seat": (with_value([{}] * 3, "results"), "expected 2 results, got 3"),
    "a seat that is a list": (with_value([[], []], "results"), "list indices must be integers"),
    "a reward in words": (with_value("much", *SEAT, "reward"), "could not convert string to float: 'much'"),
    "a reward that is null": (with_value(None, *SEAT, "reward"), "NoneType"),
    "a seat that is 300 active": (with_value(300, *SEAT, "active"), "300"),
    "a short observation": (with_value([1.0], *SEAT, "observation"), "observation must be 2 numbers of type float32"),
    "a deeper observation": (with_value([[1], [2, 3]], *SEAT, "observation"), "observation must be 2 numbers"),
    "an observation with null": (with_value([1.0, None], *SEAT, "observation"), "observation must be 2 numbers"),
    "an observation that is null": (with_value(None, *SEAT, "observation"), "observation must be 2 numbers"),
    "words as observation": (with_value(["a", "b"], *SEAT, "observation"), "observation must be 2 numbers"),
    "a long mask": (with_value([1] * 8, *SEAT, "action_mask"), "action_mask must be 3 numbers of type uint8"),
    "a mask of large numbers": (with_value([300, 0, 0], *SEAT, "action_mask"), "action_mask must be 3 numbers"),
    "info of one seat": (with_value([1], "info", "age"), "age must be 2 numbers"),
    "info that is a list": (with_value([], "info"), "list indices must be integers"),
    "large frames": (with_value(2**40, "frames"), "out of bounds"),
    "an unknown outcome": (with_value("melted", "outcome"), "'melted' is not in list"),
    "fields that are a number": (with_value(3, "fields"), "no attribute 'items'"),
    "a hostile field": (with_value("", "fields", ATTACK), "PWNED"),
    "an unknown field": (with_value("", "fields", "other"), "'other' is not an untimed field"),
    "a field with slots": (with_value("", "fields", "reward"), "'reward' is not an untimed field"),
    "a field that is not in base64": (with_value("?", "fields", "episode"), ""),
    "a short field": (with_value("AAAA", "fields", "episode"), "buffer size must be a multiple of element size"),
    "negative time": (with_value(-1, "nanoseconds"), ""),
    "endless time": (with_value(10**90, "nanoseconds"), "too large"),
}


@pytest.mark.parametrize(("change", "reason"), CHANGES.values(), ids=CHANGES)
def test_an_answer_that_is_wrong_in_one_place(ask, sound, change, reason):
    """What is missing, or of another type, length or size, is one sentence, and nothing is broadcast or cut."""
    assert ask(json.dumps(sound).encode()).took.tolist() == [5]
    change(sound)
    with pytest.raises(BackendBroken, match=f"malformed answer: .*{re.escape(reason)}") as caught:
        ask(json.dumps(sound).encode())
    assert smuggled(str(caught.value)) == set()


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b'{"error": "no such episode"}', "no such episode"),
        (b'{"error": ["\\u001b[2J"]}', r"['\x1b[2J']"),
        (b"{}", "it answered with status 400"),
        (json.dumps({"error": ATTACK}).encode(), "PWNED"),
    ],
)
def test_a_refusal(ask, body, text):
    """It is the server's sentence, with what attacks the terminal written out."""
    with pytest.raises(BadParameter, match=re.escape(text)) as caught:
        ask(body, "400 Bad Request")
    assert smuggled(str(caught.value)) == set()


@pytest.mark.parametrize("head", ["999 Odd", "200 OK\r\nX: " + "y" * 70_000])
def test_an_answer_that_is_not_http(ask, head):
    """It is as if the connection were gone: the server is replaced."""
    with pytest.raises((ConnectionError, BackendBroken)):
        ask(b"", head)
