"""Serves environments over a Unix socket, from the command line or for a backend."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from ...envs import Task, find
from ..core.errors import BackendUnavailable
from ..servers.hosting import ending_signals
from ..system.sockets import bind, connect
from ..workers.control import IDLE, Link
from .loop import SocketServer

BACKLOG = 4096


def listen(path: Path) -> socket.socket:
    """Return a socket bound to `path`, mode 0600; replaces the file of a dead server.

    Raises:
        BackendUnavailable: Another server or another file is there, or the path cannot be bound.
    """
    if path.exists():
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise BackendUnavailable(f"{path} exists and is not a socket; choose another path or remove it")
        if _answers(path):
            raise BackendUnavailable(f"{path} is served by another process; stop that process or choose another path")
        path.unlink()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        bind(listener, path)
    except OSError as error:
        listener.close()
        raise BackendUnavailable(
            f"cannot create a socket at {path}: {error.strerror or error}; choose a short path in an existing folder"
        ) from error
    finally:
        os.umask(before)
    listener.listen(BACKLOG)
    return listener


def serve(task: Task, path: Path, lo: int, hi: int, seed: int, *, ready: Callable[[], None] = lambda: None) -> int:
    """Serve environments `lo..hi` at `path` until SIGTERM or SIGINT; then remove the socket.

    Args:
        path: Where to listen.
        lo: First environment.
        hi: One past the last.
        seed: The seed of connections without HELLO_REQ.
        ready: Called when clients can connect.

    Returns:
        The signal that ended it.

    Raises:
        BackendUnavailable: It cannot listen there.
    """
    task.prepare()
    listener = listen(path)
    try:
        with closing(SocketServer(task, listener, lo, hi, seed)) as server, ending_signals() as came:
            ready()
            while not came:
                server.turn(IDLE)
    finally:
        listener.close()
        path.unlink(missing_ok=True)
    return came[0]


def path_of(report: Path) -> Path:
    """Return the path of the socket of a worker, beside its failure report."""
    return report.with_suffix(".sock")


def work(link: Link, arguments: Mapping[str, Any]) -> None:
    """Serve environments `arguments["lo"]..arguments["hi"]` beside the report until the fleet asks to close."""
    task = find(arguments["spec"])
    task.prepare()
    path = path_of(Path(arguments["report"]))
    listener = listen(path)
    try:
        server = SocketServer(task, listener, arguments["lo"], arguments["hi"], arguments["seed"], link=link)
        link.ready()
        while not link.closing:
            if not server.turn(IDLE):
                link.idle()
        server.close()
    finally:
        path.unlink(missing_ok=True)


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            connect(probe, path)
        except ConnectionRefusedError:
            return False
        except OSError:
            return True
    return True
