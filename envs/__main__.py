"""Compiles the kernels of native tasks into the cache on disk: `python -m pac.envs [TASK ...]`, by default all."""

from __future__ import annotations

import sys

from .registry import families, find


def main(specs: list[str]) -> int:
    """Compile the kernels of the given tasks."""
    for spec in specs or list(families()):
        task = find(spec)
        if task.kernels:
            sys.stdout.write(f"compiling {task.title}, once\n")
            sys.stdout.flush()
            task.prepare()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
