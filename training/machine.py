"""The machine and the versions of packages, as a run's metadata and reports of benchmarks say."""

from __future__ import annotations

import contextlib
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ..backends import usable_cores

PACKAGES = ("torch", "numpy", "gymnasium", "numba")


def machine_facts() -> dict[str, Any]:
    """Return the processor, the cores that may be used, the system, and versions."""
    return {
        "cpu": cpu(),
        "cores": usable_cores(),
        "system": platform.platform(),
        "python": platform.python_version(),
        **{name: version_of(name) for name in PACKAGES},
    }


def version_of(name: str) -> str | None:
    """Return the version of a package; None if it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def cpu() -> str:
    """Return the name of the processor."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
