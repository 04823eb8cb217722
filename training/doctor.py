"""Checks the machine for a session, with advice for each problem."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil

from ..backends import usable_cores
from ..backends.core.memory import available_memory
from ..backends.system.segment import directories, human_bytes, runtime_directory
from ..envs import PacError, opengl
from .session.gpu import Gpu

SMALL_SHM = 64 << 20
LITTLE_MEMORY = 2 << 30
TMUX_LIMIT = 2.0
"""Seconds in which tmux must answer."""
CACHE_VARIABLE = "NUMBA_CACHE_DIR"


@dataclass(frozen=True)
class MachineCheck:
    """The result of one check.

    Attributes:
        ok: Whether it passed.
        value: What was found.
        advice: What to do if it did not pass.
    """

    name: str
    ok: bool
    value: str
    advice: str = ""


def examine() -> list[MachineCheck]:
    """Return the findings in display order, without importing torch or other large packages."""
    checks: tuple[Callable[[], Iterator[MachineCheck]], ...] = (
        _software,
        _cores,
        _memory,
        _shared_memory,
        _gpu,
        _opengl,
        _kernel_cache,
        _terminal,
    )
    return [finding for check in checks for finding in check()]


def _software() -> Iterator[MachineCheck]:
    packages = ", ".join(f"{name} {_version(name)}" for name in ("pac-tui", "torch", "numba", "gymnasium", "textual"))
    yield MachineCheck("Python", sys.version_info >= (3, 11), f"{platform.python_version()} on {platform.system()}")
    missing = "not installed" in packages
    yield MachineCheck("packages", not missing, packages, "reinstall with make setup" if missing else "")


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _cores() -> Iterator[MachineCheck]:
    usable, total = usable_cores(), psutil.cpu_count() or 1
    limited = f" of {total} (affinity or control group)" if usable < total else ""
    advice = "environments and trainer share one core, so expect no speedup" if usable == 1 else ""
    yield MachineCheck("cores", usable > 1, f"{usable}{limited}", advice)


def _memory() -> Iterator[MachineCheck]:
    free, total = available_memory(), psutil.virtual_memory().total
    enough = free >= LITTLE_MEMORY
    value = f"{human_bytes(free)} of {human_bytes(total)} free"
    yield MachineCheck("memory", enough, value, "" if enough else "use fewer environments, or close other programs")


def _shared_memory() -> Iterator[MachineCheck]:
    try:
        path = runtime_directory()
        usage = shutil.disk_usage(path)
    except (PacError, OSError) as error:
        yield MachineCheck("shared memory", False, str(error), "set PAC_RUNTIME_DIR to a writable directory")
        return
    enough = usage.free > SMALL_SHM
    advice = "start the container with --shm-size=1g, or set PAC_RUNTIME_DIR to a larger file system"
    value = f"{human_bytes(usage.free)} of {human_bytes(usage.total)} free at {path}"
    yield MachineCheck("shared memory", enough, value, "" if enough else advice)
    if dead := sum(not alive for _, _, alive in directories()):
        yield MachineCheck("leftovers", True, f"directories of dead processes: {dead}; the next session removes them")


def _gpu() -> Iterator[MachineCheck]:
    cpu_only = "+cpu" in _version("torch")
    names = Gpu().all()
    if not names:
        yield MachineCheck("GPU", True, "no GPU found; the policy runs on the CPU")
        return
    advice = "this PyTorch has no CUDA support; install a build with CUDA from pytorch.org" if cpu_only else ""
    yield MachineCheck("GPU", not cpu_only, ", ".join(names), advice)


def _opengl() -> Iterator[MachineCheck]:
    """How environments of MuJoCo are drawn; nothing if it is not installed."""
    if not opengl.installed():
        return
    found, chosen = opengl.working_opengl(), os.environ.get(opengl.GL)
    if found.backend:
        why = "" if chosen or found.backend == opengl.WINDOW else ", as no display works"
        drawn = f" by {found.renderer}" if found.renderer else ""
        yield MachineCheck("OpenGL", True, f"MuJoCo draws with {opengl.GL}={found.backend}{drawn}{why}")
        return
    tried = "; ".join(f"{name}: {reason}" for name, reason in found.failures.items())
    advice = f"{opengl.INSTALL}, or start without {opengl.GL}" if chosen else opengl.INSTALL
    yield MachineCheck("OpenGL", False, f"MuJoCo cannot draw ({tried})", f"{advice}; training needs no pictures")


def _kernel_cache() -> Iterator[MachineCheck]:
    """Numba caches compiled kernels beside the sources, or in the home folder if those are not writable."""
    beside = Path(__file__).resolve().parent.parent / "envs"
    if variable := os.environ.get(CACHE_VARIABLE):
        path, ok = Path(variable), os.access(variable, os.W_OK)
    else:
        path, ok = beside, os.access(beside, os.W_OK) or os.access(Path.home(), os.W_OK)
    kernels = len(list(beside.glob("**/__pycache__/*.nbc")))
    known = f"{kernels} compiled kernels" if kernels else "nothing compiled yet, so the first start takes longer"
    tag = sysconfig.get_config_var("SOABI") or platform.machine()
    advice = "" if ok else f"kernels are compiled at every start; set {CACHE_VARIABLE} to a writable directory"
    yield MachineCheck("kernel cache", ok, f"{path} ({known}, {tag})", advice)


def _terminal() -> Iterator[MachineCheck]:
    terminal = sys.stdout.isatty() and sys.stdin.isatty()
    size = shutil.get_terminal_size()
    large = size.columns >= 80 and size.lines >= 24
    name = os.environ.get("TERM", "")
    if not terminal:
        yield MachineCheck(
            "terminal", False, "stdin or stdout is not a terminal", "the app needs a terminal; --headless does not"
        )
    else:
        advice = "" if large else "make the window at least 80x24, or boards are drawn small"
        yield MachineCheck("terminal", large, f"{name or 'TERM is not set'}, {size.columns}x{size.lines}", advice)
    yield _colors(name)
    encoding = (sys.stdout.encoding or "").lower()
    unicode = encoding.replace("-", "") == "utf8"
    yield MachineCheck(
        "encoding", unicode, encoding or "unknown", "" if unicode else "set LANG or LC_ALL to a UTF-8 locale"
    )


def in_tmux(environment: Mapping[str, str]) -> bool:
    """Return whether the terminal is tmux."""
    name = environment.get("TERM", "")
    inside = "TMUX" in environment and "STY" not in environment  # screen may be within tmux, or tmux within screen
    return name.startswith("tmux") or (inside and name.startswith("screen"))


def tmux_passes_on(environment: Mapping[str, str]) -> bool:
    """Return whether tmux passes all colors on to its terminal; false if it cannot be asked."""
    command = ("tmux", "display-message", "-p", "#{client_termfeatures}")
    if "TMUX" not in environment:  # it runs on another machine
        return False
    try:
        found = subprocess.run(command, capture_output=True, text=True, timeout=TMUX_LIMIT, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return False
    return "RGB" in found.strip().split(",")


def _colors(name: str) -> MachineCheck:
    if "NO_COLOR" in os.environ:
        return MachineCheck("colors", True, "off, because NO_COLOR is set")
    if os.environ.get("COLORTERM", "").lower() in {"truecolor", "24bit"}:
        return MachineCheck("colors", True, "16 million")
    if in_tmux(os.environ):
        if tmux_passes_on(os.environ):
            return MachineCheck("colors", True, "16 million, through tmux")
        advice = (
            "if the terminal around tmux supports true color, add `set -ga terminal-features ',*:RGB'` to ~/.tmux.conf "
            "(before tmux 3.2: `set -ga terminal-overrides ',*:Tc'`, and COLORTERM=truecolor), and attach again"
        )
        return MachineCheck("colors", True, "256", advice)
    if "256" in name:
        advice = "if your terminal supports true color, set COLORTERM=truecolor (ssh does not pass it on)"
        return MachineCheck("colors", True, "256", advice)
    return MachineCheck(
        "colors", False, "16", "if your terminal supports more, set TERM=xterm-256color or COLORTERM=truecolor"
    )
