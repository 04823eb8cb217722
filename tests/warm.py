"""Starts Python processes of the product without importing PyTorch, Numba and the rest each time.

A warm process has imported them once. Asked to start a process, it makes a copy of itself with `clone(CLONE_PARENT)`:
the copy is a child of the process that asked, with its own PID, exit code, process group, descriptors, directory and
environment, as if it had been executed. A copy has a warm process of its own, so that what it starts is warm, too.

This replaces how `subprocess` executes a child, where the command is one of `MODULES` of this interpreter and nothing
about it depends on how an interpreter starts. Everything else is executed as always. `cold` switches it off.
"""

from __future__ import annotations

import atexit
import ctypes
import fcntl
import functools
import gc
import json
import os
import pkgutil
import re
import resource
import runpy
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

MODULES = {
    "pac.tui",
    "pac.tui.cli.ranks",
    "pac.training.session.host",
    "pac.training.playing",
    "pac.backends.workers.worker",
    "pac.envs.gym.probing",
}
ALONE = {"pac.backends.workers.worker", "pac.training.playing", "pac.envs.gym.probing"}
"""Those that start no processes of the product, and need no warm process of their own."""
LIBRARIES = (
    *("torch", "numba", "gymnasium", "psutil", "pydantic", "yaml", "safetensors.torch", "cyclopts", "rich.console"),
    *("aiohttp", "textual.app", "textual.widgets", "numba.np.ufunc.omppool", "cyclopts.validators"),
)
PACKAGES = ("pac.envs", "pac.backends", "pac.training")
NOT_PRELOADED = re.compile(r".*(__main__|\.bench|\.watching|\.ray_backend|cuda|\.device\.gpu|tensorboard)")
KERNELS = ("pac.envs.drmario.driver:GAME.compile_all",)
HANDLED = {"PYTHONPATH", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"}
AT_START = ("PYTHON", "LC_", "LANG", "TEXTUAL", "PAC_WATCH", "LD_", "NUMBA_DISABLE", "NUMBA_CACHE", "NUMBA_THREADING")
"""Beginnings of environment variables that are read when an interpreter starts or a library is imported."""
THREADS = "OMP_NUM_THREADS"
ROOM = "PAC_TEST_ROOM"
CLONE_PARENT, CLONE_CHILD_SETTID, SYS_CLONE = 0x8000, 0x1000000, {"x86_64": 56, "aarch64": 220}
ABOVE = 100  # descriptors of this module, out of the way of those that a process is given

_lock = threading.Lock()  # one request at a time, whichever thread starts a process
_execute = subprocess.Popen._execute_child  # type: ignore[attr-defined]
_connection: socket.socket | None = None
_process: subprocess.Popen[bytes] | None = None
"""The warm process, where this one has started it by itself."""
_start: Mapping[str, str] = {}
"""The environment variables with which the warm process was started."""
_added: dict[str, str] = {}
"""The environment variables that imports have set."""


def install() -> None:
    """Have `subprocess` use a warm process, which starts when it is first needed, where this is possible."""
    if sys.platform == "linux" and os.uname().machine in SYS_CLONE:
        _use(None, os.environ.copy())


def uninstall() -> None:
    """Have `subprocess` execute all processes again, and end the warm one."""
    global _connection, _process  # noqa: PLW0603 - a process has one
    subprocess.Popen._execute_child = _execute  # type: ignore[attr-defined]
    if _connection is not None and _process is not None:
        _connection.close()
        _process.wait(60)
        _connection = _process = None


@contextmanager
def cold() -> Iterator[None]:
    """Execute every process as always in this block."""
    kept = subprocess.Popen._execute_child  # type: ignore[attr-defined]
    subprocess.Popen._execute_child = _execute  # type: ignore[attr-defined]
    try:
        yield
    finally:
        subprocess.Popen._execute_child = kept  # type: ignore[attr-defined]


def _use(connection: socket.socket | None, environ: Mapping[str, str]) -> None:
    global _connection, _start
    _connection, _start = connection, environ
    subprocess.Popen._execute_child = _execute_child  # type: ignore[attr-defined]


def _connected() -> socket.socket:
    """Return the connection to the warm process, which is started if need be."""
    global _connection, _process  # noqa: PLW0603 - a process has one
    if _connection is None:
        _connection, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        here = str(Path(__file__).parent)
        code = f"import sys; sys.path.insert(0, {here!r}); import warm; del sys.path[0]; warm.main({theirs.fileno()})"
        once = {"OPENBLAS_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive", ROOM: "x" * 65536}
        _process = subprocess.Popen(
            [sys.executable, "-P", "-c", code, "x" * 8192],
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            env={**_start, **once},
            start_new_session=True,
        )
        theirs.close()
    return _connection


def _execute_child(process: Any, args: Any, executable: Any, preexec_fn: Any, close_fds: Any, *rest: Any) -> None:
    """Do what `Popen._execute_child` does, by a request to the warm process if it can."""
    pass_fds, cwd, env, _, _, shell, *pipes, _, gid, gids, uid, umask, session, group = rest
    environ = dict(os.environ if env is None else env)
    usual = not shell and preexec_fn is None and {gid, gids, uid} == {None} and umask == -1 and group == -1
    command = _command(args) if usual and executable in {None, args[0]} else None
    if command is None or not _starts_alike(environ) or (cwd is not None and not Path(cwd).is_dir()):
        _execute(process, args, executable, preexec_fn, close_fds, *rest)
        return
    reads, writes, errors = pipes[0], pipes[3], pipes[5]
    inherited = dict(zip((0, 1, 2), (reads, writes, errors), strict=True))
    given = {number: number if fd == -1 else fd for number, fd in inherited.items()}
    targets = {**given, **{fd: fd for fd in pass_fds}}
    request = {
        **command,
        "command": [os.fspath(part) for part in args],
        "targets": list(targets),
        "environ": environ,
        "cwd": os.fspath(cwd or Path.cwd()),
        "session": bool(session),
        "ignored": [int(number) for number in signal.valid_signals() if signal.getsignal(number) is signal.SIG_IGN],
        "cores": list(os.sched_getaffinity(0)),
        "limits": {name: resource.getrlimit(getattr(resource, name)) for name in dir(resource) if "RLIMIT_" in name},
    }
    with _lock:
        connection = _connected()
        socket.send_fds(connection, [json.dumps(request).encode()], list(targets.values()))
        process.pid = int(connection.recv(64))
    process._child_created = True
    process._close_pipe_fds(*pipes[:6])


def _command(args: Any) -> dict[str, Any] | None:
    """Return module and arguments of a command that may start warm, else None."""
    if isinstance(args, str | bytes | os.PathLike) or args[0] != sys.executable:
        return None
    flags, parts = {"-P": False, "-u": False}, list(args[1:])
    while parts and parts[0] in flags:
        flags[parts.pop(0)] = True
    if parts[:1] != ["-m"] or parts[1] not in MODULES:
        return None
    return {"module": parts[1], "arguments": list(map(str, parts[2:])), "safe": flags["-P"], "unbuffered": flags["-u"]}


def _starts_alike(environ: Mapping[str, str]) -> bool:
    """Return whether an interpreter would start with these variables as the warm process did."""
    names = {name for name in {*environ, *_start} if name.startswith(AT_START)} - HANDLED
    path = environ.get("PYTHONPATH", "").split(os.pathsep)
    hooked = any(Path(folder, "sitecustomize.py").exists() for folder in path if folder)
    return not hooked and all(environ.get(name) == _start.get(name) for name in names)


# What follows runs in the warm process.


def main(descriptor: int) -> None:
    """Import everything, then serve requests until the process that asks has ended; return in each copy at its end."""
    start = dict(os.environ)
    del start[ROOM]
    os.environ.clear()  # the C library's copies move to the heap, and the room can be written
    os.environ.update(start)
    _preload()
    assert len(os.listdir("/proc/self/task")) == 1, "a warm process must have one thread"  # noqa: PTH208
    _added.update({name: value for name, value in os.environ.items() if name not in start})
    gc.collect()
    gc.freeze()
    request = _serve(socket.socket(fileno=_moved(descriptor)))
    if request["module"] not in ALONE:
        request = _serve_own(request)
    _become(request)
    main_names = vars(sys.modules["__main__"])
    for name in [name for name in main_names if not name.startswith("__")]:
        del main_names[name]
    sys.modules.pop(request["module"], None)  # it runs as `__main__`
    code: Any = None
    try:
        runpy._run_module_as_main(request["module"])  # type: ignore[attr-defined]
    except SystemExit as ended:
        code = ended.code
    _exit(code)


def _exit(code: Any) -> None:
    """End this process as an interpreter does, but do not take it apart, which takes a tenth of a second."""
    if isinstance(code, str):
        sys.stderr.write(f"{code}\n")
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code or 0)


def _preload() -> None:
    """Import the libraries and the product without its app, and load the kernels that many tests use."""
    for name in LIBRARIES:
        import_module(name)
    for package in map(import_module, PACKAGES):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not NOT_PRELOADED.match(found.name):
                import_module(found.name)
    import_module("pac.tui.cli.commands")
    from pac.envs.task import load

    for name in KERNELS:
        load(name)()
    for kept in gc.get_objects():  # what is installed may differ from one process to the next
        if isinstance(kept, functools._lru_cache_wrapper) and kept.__module__.startswith("pac."):
            kept.cache_clear()


def _moved(descriptor: int) -> int:
    """Return the same open file under a number that no process is given one."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, ABOVE)
    os.close(descriptor)
    return moved


def _serve(connection: socket.socket) -> dict[str, Any]:
    """Make a copy of this process for each request; return the request in the copy."""
    while True:
        data, descriptors, *_ = socket.recv_fds(connection, 1 << 20, 64)
        if not data:
            os._exit(0)
        pid = _clone()
        if pid:
            for descriptor in descriptors:
                os.close(descriptor)
            continue
        request = json.loads(data)
        if request["session"]:
            os.setsid()
        connection.send(str(os.getpid()).encode())  # not before others can signal its process group
        connection.close()
        return {**request, "descriptors": [_moved(descriptor) for descriptor in descriptors]}


def _serve_own(request: dict[str, Any]) -> dict[str, Any]:
    """Fork a warm process for this one; return the request that this one, or a copy of that, has."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork():
        theirs.close()
        _use(socket.socket(fileno=_moved(ours.detach())), request["environ"])
        return request
    ours.close()
    for descriptor in request["descriptors"]:
        os.close(descriptor)
    os.setsid()
    inner = _serve(socket.socket(fileno=_moved(theirs.detach())))
    return inner if inner["module"] in ALONE else _serve_own(inner)


def _clone() -> int:
    """Fork a child of this process's parent; return its PID, and 0 in the child."""
    api, libc = ctypes.pythonapi, ctypes.PyDLL(None)
    libc.pthread_self.restype = ctypes.c_void_p
    here = _thread_id_address(libc.pthread_self())
    api.PyOS_BeforeFork()
    flags = ctypes.c_long(CLONE_PARENT | CLONE_CHILD_SETTID | signal.SIGCHLD)
    order = (None, None, here, None) if os.uname().machine == "x86_64" else (None, None, None, here)
    pid = int(libc.syscall(SYS_CLONE[os.uname().machine], flags, *map(ctypes.c_void_p, order)))
    api.PyOS_AfterFork_Parent() if pid else api.PyOS_AfterFork_Child()
    assert pid >= 0, "no process could be started"
    return pid


def _thread_id_address(thread: int) -> int:
    """Return where the C library keeps the ID of this thread, as `fork` would write it there in the child."""
    words = (ctypes.c_int * 1024).from_address(thread)
    return thread + 4 * list(words).index(threading.get_native_id())


def _become(request: Mapping[str, Any]) -> None:
    """Give this process what a process of its own would have been started with."""
    threading.main_thread()._set_native_id()  # type: ignore[attr-defined]
    for target, descriptor in zip(request["targets"], request["descriptors"], strict=True):
        os.dup2(descriptor, target)
        os.close(descriptor)
    os.chdir(request["cwd"])
    os.sched_setaffinity(0, request["cores"])
    for name, limit in request["limits"].items():
        with suppress(OSError, ValueError):
            resource.setrlimit(getattr(resource, name), limit)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in request["ignored"]:
        signal.signal(number, signal.SIG_IGN)
    environ: dict[str, str] = request["environ"]
    os.environ.clear()
    os.environ.update({**_added, **environ})
    _show(request["command"], environ)
    _set_threads(environ)
    path = [folder for folder in environ.get("PYTHONPATH", "").split(os.pathsep) if folder]
    sys.path[:0] = path if request["safe"] else [request["cwd"], *path]
    sys.dont_write_bytecode = bool(environ.get("PYTHONDONTWRITEBYTECODE"))
    sys.orig_argv[:] = request["command"]
    sys.argv[:] = [sys.argv[0], *request["arguments"]]
    unbuffered = request["unbuffered"] or bool(environ.get("PYTHONUNBUFFERED"))
    vars(sys).update(dict.fromkeys(("stdin", "__stdin__"), open(0, closefd=False)))  # noqa: SIM115
    for number, name, errors in ((1, "stdout", "strict"), (2, "stderr", "backslashreplace")):
        lines = unbuffered or os.isatty(number) or name == "stderr"
        stream = open(number, "w", buffering=-1, errors=errors, closefd=False)  # noqa: SIM115
        stream.reconfigure(line_buffering=lines, write_through=unbuffered)
        vars(sys).update(dict.fromkeys((name, f"__{name}__"), stream))
    import numpy as np

    np.random.seed()  # noqa: NPY002 - the state of a process that imports NumPy
    gc.enable()


def _set_threads(environ: Mapping[str, str]) -> None:
    """Let Numba and PyTorch use as many threads as these variables say, which they read when they are imported."""
    import numba
    import torch

    numba.config.reload_config()
    given = environ.get(THREADS, "")
    count = int(given) if given.isdigit() else len(os.sched_getaffinity(0))
    if count != torch.get_num_threads():
        torch.set_num_threads(count)


def _show(command: Iterable[str], environ: Mapping[str, str]) -> None:
    """Write the command line and the environment to where /proc shows them from."""
    facts = list(map(int, Path("/proc/self/stat").read_text().rpartition(")")[2].split()[1:]))
    variables = [f"{name}={value}" for name, value in environ.items()]
    for parts, (begin, end) in ((command, facts[44:46]), (variables, facts[46:48])):
        text = b"".join(os.fsencode(part) + b"\0" for part in parts)
        if begin:
            ctypes.memmove(begin, text[: end - begin - 1].ljust(end - begin, b"\0"), end - begin)
