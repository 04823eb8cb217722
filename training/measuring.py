"""Measures one environment for a session that waits meanwhile, as a program: `python -m pac.training.measuring`.

It trains a new policy in one environment, of which the session knows nothing, so the session's training is the same
with and without the measurement. After a warm-up, it answers `ready` with the seconds that this took, waits for a
line, and answers with the frames per second.
"""

from __future__ import annotations

import json
import sys
import time
from contextlib import closing
from typing import Any

from ..envs import find
from ..envs.slots import next_slot
from .asked import begin_to_answer
from .device import envs_device
from .lone_training import LoneTraining, maker
from .trainer import BufferSpec, Context, Timer
from .trainers import build_trainer

SECONDS = 1.0
"""Seconds that are measured, at least, in whole iterations."""


class CountingEnvs:
    """Environments whose frames are counted.

    Args:
        envs: The environments.
    """

    def __init__(self, envs: Any) -> None:
        self.frames = 0
        self._envs = envs

    def advance(self, slot: int) -> None:
        """Step all environments."""
        self._envs.advance(slot)
        frames = self._envs.buffer["frames"]
        self.frames += int(frames[next_slot(slot, len(frames))].sum())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._envs, name)


def main() -> None:
    """Answer one request."""
    setup, answers = begin_to_answer("baseline")
    task, device, backend = find(setup["task"]), setup["device"], setup["backend"]
    trainer = build_trainer(setup["trainer"], Context(task, setup["settings"], device, setup["seed"], Timer()))
    make = maker(task, backend, device=envs_device(backend, device), seed=setup["seed"], workers=1)

    def counted(num_envs: int, spec: BufferSpec) -> CountingEnvs:
        return CountingEnvs(make(num_envs, spec))

    with closing(LoneTraining(trainer, counted)) as training:
        envs, begun = training.open(1), time.perf_counter()
        trainer.iterate()
        print(json.dumps({"ready": time.perf_counter() - begun}), file=answers, flush=True)
        if not sys.stdin.readline():
            return
        begun, envs.frames = time.perf_counter(), 0
        while (spent := time.perf_counter() - begun) < SECONDS:
            trainer.iterate()
        print(json.dumps({"fps": envs.frames / spent}), file=answers, flush=True)


if __name__ == "__main__":
    main()
