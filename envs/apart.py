"""Processes for foreign code. They end with the process that started them; what they started is killed here."""

from __future__ import annotations

import ctypes
import faulthandler
import json
import os
import re
import secrets
import select
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast

from .errors import PacError

if TYPE_CHECKING:
    import psutil

PR_SET_PDEATHSIG = 1
MAKING_LIMIT = 120.0
"""Seconds in which an environment must be made to find out what it is."""
VARIABLE = "PAC_WORKER"
"""The environment variable by which all that such a process starts is known: its token, and those of its ancestors. A
token has the container, the id and the start of the process that started it, and a random number."""
ENDED = (b"Z", b"X")
"""States of processes that have ended, in /proc."""
STANDARD_LIBRARY = (f"{sysconfig.get_path('stdlib')}{os.sep}", "<frozen")
TICK, TAIL = 0.1, 4096
"""Seconds between two looks at a process; bytes that are kept of what it has printed."""
ROUNDS, PATIENCE = 5, 1.0
"""How often to look for processes to kill, as those may start others meanwhile; seconds to wait for their end."""


def start(module: str, *, variables: Mapping[str, str] | None = None, **options: Any) -> subprocess.Popen[Any]:
    """Start `python -m module` in a process session of its own.

    Args:
        module: The module, whose first argument is a token that it need not read.
        variables: Environment variables, in addition to those of this process.
        **options: Those of `subprocess.Popen`.
    """
    token = f"{_namespace()}-{os.getpid()}-{start_ticks(os.getpid())}-{secrets.token_hex(8)}"
    known = [*os.environ.get(VARIABLE, "").split(), token]
    return subprocess.Popen(
        [sys.executable, "-P", "-m", module, token],
        start_new_session=True,
        env={**os.environ, **(variables or {}), VARIABLE: " ".join(known)},
        **options,
    )


class TooSlow(PacError):
    """Foreign code did not return within its limit."""

    title = "Too slow"


class Answer(NamedTuple):
    """What a process has answered.

    Attributes:
        data: What it wrote; maybe only a part, if it failed.
        code: Its exit code, negative for a signal.
        output: The end of what it printed.
    """

    data: bytes
    code: int
    output: str

    @property
    def ending(self) -> str:
        """How it ended, such as `was killed by SIGABRT`."""
        if self.code < 0:
            return f"was killed by {signal.Signals(-self.code).name}"
        return f"ended with code {self.code}"


def ask(
    module: str,
    request: Mapping[str, Any],
    *,
    limit: float,
    variables: Mapping[str, str] | None = None,
    on_wait: Callable[[float], object] = lambda _seconds: None,
) -> Answer:
    """Have `python -m module` answer a request, which it gets by `receive`, and end it with all that it has started.

    Args:
        request: JSON data.
        limit: Seconds for the answer.
        variables: Further environment variables.
        on_wait: Called about once per second with the seconds so far. It may raise an exception.

    Raises:
        TooSlow: There was no answer within the limit.
    """
    begun = said = time.monotonic()
    with tempfile.TemporaryFile() as output:
        process = start(module, variables=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=output)
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            with suppress(BrokenPipeError), process.stdin:
                process.stdin.write(json.dumps({"parent": os.getpid(), "path": sys.path, **request}).encode())
            poll, parts = select.poll(), [b""]
            poll.register(process.stdout)
            # A process that it has started may hold the pipe open, so the end of the process counts, too.
            while poll.poll(1000 * TICK) or process.poll() is None:
                if poll.poll(0):
                    parts.append(os.read(process.stdout.fileno(), 1 << 20))
                    if not parts[-1]:
                        break
                now = time.monotonic()
                if now - begun > limit:
                    raise TooSlow(f"not done within {limit:g} s{_where(process, output)}")
                if now - said >= 1:
                    said = now
                    on_wait(now - begun)
            process.poll()
        finally:
            ended = process.poll()
            kill(process)
            process.stdout.close()
        output.seek(max(0, output.seek(0, os.SEEK_END) - TAIL))
        printed = output.read().decode(errors="replace").strip()
    return Answer(b"".join(parts), process.returncode if ended is None else ended, printed)


def receive() -> tuple[dict[str, Any], BinaryIO]:
    """Return the request that this process answers, and where to write the answer; nothing else reaches its parent.

    What foreign code prints goes to stderr, and it reads nothing from stdin. This process dies with its parent.
    """
    request = json.loads(sys.stdin.buffer.read())
    die_with_parent(request["parent"])
    faulthandler.register(signal.SIGUSR1, all_threads=False)
    sys.path[:] = request["path"]
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    return request, answers


def _where(process: subprocess.Popen[Any], output: BinaryIO) -> str:
    """Return in which function a process is, as far as it says so at once."""
    process.send_signal(signal.SIGUSR1)
    time.sleep(TICK)
    output.seek(0)
    found = re.findall(r'^  File "(.*)", line (\d+) in (.*)$', output.read().decode(errors="replace"), re.MULTILINE)
    own = [frame for frame in found if not frame[0].startswith(STANDARD_LIBRARY)]
    return "; it is in {2}, {0}:{1}".format(*(own or found)[0]) if found else ""


def die_with_parent(parent: int) -> None:
    """Have this process killed when its parent dies; exit if the parent is dead already."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def kill(*processes: subprocess.Popen[Any]) -> None:
    """Kill processes that have not ended, and every process that they started, and reap them.

    A process that left the process group (a daemon) is found by the variable `PAC_WORKER` of its environment. Only one
    that has also cleared its environment is missed.
    """
    for process in processes:
        with suppress(ProcessLookupError, PermissionError):  # macOS raises the latter for a group of dead processes
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    tokens = {_token(process) for process in processes}
    _kill_all(lambda known: bool(tokens & known))


def kill_orphans() -> None:
    """Kill what processes that were killed have left behind: each process that has a token of theirs.

    The workers of a killed process die with it, but not the programs that these had started, such as game engines.
    """
    own = set(os.environ.get(VARIABLE, "").split())
    _kill_all(lambda known: any(map(_is_orphaned, known - own)))


def _is_orphaned(token: str) -> bool:
    """Return whether the process that made a token is known to have ended."""
    namespace, pid, started, *_ = (*token.split("-"), "", "", "")
    if not (pid.isdigit() and started.isdigit()) or namespace != _namespace():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    now = start_ticks(int(pid))  # None if it cannot be read
    return now is not None and now != int(started)


@cache
def _namespace() -> str:
    """Return what tells process ids of this container from those of others."""
    with suppress(OSError):
        return str(Path("/proc/self/ns/pid").stat().st_ino)
    return "0"


def _kill_all(condemned: Callable[[set[str]], bool]) -> None:
    """Kill the processes whose tokens are condemned, until no more are found."""
    import psutil  # a watched script starts no such processes, and may not have it

    for _ in range(ROUNDS):
        found = [other for other in psutil.process_iter() if condemned(_tokens_of(other))]
        for other in found:
            with suppress(psutil.Error):
                other.kill()
        if not found:
            return
        psutil.wait_procs(found, PATIENCE)


def _token(process: subprocess.Popen[Any]) -> str:
    """Return what identifies the processes that a process started, the last argument of its command line."""
    return str(cast("list[str]", process.args)[-1])


def _tokens_of(process: psutil.Process) -> set[str]:
    import psutil

    try:
        return set(process.environ().get(VARIABLE, "").split())
    except (psutil.Error, OSError):
        return set()


def start_ticks(pid: int) -> int | None:
    """Return when process `pid` started, as a number independent of the system clock, or None if it has ended.

    A zombie has ended.
    """
    if sys.platform == "linux":  # psutil adds the time of the boot, which moves with the clock
        with suppress(OSError):
            state, *facts = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
            return None if state in ENDED else int(facts[18])
        return None
    import psutil

    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else int(process.create_time() * 1000)
    except psutil.Error:
        return None
