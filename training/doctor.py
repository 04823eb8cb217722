"""Checks the machine: what a session will find, and what to do about what it will not."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import sysconfig
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil

from ..backends import usable_cores
from ..backends.memory import available_memory
from ..backends.segment import directories, human_bytes, runtime_directory
from ..envs import PacError
from .session.gpu import Gpu

SMALL_SHM = 64 << 20
LITTLE_MEMORY = 2 << 30
CACHE_VARIABLE = "NUMBA_CACHE_DIR"


@dataclass(frozen=True)
class Finding:
    """One thing that was checked.

    Attributes:
        name: What was checked.
        ok: Whether it is as it should be.
        value: What was found.
        advice: What to do, if it is not.
    """

    name: str
    ok: bool
    value: str
    advice: str = ""


def examine() -> list[Finding]:
    """Return what was found, in the order in which it is worth reading. Nothing heavy is imported."""
    checks: tuple[Callable[[], Iterator[Finding]], ...] = (
        _software,
        _cores,
        _memory,
        _shared_memory,
        _gpu,
        _kernel_cache,
        _terminal,
    )
    return [finding for check in checks for finding in check()]


def _software() -> Iterator[Finding]:
    packages = ", ".join(f"{name} {_version(name)}" for name in ("pac-tui", "torch", "numba", "gymnasium", "textual"))
    yield Finding("Python", sys.version_info >= (3, 11), f"{platform.python_version()} on {platform.system()}")
    missing = "not installed" in packages
    yield Finding("packages", not missing, packages, "install it again: make setup" if missing else "")


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _cores() -> Iterator[Finding]:
    usable, total = usable_cores(), psutil.cpu_count() or 1
    limited = f" of {total} (affinity or control group)" if usable < total else ""
    advice = "environments and trainer share one core: expect no speedup" if usable == 1 else ""
    yield Finding("cores", usable > 1, f"{usable}{limited}", advice)


def _memory() -> Iterator[Finding]:
    free, total = available_memory(), psutil.virtual_memory().total
    enough = free >= LITTLE_MEMORY
    value = f"{human_bytes(free)} of {human_bytes(total)} free"
    yield Finding("memory", enough, value, "" if enough else "use fewer environments, or close other programs")


def _shared_memory() -> Iterator[Finding]:
    try:
        path = runtime_directory()
        usage = shutil.disk_usage(path)
    except (PacError, OSError) as error:
        yield Finding("shared memory", False, str(error), "set PAC_RUNTIME_DIR to a directory that you may write to")
        return
    enough = usage.free > SMALL_SHM
    advice = "start the container with --shm-size=1g, or set PAC_RUNTIME_DIR to a larger file system"
    value = f"{human_bytes(usage.free)} of {human_bytes(usage.total)} free at {path}"
    yield Finding("shared memory", enough, value, "" if enough else advice)
    if dead := sum(not alive for _, _, alive in directories()):
        yield Finding("left behind", True, f"{dead} directories of dead processes; the next session removes them")


def _gpu() -> Iterator[Finding]:
    cpu_only = "+cpu" in _version("torch")
    names = Gpu().all()
    if not names:
        yield Finding("GPU", True, "no GPU: the policy runs on the CPU")
        return
    advice = "this PyTorch is a build without CUDA: install one with, from pytorch.org" if cpu_only else ""
    yield Finding("GPU", not cpu_only, ", ".join(names), advice)


def _kernel_cache() -> Iterator[Finding]:
    """Numba keeps compiled kernels beside the sources, or in a folder of its own where it may not write there."""
    beside = Path(__file__).resolve().parent.parent / "envs"
    if variable := os.environ.get(CACHE_VARIABLE):
        path, ok = Path(variable), os.access(variable, os.W_OK)
    else:
        path, ok = beside, os.access(beside, os.W_OK) or os.access(Path.home(), os.W_OK)
    kernels = len(list(beside.glob("**/__pycache__/*.nbc")))
    known = f"{kernels} compiled kernels" if kernels else "nothing compiled yet: the first start takes longer"
    tag = sysconfig.get_config_var("SOABI") or platform.machine()
    advice = (
        "" if ok else f"kernels are compiled at every start: set {CACHE_VARIABLE} to a directory that you may write to"
    )
    yield Finding("kernel cache", ok, f"{path} ({known}, {tag})", advice)


def _terminal() -> Iterator[Finding]:
    terminal = sys.stdout.isatty() and sys.stdin.isatty()
    size = shutil.get_terminal_size()
    large = size.columns >= 80 and size.lines >= 24
    name = os.environ.get("TERM", "")
    if not terminal:
        yield Finding("terminal", False, "stdin or stdout is none", "the app needs one; --headless does not")
    else:
        advice = "" if large else "boards are drawn small: make the window at least 80x24"
        yield Finding("terminal", large, f"{name or 'TERM is not set'}, {size.columns}x{size.lines}", advice)
    yield _colors(name)
    encoding = (sys.stdout.encoding or "").lower()
    unicode = encoding.replace("-", "") == "utf8"
    yield Finding("encoding", unicode, encoding or "none", "" if unicode else "set LANG or LC_ALL to a UTF-8 locale")


def _colors(name: str) -> Finding:
    if "NO_COLOR" in os.environ:
        return Finding("colours", True, "none, because NO_COLOR is set")
    if os.environ.get("COLORTERM", "").lower() in {"truecolor", "24bit"}:
        return Finding("colours", True, "16 million")
    if "256" in name:
        advice = "if your terminal has true colours, set COLORTERM=truecolor (tmux and ssh do not pass it on)"
        return Finding("colours", True, "256", advice)
    return Finding("colours", False, "16", "set TERM=xterm-256color or COLORTERM=truecolor if your terminal has more")
