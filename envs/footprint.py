"""Measures the memory of one environment: `python -m pac.envs.footprint`, see `apart.ask`.

It answers with a number of bytes. What the first environment loads is shared by all and not counted.
"""

from __future__ import annotations

import os
from typing import NoReturn

import numpy as np
import psutil

from .apart import receive
from .registry import find, learn_tasks
from .task import allocate

COUNT = 4
STEPS = 16


def measure(spec: str) -> int:
    """Return by how many bytes this process grows with each environment."""
    task, process = find(spec), psutil.Process()
    buffers = allocate(task, 1 + COUNT)
    made, sizes = [], []
    for lo, hi in ((0, 1), (1, 1 + COUNT)):
        environments = task.make(lo, hi, buffers, 0)
        environments.reset(np.ones(hi - lo, np.bool_), 0)
        for _ in range(STEPS):
            if task.masked:
                legal = np.unpackbits(buffers["action_mask"][0], axis=-1, bitorder="little")
                buffers["action"][0] = legal.argmax(axis=-1)
            environments.step(0)
        made.append(environments)
        sizes.append(process.memory_info().rss)
    for environments in made:
        environments.close()
    return max(0, sizes[1] - sizes[0]) // COUNT


def main() -> NoReturn:
    """Measure the task that standard input names."""
    request, answers = receive()
    learn_tasks(request["tasks"])
    answers.write(str(measure(request["spec"])).encode())
    answers.flush()
    os._exit(0)  # whatever the environments have left running


if __name__ == "__main__":
    main()
