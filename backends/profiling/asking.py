"""Asks the processes of a session where they spend time and memory: workers answer through a socket in its directory.

A worker's thread blocks until it is asked. A request and its answer are one line of JSON each; then the connection is
closed. Only the user may enter the directory.
"""

from __future__ import annotations

import _thread
import json
import os
import signal
import socket
import struct
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from ...envs.files import parse_json
from ..system.sockets import bind, connect, out_of_reach
from . import allocations
from .sampling import Sampler

SUFFIX = ".stacks"
SAMPLE, ALLOCATIONS = "seconds", "allocations"
"""What is asked for."""
MOST_SECONDS = 2.0
"""The longest time that one request samples, in s; whoever samples longer asks again."""
PATIENCE = 2.0
"""Seconds that an answer may take besides."""
DUMP = 0.5
"""Seconds for a process that does not answer to write its stacks into its log."""
MAX_REQUEST, MAX_ANSWER = 4096, 1 << 20
CREDENTIALS = struct.Struct("3i")  # of Linux: process, user, group


def answer_requests(path: Path, name: str) -> None:
    """Answer in a thread of its own, as long as this process lives. Without a socket, nobody can ask."""
    wire = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        path.unlink(missing_ok=True)
        bind(wire, path)
        path.chmod(0o600)
        wire.listen()
    except OSError:
        wire.close()
        return
    _thread.start_new_thread(_serve, (out_of_reach(wire), Sampler(name)))


def _serve(wire: socket.socket, sampler: Sampler) -> None:
    while True:
        with suppress(OSError):
            connection = wire.accept()[0]
            with connection, connection.makefile("rwb") as stream:
                connection.settimeout(PATIENCE)
                answer = answer_to(stream.readline(MAX_REQUEST), sampler)
                stream.write(json.dumps(answer).encode() + b"\n")


def answer_to(line: bytes, sampler: Sampler) -> Mapping[str, Any]:
    """Return the answer to a request: a sample of so many `seconds`, or the stacks now if that is 0.

    With `allocations` instead, it is which lines have allocated memory for so many seconds.
    """
    with suppress(ValueError):
        request = parse_json(line)
        kind, seconds = next(iter(request.items())) if isinstance(request, dict) and len(request) == 1 else ("", None)
        if isinstance(seconds, int | float):
            if kind == SAMPLE and 0 <= seconds <= MOST_SECONDS:
                return sampler.sample(seconds) if seconds else sampler.stacks()
            if kind == ALLOCATIONS and 0 < seconds <= allocations.MOST_SECONDS:
                return allocations.allocations(sampler.name, seconds)
    limits = f'{{"{SAMPLE}": 0 to {MOST_SECONDS:g}}} or {{"{ALLOCATIONS}": up to {allocations.MOST_SECONDS:g}}}'
    return {"error": f"expected {limits} on one line"}


class Asked(NamedTuple):
    """A process that was asked: its socket's path, and the connection."""

    path: Path
    wire: socket.socket


def ask(folders: Iterable[Path], seconds: float, kind: str = SAMPLE) -> list[Asked]:
    """Ask the workers whose sockets are in some folders, without waiting for answers."""
    asked = []
    for path in sorted(found for folder in folders for found in folder.glob(f"*{SUFFIX}")):
        wire = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        wire.settimeout(PATIENCE)
        try:
            connect(wire, path)
            wire.sendall(json.dumps({kind: seconds}).encode() + b"\n")
        except OSError:  # it has ended
            wire.close()
        else:
            asked.append(Asked(path, wire))
    return asked


def answers(asked: Iterable[Asked], seconds: float, *, dump: bool = False) -> list[dict[str, Any]]:
    """Return what was answered within the time that it takes.

    A process without an answer has a `text` instead: why, or with `dump` what it has written into its log about its
    stacks, for which it needs no interpreter.
    """
    end = time.monotonic() + seconds + PATIENCE
    found = []
    for path, wire in asked:
        with wire:
            answer = _read(wire, end)
            if answer is None:
                pid = _process_of(wire)
                text = _dumped(path, pid) if dump and pid else f"no answer within {PATIENCE:g} s"
                answer = {"process": f"process {pid}" if pid else path.stem, "pid": pid, "text": text}
        found.append(answer)
    return found


def _read(wire: socket.socket, end: float) -> dict[str, Any] | None:
    parts = bytearray()
    try:
        while not parts.endswith(b"\n") and len(parts) <= MAX_ANSWER:
            wire.settimeout(max(0.01, end - time.monotonic()))
            part = wire.recv(1 << 16)
            if not part:
                return None
            parts += part
        found = parse_json(bytes(parts))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and "error" not in found else None


def _process_of(wire: socket.socket) -> int:
    """Return the process at the other end; 0 if the system does not say."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return 0
    process: int = CREDENTIALS.unpack(wire.getsockopt(socket.SOL_SOCKET, option, CREDENTIALS.size))[0]
    return process


def _dumped(path: Path, pid: int) -> str:
    """Have a worker write its stacks into its log, and return them; its signal handler needs no interpreter."""
    log = path.with_suffix(".log")
    try:
        size, end = log.stat().st_size, time.monotonic() + DUMP
        os.kill(pid, signal.SIGUSR1)
        while time.monotonic() < end:
            time.sleep(0.02)
            with log.open("rb") as file:
                file.seek(size)
                data = file.read(MAX_ANSWER)
            if data.endswith(b"\n") and b'File "' in data:
                time.sleep(0.02)  # the rest of it
                with log.open("rb") as file:
                    file.seek(size)
                    return file.read(MAX_ANSWER).decode(errors="replace")
    except OSError:
        pass
    return "it does not answer, and could not write its stacks"
