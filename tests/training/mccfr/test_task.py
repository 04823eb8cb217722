"""A game dressed for the solver: workers in place of environments, and environments share tables."""

import pytest

from pac.backends import BackendUnavailable, make, usable_cores
from pac.envs import BadParameter, Task, find
from pac.envs.poker.task import game_of
from pac.training.mccfr.driver import Partition
from pac.training.trainers import trainer_settings, transformed_task


def dressed(spec: str, **settings: object) -> Task:
    task = find(spec)
    return transformed_task("mccfr", task, trainer_settings("mccfr", task, settings))


def test_the_tables_are_those_of_the_game():
    """An entry has a regret and a sum, a row a count; one worker per core learns in them unless more are asked for."""
    task, game = dressed("leduc"), game_of(find("leduc"))
    shared = {item.name: item for item in task.shared}
    assert (shared["table"].shape, shared["updates"].shape) == ((game.entries, 2), (game.rows,))
    assert shared["table"].row_bytes == 8 * game.entries
    assert task.num_envs == usable_cores()
    assert task.players == 1
    assert (task.spec, task.name) == ("leduc", "leduc")


@pytest.mark.parametrize(("spec", "settings"), [("kuhn", {}), ("leduc", {"method": "cfr+"})])
def test_some_work_is_one_worker_s(spec, settings):
    """A dozen information sets are no work to share, and neither is an exact iteration."""
    assert dressed(spec, **settings).num_envs == 1


def test_what_cannot_solve_is_refused():
    """Other tasks, with the names of those that can be solved; and servers: a connection shares no table."""
    with pytest.raises(BadParameter, match="holdem, kuhn, leduc, liars_dice"):
        dressed("drmario")
    with pytest.raises(BackendUnavailable, match="environments share tables"):
        make(dressed("leduc"), 2, "socket", strict=True)


@pytest.mark.parametrize("workers", [1, 2, 3, 7])
def test_partitions_cover_every_row_once(workers):
    """They lie side by side, from the first row to the last, and so do their entries."""
    game = game_of(find("leduc"))
    parts = [Partition.of(game, worker, workers) for worker in range(workers)]
    for bounds, total in (([part.rows for part in parts], game.rows), ([part.entries for part in parts], game.entries)):
        assert [first for first, _ in bounds] == [0, *(last for _, last in bounds[:-1])]
        assert bounds[-1][1] == total
