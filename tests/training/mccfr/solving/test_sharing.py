"""Several worker processes on one table: what each learns arrives, and it does not matter how many there are."""

import subprocess
import sys

import numpy as np
import pytest

from pac.envs.poker.small import kuhn, leduc, liars_dice
from pac.training.mccfr.solving.exact import average_strategy, nash_conv
from pac.training.mccfr.solving.sampling import SMALL, SamplingSolver

from ....programs import talking
from ....waiting import LIMIT
from ..tables import learned, tables

GAMES = {"leduc": leduc(), "liars_dice": liars_dice()}
BATCH, WORKERS = 2_000, 2
WORKER = """
import sys
import numpy as np
from pac.envs.poker import small
from pac.training.mccfr.solving.sampling import SamplingSolver

folder, worker = sys.argv[1], int(sys.argv[2])
while name := sys.stdin.readline().strip():
    paths = (f"{folder}/{name}-{part}.npy" for part in ("table", "updates", "lock"))
    table, updates, lock = (np.load(path, mmap_mode="r+") for path in paths)
    sampler = SamplingSolver(getattr(small, name)(), table, updates, 1, lock=lock)
    sampler.run(0, 0)
    print("ready", flush=True)
    firsts = range(worker * BATCH, int(sys.stdin.readline()), WORKERS * BATCH)
    print(sum(sampler.run(first, BATCH).updates for first in firsts), flush=True)
"""


@pytest.fixture(scope="module")
def workers(tmp_path_factory):
    """Return a folder, and processes that learn into the tables in it."""
    folder = tmp_path_factory.mktemp("tables")
    code = WORKER.replace("BATCH", str(BATCH)).replace("WORKERS", str(WORKERS))
    running = [talking("-c", code, folder, str(worker)) for worker in range(WORKERS)]
    yield folder, running
    for process in running:
        process.communicate(timeout=LIMIT)


def together(name, iterations, folder, running):
    """Return the tables that worker processes fill by so many iterations in all, and the updates that they count."""
    parts = dict(zip(("table", "updates", "lock"), (*tables(GAMES[name]), np.zeros(1, np.int32)), strict=True))
    for part, array in parts.items():
        np.save(folder / f"{name}-{part}.npy", array)
    answers = []
    for line in (name, str(iterations)):
        for process in running:
            process.stdin.write(f"{line}\n")
            process.stdin.flush()
        answers.append([process.stdout.readline() for process in running])
    counted = sum(map(int, answers[1]))
    return np.load(folder / f"{name}-table.npy"), np.load(folder / f"{name}-updates.npy"), counted


@pytest.mark.session
@pytest.mark.parametrize(("name", "iterations", "lost"), [("leduc", 120_000, 0), ("liars_dice", 24_000, 0.01)])
def test_the_number_of_workers_does_not_matter(name, iterations, lost, workers):
    """With as many iterations in all, rows are updated as often, and what is learned is as good.

    A small table loses no update. A large one is written by all at once, which loses what two write at the same moment.
    """
    alone, by_one = learned(GAMES[name], iterations, 1)
    table, updates, counted = together(name, iterations, *workers)
    assert (1 - lost) * counted <= updates.sum() <= counted
    assert updates.mean() == pytest.approx(by_one.mean(), rel=0.1)
    one, other = (nash_conv(GAMES[name], average_strategy(GAMES[name], each)) for each in (alone, table))
    assert other < 1.4 * one


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
