"""Solves the made-up game in two workers, saves and loads it, and prints what that takes: `ROWS FOLDER [resumed]`."""

import contextlib
import json
import sys
import threading
from pathlib import Path
from typing import Any

import psutil

from pac.backends import make
from pac.envs import find
from pac.envs.task import transformed
from pac.training.lone_training import LoneTraining
from pac.training.mccfr.trainer import MCCFR
from pac.training.runs.checkpoint import CheckpointWriter, load_newest
from pac.training.trainer import BufferSpec, Context, OwnedEnvs, Timer

WORKERS = 2


def private() -> int:
    """Bytes of this process and its children that are neither shared memory nor files."""
    total = 0
    for process in (psutil.Process(), *psutil.Process().children()):
        with contextlib.suppress(OSError):  # it has just ended
            lines = Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()
            total += sum(1024 * int(line.split()[1]) for line in lines if line.startswith(("Anonymous:", "Swap:")))
    return total


class Fed:
    """Environments that hand a checkpoint its slices, as those of a session do."""

    def __init__(self, envs: OwnedEnvs, saver: CheckpointWriter) -> None:
        self._envs, self._saver = envs, saver
        self.buffer, self.order = envs.buffer, envs.order
        self.environments, self.segment = envs.environments, envs.segment
        self.start, self.carry, self.close = envs.start, envs.carry, envs.close

    def advance(self, slot: int) -> None:
        self._envs.advance(slot)
        if self._saver.streaming:
            self._saver.feed()


def main(rows: int, folder: Path, *, resumed: bool) -> None:
    seen, over = [0], threading.Event()

    def look() -> None:
        while not over.wait(0.02):
            seen.append(private())

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    errors: list[object] = []
    saver = CheckpointWriter(folder, lambda _step, error: errors.append(error))
    task = transformed(find("kuhn"), ("wide:dress", {"rows": rows}))

    def fed(count: int, spec: BufferSpec) -> Any:
        return Fed(make(task, count, "shm", **spec.options), saver)

    trainer = MCCFR(Context(task, {}, "cpu", 0, Timer()))
    owner = LoneTraining(trainer, fed)
    if resumed:
        found = load_newest(folder)
        trainer.load_state(found.tensors, found.data)
        del found
    owner.open(WORKERS)
    trainer.iterate()
    saver.save(1 + resumed, *trainer.state())
    while saver.busy:
        trainer.iterate()
    owner.close()
    over.set()
    looking.join()
    shared = sum(item.row_bytes for item in task.shared if item.per == "all")
    reported = {"shared": shared, "private": max(seen), "errors": [str(error) for error in errors if error]}
    sys.stdout.write(json.dumps(reported))


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), resumed=len(sys.argv) > 3)
