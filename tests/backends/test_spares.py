"""Workers that are started before there is anything for them to do."""

from __future__ import annotations

from contextlib import closing

import pytest

from pac.backends import make
from pac.backends.system.segment import own_directory
from pac.backends.workers import fleet
from pac.backends.workers.spares import SpareWorkers

from ..waiting import LIMIT

pytestmark = pytest.mark.session


@pytest.fixture
def reserve():
    """Return a function that starts spare workers; all are closed at the end."""
    started = []

    def start(kernels: str, count: int) -> SpareWorkers:
        started.append(SpareWorkers(kernels, count))
        return started[-1]

    yield start
    for one in started:
        one.close()


def pids() -> set[int]:
    """Return the spare processes."""
    return {process.pid for process, _ in fleet._spares}


def test_a_backend_takes_spare_workers(reserve) -> None:
    """They step like any other, and those that are missing are started."""
    prepared = reserve("time:localtime", 2)
    assert prepared.loaded(LIMIT)
    ahead = pids()
    with closing(make("noop", 3, "shm", workers=3)) as envs:
        envs.reset()
        assert len(ahead) == 2
        assert ahead < {worker.pid for worker in envs.workers}
        assert not pids()


def test_unused_spare_workers_are_killed(alive) -> None:
    """No process and no file is left of them."""
    prepared = SpareWorkers("time:localtime", 2)
    waiting = pids()
    assert all(alive(pid) for pid in waiting)
    prepared.close()
    assert not any(alive(pid) for pid in waiting)
    assert not list(own_directory().glob("reserve-*"))


def test_a_spare_worker_that_failed_to_load_still_works(reserve) -> None:
    """A spare worker that failed to load kernels still works."""
    assert reserve("nowhere:at_all", 2).loaded(LIMIT)
    with closing(make("noop", 2, "shm", workers=2)) as envs:
        envs.reset()
        assert len(envs.workers) == 2
