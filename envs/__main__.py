"""Compiles the kernels of native tasks into the cache on disk: `python -m pac.envs [TASK ...]`, by default all."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from .registry import families, find


def compile_apart(spec: str) -> int:
    """Compile the kernels of a task in a process of its own; return its exit code."""
    return subprocess.run([sys.executable, "-P", "-m", "pac.envs", spec], check=False).returncode


def main(specs: list[str]) -> int:
    """Compile the kernels of the given tasks, those of several side by side."""
    if len(specs) != 1:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return max(pool.map(compile_apart, specs or families()))
    task = find(specs[0])
    if task.kernels:
        sys.stdout.write(f"compiling {task.title}, once\n")
        sys.stdout.flush()
        task.prepare()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
