"""A server process, and a client that sends given bytes."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Self

from pac.backends.socket_backend.protocol import HEADER, FrameKind, FrameSizes, SocketFrame, frame, parse
from pac.envs import Task, find

from ..waiting import LIMIT

SEED = 7
ENVS = 3
TASK = find("CartPole-v1")
SERVER = """
import sys
from pathlib import Path
sys.path.append({here!r})
from pac.backends.socket_backend.server import serve
from pac.envs import find
serve(find(sys.argv[1]), Path(sys.argv[2]), 0, {envs}, {seed}, ready=lambda: print("ready", flush=True))
"""


class Running:
    """A server process."""

    def __init__(self, spec: str, path: Path) -> None:
        self.path = path
        code = SERVER.format(here=str(Path(__file__).parent), envs=ENVS, seed=SEED)
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, spec, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n", self.process.communicate()[1]

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
