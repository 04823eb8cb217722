"""The command `pac-tui env-server`: serves environments to another trainer, in any language."""

from __future__ import annotations

import os
import secrets
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from ...envs import BadParameter, UnknownName, find
from ...envs.files import KIB, UnreadableFile, read_bytes
from ...envs.signals import handling
from ...training.exits import DONE, INTERRUPTED

if TYPE_CHECKING:
    from ...envs import Task

VARIABLE = "PAC_TOKEN"
SOCKET_PATH = "TRAINING_SOCKET_PATH"
SOCKET_NAME = "environments.sock"
KINDS = ("http", "socket")
MAX_ENVS = 10_000
"""Maximum number of environments. One process steps them one by one."""


def serve_environments(
    spec: str, backend: str, num_envs: int, seed: int, *, path: Path | None, port: int | None, token_file: Path | None
) -> int:
    """Serve `num_envs` environments until SIGTERM (exit code 0) or Ctrl-C (130).

    Raises:
        UnknownName: The task or the kind of server is unknown.
        BadParameter: An option does not fit, or is for the other kind of server.
        BackendUnavailable: The address cannot be used.
    """
    if not 1 <= num_envs <= MAX_ENVS:
        raise BadParameter(f"--num-envs expects a whole number from 1 to {MAX_ENVS:,}, got {num_envs}")
    if not 0 <= seed < 1 << 64:
        raise BadParameter(f"--seed expects a whole number from 0 to 2^64 - 1, got {seed}")
    if backend not in KINDS:
        raise UnknownName("kind of server", backend, KINDS)
    from ...backends.core.memory import check_memory

    task = find(spec)
    check_memory(task, num_envs, 1)
    with _exit_on_sigterm() as stop_asked:
        if task.kernels:
            _say(f"loading {task.spec}; the first start compiles it, which takes about a minute")
        if backend == "http":
            if path is not None:
                raise BadParameter("--path is for --backend socket; http listens on a --port")
            received = _serve_http(task, num_envs, seed, port or 0, token_file, stop_asked=stop_asked)
        else:
            if port is not None or token_file is not None:
                raise BadParameter("--port and --token-file are for --backend http; a socket has a --path")
            received = _serve_socket(task, num_envs, seed, path, stop_asked=stop_asked)
    return INTERRUPTED if received == signal.SIGINT else DONE


@contextmanager
def _exit_on_sigterm() -> Iterator[Callable[[], None]]:
    """Exit cleanly on SIGTERM while kernels are compiled, which can take a minute.

    Yields a function that exits after a SIGTERM whose exception the compiler has swallowed.
    """
    received: list[int] = []

    def end(number: int, _: FrameType | None) -> None:
        received.append(number)
        sys.exit(0)

    def stop_asked() -> None:
        if received:
            sys.exit(0)

    with handling({signal.SIGTERM: end}):
        yield stop_asked


def _serve_http(
    task: Task, num_envs: int, seed: int, port: int, token_file: Path | None, *, stop_asked: Callable[[], None]
) -> int:
    from ...backends.http_backend.server import HOME, listen, serve

    if not 0 <= port < 1 << 16:
        raise BadParameter(f"--port expects a whole number from 0 to 65535, got {port}")
    token, spelled, made = token_of(os.environ, token_file)
    task.prepare()
    stop_asked()
    listener = listen(port)
    place = f"http://{HOME}:{listener.getsockname()[1]}"
    shown = f", token {token}" if made else ""
    curl = f"curl -s -H 'Authorization: Bearer {token}'" if made else f'curl -s -H "Authorization: Bearer {spelled}"'
    _say(f"serving {num_envs} x {task.spec} at {place}{shown}; try: {curl} -d '{{}}' {place}/reset")
    return serve(task, listener, 0, num_envs, seed=seed, token=token)


def _serve_socket(task: Task, num_envs: int, seed: int, path: Path | None, *, stop_asked: Callable[[], None]) -> int:
    from ...backends.socket_backend.server import serve
    from ...backends.system.segment import own_directory

    named = path or os.environ.get(SOCKET_PATH)
    place = Path(named) if named else own_directory() / SOCKET_NAME
    line = f"serving {num_envs} x {task.spec} at {place}; pac.backends.socket_backend.protocol describes the frames"
    task.prepare()
    stop_asked()
    return serve(task, place, 0, num_envs, seed, ready=lambda: _say(line))


def token_of(environ: Mapping[str, str], file: Path | None) -> tuple[str, str, bool]:
    """Return the token, its form in a shell command, and whether it was generated.

    Raises:
        BadParameter: The file cannot be read, or the token cannot be in an HTTP header.
    """
    if file is not None:
        try:
            token = read_bytes(file, KIB, pipes=True).decode(errors="replace").strip()
        except UnreadableFile as error:
            raise BadParameter(f"--token-file {error}; check the path") from None
        spelled, where = f"$(cat {file})", f"--token-file {file}"
    elif environ.get(VARIABLE):
        token, spelled, where = environ[VARIABLE].strip(), f"${VARIABLE}", VARIABLE
    else:
        return secrets.token_urlsafe(24), "", True
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise BadParameter(f"{where} must contain a token of ASCII characters without spaces")
    return token, spelled, False


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
