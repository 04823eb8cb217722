"""Samples processes that cannot be asked, with py-spy: it reads their memory from outside, and stops none.

The system permits that for the user's own processes, or only to those that started them (`kernel.yama.ptrace_scope`).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from .kinds import ENVIRONMENT, IDLE, OTHER, STEPS, kind_of, sign_of_name, waits_in

RATE = 100
"""Samples per second."""
MOST_PROCESSES = 8
"""Processes that are sampled at a time, the first ones; each needs a py-spy of its own."""
START = 10.0
"""Seconds that py-spy may take besides, to find the interpreter in a process."""
NEEDS = "py-spy can: pip install 'pac-tui[profile]'"
"""What to do if py-spy is not installed."""
FRAME = re.compile(r"(.*?) \((.*?)(?::(\d+))?\)")


@cache
def py_spy() -> str | None:
    """Return the path of py-spy, next to this Python or on the path."""
    return shutil.which("py-spy", path=os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", ""))))


def spied(pids: Sequence[int], seconds: float) -> list[dict[str, Any]]:
    """Sample processes that step environments; return answers as those of a `Sampler`, or with a `text`: why not."""
    program = py_spy()
    if program is None:
        return []
    duration = max(1, round(seconds))
    with tempfile.TemporaryDirectory(prefix="pac-spy-") as folder:
        options = ("--nonblocking", "--full-filenames", "--format", "raw", "--rate", str(RATE))
        started = []
        for number, pid in enumerate(pids[:MOST_PROCESSES], 1):
            file = Path(folder, str(pid))
            command = (program, "record", *options, "--duration", str(duration), "--pid", str(pid), "--output", file)
            spy = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            started.append((f"child {number}", pid, file, spy))
        return [_answer(name, pid, file, spy, duration) for name, pid, file, spy in started]


def _answer(name: str, pid: int, file: Path, spy: subprocess.Popen[bytes], duration: int) -> dict[str, Any]:
    try:
        said = spy.communicate(timeout=duration + START)[1]
    except subprocess.TimeoutExpired:
        spy.kill()
        said = spy.communicate()[1]
    with suppress(OSError):
        if not spy.returncode:
            lines = file.read_text(errors="replace").splitlines()
            return {"process": name, "pid": pid, "seconds": duration, **counted(lines, duration * RATE)}
    why = next(iter(said.decode(errors="replace").splitlines()), "it did not end")
    return {"process": name, "pid": pid, "text": f"py-spy cannot read it: {why}"}


def counted(lines: Iterable[str], samples: int) -> dict[str, Any]:
    """Return `frames`, `stacks` and `rest`, as `StackCounts.result` does, of py-spy's format `raw`.

    Args:
        lines: Stacks, the outermost function first, and how often each was seen; not those that did nothing.
        samples: How many there were, with those.
    """
    frames: dict[tuple[str, int, str], int] = {}
    stacks: Counter[tuple[str, tuple[int, ...]]] = Counter()
    for line in lines:
        text, _, count = line.rpartition(" ")
        found = [match.groups() for match in map(FRAME.fullmatch, text.split(";")) if match]
        if not found or not count.isdigit():
            continue
        places = tuple(frames.setdefault((file, int(at or 0), name), len(frames)) for name, file, at in found)
        stacks[_kind([(file, name) for name, file, _ in found]), places] += int(count)
    seen = stacks.total()
    idle = [["", IDLE, True, samples - seen, []]] if seen < samples else []
    return {
        "frames": list(frames),
        "stacks": [["", kind, kind == IDLE, count, places] for (kind, places), count in stacks.most_common()] + idle,
        "rest": 0,
    }


def _kind(functions: Sequence[tuple[str, str]]) -> str:
    """Return the kind of a stack of a process that steps environments, by the files and names of its functions."""
    if waits_in(functions[-1][0]):
        return IDLE
    kind = kind_of([sign_of_name(file, name.rpartition(".")[2]) for file, name in functions])
    steps = any(name.rpartition(".")[2] in STEPS for _, name in functions)
    return ENVIRONMENT if kind == OTHER and steps else kind
