"""A server process, and a client that sends given bytes."""

from __future__ import annotations

import signal
import socket
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Self

from pac.backends.socket_backend.protocol import HEADER, FrameKind, FrameSizes, SocketFrame, frame, parse
from pac.envs import Task, find

from ..programs import talking
from ..waiting import LIMIT

SEED = 7
ENVS = 3
TASK = find("CartPole-v1")


class Running:
    """A process that serves `ENVS` environments."""

    def __init__(self, spec: str, path: Path) -> None:
        self.path = path
        options = ("--backend", "socket", "--num-envs", str(ENVS), "--seed", str(SEED), "--path", path)
        command = ("-m", "pac.tui", "env-server", "--task", spec, *options)
        self.process = talking(*command, stderr=subprocess.PIPE, cwd=Path(__file__).parent)
        assert self.process.stderr is not None
        said = ""
        while not said.startswith("serving"):
            said = self.process.stderr.readline()
            assert said, self.process.wait()

    def end(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        self.process.communicate(timeout=LIMIT)
        return self.process.returncode


class Peer:
    """A client that sends given bytes."""

    def __init__(self, path: Path, task: Task = TASK) -> None:
        self.answers = FrameSizes(task).answers
        self.wire = socket.socket(socket.AF_UNIX)
        self.wire.settimeout(LIMIT)
        self.wire.connect(str(path))
        self.data = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.wire.close()

    def say(self, data: bytes) -> None:
        with suppress(BrokenPipeError, ConnectionResetError):
            self.wire.sendall(data)

    def hear(self) -> SocketFrame | None:
        """Return the next frame, or None where the server closed."""
        while (found := parse(self.data, self.answers)) is None:
            try:
                more = self.wire.recv(1 << 16)
            except ConnectionResetError:
                more = b""
            if not more:
                return None
            self.data += more
        found = SocketFrame(found.kind, found.ident, memoryview(bytes(found.body)))
        self.data = self.data[HEADER.size + len(found.body) :]
        return found

    def ask(self, kind: int, body: bytes = b"", ident: int = 1) -> SocketFrame:
        self.say(frame(kind, ident, body))
        found = self.hear()
        assert found is not None
        assert found.ident == ident
        return found

    def refusal(self, data: bytes) -> int:
        """Return the code that an answer to `data` has, once the server closed the connection."""
        self.say(data)
        found = self.hear()
        assert found is not None
        assert found.kind == FrameKind.ERROR
        assert self.hear() is None
        return int.from_bytes(found.body[:2], "little")
