"""Several worker processes on one table: what each learns arrives, and it does not matter how many there are."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from pac.envs.poker.small import kuhn, leduc, liars_dice
from pac.training.mccfr.solving.exact import average_strategy, nash_conv
from pac.training.mccfr.solving.sampling import SMALL, SamplingSolver

from ....programs import talking
from ..tables import learned, tables

GAMES = {"leduc": leduc(), "liars_dice": liars_dice()}
BATCH = 2_000
WORKER = """
import sys
import numpy as np
from pac.envs.poker import small
from pac.training.mccfr.solving.sampling import SamplingSolver

name, folder, worker, workers, iterations = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])
game = getattr(small, name)()
table, updates, lock = (np.load(f"{folder}/{part}.npy", mmap_mode="r+") for part in ("table", "updates", "lock"))
sampler = SamplingSolver(game, table, updates, 1, lock=lock)
sampler.run(0, 0)
print("ready", flush=True)
sys.stdin.readline()
counted = sum(
    sampler.run(first, BATCH).updates for first in range(worker * BATCH, iterations, workers * BATCH)
)
print(counted)
"""


def together(name, workers, iterations, folder):
    """Return the tables that worker processes fill by so many iterations in all, and the updates that they count."""
    for part, array in zip(("table", "updates", "lock"), (*tables(GAMES[name]), np.zeros(1, np.int32)), strict=True):
        np.save(folder / f"{part}.npy", array)
    command = ("-c", WORKER.replace("BATCH", str(BATCH)), name, folder)
    running = [talking(*command, str(worker), str(workers), str(iterations)) for worker in range(workers)]
    try:
        for process in running:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in running:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        counted = sum(int(process.communicate(timeout=120)[0]) for process in running)
    finally:
        for process in running:
            process.kill()
            process.wait()
    return np.load(folder / "table.npy"), np.load(folder / "updates.npy"), counted


@pytest.mark.session
@pytest.mark.parametrize(("name", "iterations", "lost"), [("leduc", 120_000, 0), ("liars_dice", 24_000, 0.01)])
def test_the_number_of_workers_does_not_matter(name, iterations, lost, tmp_path):
    """With as many iterations in all, rows are updated as often, and what is learned is as good.

    A small table loses no update. A large one is written by all at once, which loses what two write at the same moment.
    """
    alone, by_one, _ = together(name, 1, iterations, tmp_path)
    table, updates, counted = together(name, 3, iterations, tmp_path)
    assert (1 - lost) * counted <= updates.sum() <= counted
    assert updates.mean() == pytest.approx(by_one.mean(), rel=0.1)
    one, three = (nash_conv(GAMES[name], average_strategy(GAMES[name], each)) for each in (alone, table))
    assert three < 1.4 * one


def test_samplers_in_turn_learn_from_each_other():
    """What one delivers the next one goes on from; nothing is lost, or counted twice."""
    game = GAMES["leduc"]
    table, updates = tables(game)
    lock = np.zeros(1, np.int32)
    workers = [SamplingSolver(game, table, updates, 4, lock=lock) for _ in range(2)]
    counted = sum(workers[turn % 2].run(turn * 100, 100).updates for turn in range(50))
    alone, by_one = learned(game, 5_000, 4)
    assert counted == updates.sum()
    assert np.array_equal(updates, by_one)
    assert np.allclose(table, alone, rtol=1e-3, atol=1e-2)


@pytest.mark.session
def test_a_lock_whose_holder_died_is_taken():
    """Work goes on, and the lock is free again."""
    game = kuhn()
    table, updates = tables(game)
    holder = subprocess.Popen([sys.executable, "-c", ""])
    holder.wait(120)
    lock = np.full(1, holder.pid, np.int32)
    batch = SamplingSolver(game, table, updates, 4, lock=lock).run(0, 64)
    assert batch.updates == updates.sum()
    assert lock[0] == 0


def test_large_tables_are_learned_into():
    """What is not small has no copy: a worker's memory holds nothing of it."""
    game = GAMES["liars_dice"]
    assert game.entries > SMALL > GAMES["leduc"].entries
    table, updates = tables(game)
    SamplingSolver(game, table, updates, 4, lock=np.ones(1, np.int32)).run(0, 100)
    alone, by_one = learned(game, 100, 4)
    assert np.array_equal(table, alone)
    assert np.array_equal(updates, by_one)
