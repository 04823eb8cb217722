"""Compile the kernels of native tasks into the disk's cache: `python -m pac.envs [TASK ...]`, all tasks by default."""

from __future__ import annotations

import sys

from .registry import families, find


def main(specs: list[str]) -> int:
    """Compile the kernels of the tasks named."""
    for spec in specs or list(families()):
        task = find(spec)
        if task.kernels:
            sys.stdout.write(f"compiling {task.title}, once\n")
            sys.stdout.flush()
            task.prepare()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
