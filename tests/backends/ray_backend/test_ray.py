"""Environments on the nodes of a Ray cluster: the bytes of `inline`, and lost nodes and workers."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import closing
from typing import Any

import numpy as np
import psutil
import pytest

from pac.backends import BackendUnavailable, make
from pac.backends.core.base import Backend
from pac.backends.core.status import EnvStatus
from pac.envs import find

from ...waiting import until
from ..playing import trajectory
from .conftest import NODE

pytestmark = [pytest.mark.session, pytest.mark.timeout(120)]
STEPS = 40


@pytest.fixture(scope="module")
def envs(on_cluster: Callable[..., Backend]) -> Backend:
    """Started environments of two workers, one on each node."""
    made = on_cluster("noop", 5)
    made.start()
    return made


def step_until(envs: Backend, condition: Callable[[], Any]) -> None:
    """Step in place with action 0 until the condition is true."""

    def found() -> Any:
        envs.buffer["action"][0] = 0
        envs.advance(0)
        return condition()

    until(found)


@pytest.mark.parametrize(
    "spec", ["kuhn", "CartPole-v1", *(pytest.param(name, marks=pytest.mark.slow) for name in ("drmario", "autochess"))]
)
def test_nodes_give_the_bytes_of_inline(on_cluster, spec):
    """A native game of several seats and a Gymnasium environment, over several rollouts."""
    with (
        closing(make(find(spec), 5, "inline", slots=5, seed=11)) as expected,
        closing(on_cluster(find(spec), 5, slots=5, seed=11)) as envs,
    ):
        assert trajectory(envs, STEPS) == trajectory(expected, STEPS)


def test_workers_have_the_names_of_their_nodes(envs):
    """Two nodes with one worker each, numbered from 0, whose slices are disjoint."""
    first, second = envs.workers
    assert first.node != second.node
    assert [(one.index, one.lo, one.hi) for one in envs.workers] == [(0, 0, 2), (1, 2, 5)]
    assert first.pid != second.pid


def test_an_environment_that_a_node_does_not_have_is_reported_with_the_node(on_cluster, tmp_path, monkeypatch):
    """The error names the node and what to install."""
    module = tmp_path / "only_here.py"
    module.write_text("from gymnasium.envs.classic_control import CartPoleEnv as Here\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    task = find("only_here:Here")
    module.unlink()
    with pytest.raises(BackendUnavailable, match=r"node .* cannot make .*only_here.*on every node"):
        on_cluster(task, 4)


def test_a_killed_worker_is_replaced_on_its_node(envs, alive):
    """Its episodes are truncated; the other node's continue."""
    lose_worker(envs, alive)


def test_a_killed_actor_is_replaced_and_leaves_no_process(envs, alive):
    """Its workers die with it, and its node starts another one."""
    lose_actor(envs, alive)


def test_a_lost_node_is_replaced_by_one_that_joins(envs, cluster):
    """Environments of the other node continue meanwhile; afterwards those of the lost one are truncated."""
    envs.drain_events()
    lose_node(envs, cluster)
    assert sorted(event.level for event in envs.drain_events()) == ["info", "warning"]
    assert envs.buffer["truncated"][0].any()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_twenty_killed_workers(on_cluster, alive):
    """Each is replaced on its node, and the other node's worker stays. A third within a minute would not be."""
    for _ in range(20 // 2):
        with closing(on_cluster("noop", 5)) as envs:
            envs.start()
            for _ in range(2):
                lose_worker(envs, alive)


@pytest.mark.slow
@pytest.mark.timeout(2000)
def test_twenty_killed_actors_and_lost_nodes(envs, cluster, alive, monkeypatch):
    """Every one is replaced, and no worker of any is left."""
    monkeypatch.setattr("pac.backends.ray_backend.backend.MOST_LOSSES", 100)
    for _ in range(20):
        lose_actor(envs, alive)
    for _ in range(20):
        lose_node(envs, cluster)


def lose_worker(envs: Backend, alive: Callable[[int], bool]) -> None:
    """Kill the second node's worker, and step until its environments are back."""
    pids = [worker.pid for worker in envs.workers]
    os.kill(pids[1], signal.SIGKILL)
    truncated = np.zeros(5, np.bool_)

    def back() -> bool:
        truncated[:] |= envs.buffer["truncated"][0].astype(np.bool_)
        return bool(truncated.any()) and EnvStatus.DEAD not in envs.buffer["status"][0]

    step_until(envs, back)
    step_until(envs, lambda: envs.workers[1].pid != pids[1])
    assert truncated.tolist() == [False, False, True, True, True]
    assert envs.workers[0].pid == pids[0]
    assert not alive(pids[1])


def lose_actor(envs: Backend, alive: Callable[[int], bool]) -> None:
    """Kill the actor of a node, and step until it is back."""
    status, worker = envs.buffer["status"][0], envs.workers[0].pid
    os.kill(psutil.Process(worker).ppid(), signal.SIGKILL)
    step_until(envs, lambda: EnvStatus.DEAD in status)
    step_until(envs, lambda: EnvStatus.DEAD not in status)
    step_until(envs, lambda: envs.workers[0].pid != worker)
    assert not alive(worker)


def lose_node(envs: Backend, cluster: Any) -> None:
    """Kill a node, and add another one when its environments are no longer stepped."""
    extra = next(node for node in cluster.list_all_nodes() if node is not cluster.head_node)
    cluster.remove_node(extra, allow_graceful=False)
    status = envs.buffer["status"][0]
    step_until(envs, lambda: EnvStatus.DEAD in status)
    assert envs.buffer["active"][0].any()
    cluster.add_node(**NODE)
    step_until(envs, lambda: EnvStatus.DEAD not in status)
