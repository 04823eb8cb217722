"""A run of the solver on the disk, made without a session."""

import numpy as np

from pac.envs import find
from pac.envs.poker.task import game_of
from pac.training.mccfr.solving.full import Cfr
from pac.training.runs.checkpoint import save
from pac.training.runs.folder import RunFolder


def solved(runs_dir, name="small", task="kuhn", iterations=50):
    """Return a finished run whose strategy is that of so many iterations of CFR+."""
    cfr = Cfr(game_of(find(task)), "cfr+")
    cfr.iterate(iterations)
    run = RunFolder.create(runs_dir, name)
    config = {"task": task, "trainer": "mccfr", "seed": 0}
    run.write_metadata({"id": run.name, "task": task, "trainer": "mccfr", "state": "completed", "config": config})
    table = np.stack([cfr.regrets, cfr.sums], axis=1)
    data = {"task": task, "trainer": "mccfr", "data": {"iterations": iterations, "next": iterations}}
    save(run.checkpoints, iterations, {"table": table, "updates": np.zeros(1, np.uint32)}, data)
    return run
