"""The control groups of this process, which limit a container's resources."""

from __future__ import annotations

from pathlib import Path

ROOT = Path("/sys/fs/cgroup")


def folders(controller: str) -> list[Path]:
    """Return the folders of this process's groups with a controller, of version 1 or 2, innermost first."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "" or controller in controllers.split(","):
            root = ROOT / controller if controllers else ROOT
            inner = root / path.lstrip("/")
            found += [inner, *(parent for parent in inner.parents if parent == root or root in parent.parents)]
    return found
