"""Text of servers, clients, workers and result files that attacks the terminal, on a real one."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pac.backends.socket_backend.protocol import HEADER, HELLO_REQ, VERSION, FrameKind, frame

from ...waiting import until
from ..attack_text import ATTACK, smuggled
from ..commands import Terminal, tidy

pytestmark = pytest.mark.session

RAW = ATTACK.encode()
ENVIRONMENT = """
import os, sys
import gymnasium
from gymnasium.spaces import Box, Discrete
import pac.envs.errors

ATTACK = {attack!r}
if os.getppid() != int(os.environ.get("TERMINAL_PARENT", 0)):  # a worker reports as a hostile program would
    pac.envs.errors.printable = lambda text, keep="": text


class Hostile(gymnasium.Env):
    metadata = {{"render_modes": ["ansi"]}}

    def __init__(self, fails, render_mode=None):
        self.render_mode, self.fails, self.count = render_mode, fails, 0
        self.observation_space, self.action_space = Box(-1, 1, (2,)), Discrete(2)
        self.observation_space.seed(0)

    def tell(self):
        return self.observation_space.sample(), {{f"key{{ATTACK}}": 1.0, "text": ATTACK}}

    def reset(self, *, seed=None, options=None):
        return self.tell()

    def step(self, action):
        self.count += 1
        if self.count == 5:
            print(ATTACK, flush=True)
            print(ATTACK, file=sys.stderr, flush=True)
        if self.count == 9 and self.fails == "raises":
            raise RuntimeError(ATTACK)
        if self.count == 9 and self.fails == "ends":
            os.write(2, ATTACK.encode())
            os._exit(3)
        observation, info = self.tell()
        return observation, 1.0, self.count % 7 == 0, False, info

    def render(self):
        return ATTACK


Hostile.__name__ = Hostile.__qualname__ = f"Hostile{{ATTACK}}"
"""


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
    """Run a command on a terminal, in a folder that has the module `hostile`; check what it drew at the end."""
    opened: list[Terminal] = []
    (tmp_path / "hostile.py").write_text(ENVIRONMENT.format(attack=ATTACK))
    with tidy() as folder:

        def start(*arguments: str) -> Terminal:
            opened.append(Terminal(arguments, folder, tmp_path, TERMINAL_PARENT=str(os.getpid())))
            return opened[-1]

        yield start
        for one in opened:
            if one.process.poll() is None:
                one.process.send_signal(signal.SIGTERM)
            one.process.wait(60)
            one.close()
        for one in opened:
            assert smuggled(one.drawn.decode(errors="surrogateescape")) == set()


@pytest.mark.parametrize("backend", ["shm", "socket", "http"])
@pytest.mark.parametrize("fails", ["raises", "ends"])
def test_a_worker_whose_reports_attack(terminal, backend, fails):
    """Its error, its output and the names of its environment are written out, in one session that fails of them."""
    task = f"hostile:Hostile,fails={fails}"
    options = ("--trainer", "random", "--num-envs", "1", "--steps", "200", "--backend", backend)
    run = terminal("run", "--headless", "--task", task, *options)
    assert run.process.wait(100) == 1
    until(lambda: run.has_drawn("PWNED"), "the attack is shown, written out")


@pytest.mark.parametrize(
    ("backend", "requests"),
    [
        (
            "http",
            [
                b"GET /" + RAW + b" HTTP/1.1\r\n\r\n",
                RAW + b" / HTTP/1.1\r\n\r\n",
                b"GET / HTTP/1.1\r\n" + RAW + b": " + RAW + b"\r\n\r\n",
                b"GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + RAW + b"\r\n\r\n",
                b"POST /step HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\nContent-Encoding: " + RAW + b"\r\n\r\n{",
            ],
        ),
        (
            "socket",
            [
                RAW * 4,
                frame(FrameKind.ERROR, 1, b"\x01" + RAW),
                frame(FrameKind.STEP_REQ, 1, RAW),
                frame(FrameKind.HELLO_REQ, 1, HELLO_REQ.pack(VERSION, 0, 1)) + RAW,
                HEADER.pack(0x9B, 0x9B9B9B9B, 3) + RAW,
            ],
        ),
    ],
    ids=["http", "socket"],
)
def test_a_client_whose_requests_attack(terminal, backend, requests):
    """A server prints nothing of them."""
    served = terminal("env-server", "--task", "hostile:Hostile,fails=never", "--backend", backend)
    until(lambda: b"serving" in served.drawn, "it serves")
    printed = served.drawn.decode()
    for request in requests:
        if backend == "http":
            port = re.search(r"127\.0\.0\.1:(\d+)", printed)
            assert port is not None
            wire = socket.create_connection(("127.0.0.1", int(port[1])), timeout=30)
        else:
            path = re.search(r" at (\S+);", printed)
            assert path is not None
            wire = socket.socket(socket.AF_UNIX)
            wire.settimeout(30)
            wire.connect(path[1])
        with wire:
            wire.sendall(request)
            wire.shutdown(socket.SHUT_WR)
            while wire.recv(4096):
                pass
    served.process.send_signal(signal.SIGTERM)
    assert served.process.wait(60) == 0


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("scaling", "--task", f"no{ATTACK}"), 2),
        (("scaling", "--task", "hostile:Hostile,fails=raises", "--num-envs", "1"), 1),
        (
            (
                "traces",
                "--task",
                "hostile:Hostile,fails=raises",
                "--backends",
                "inline",
                "--games",
                "3",
                "--num-envs",
                "1",
            ),
            1,
        ),
    ],
    ids=["a task", "an environment", "an environment that is compared"],
)
def test_a_benchmark_of_what_attacks(terminal, tmp_path, arguments, code):
    """Its table and its errors write it out."""
    bench = terminal("bench", *arguments)
    try:
        assert bench.process.wait(100) == code
    except subprocess.TimeoutExpired:
        pytest.fail(f"still running: {bench.drawn[-300:]!r}")
