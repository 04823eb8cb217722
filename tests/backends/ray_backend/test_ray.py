"""Environments on the nodes of a Ray cluster: the bytes of `inline`, and lost nodes and workers."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Any

import numpy as np
import psutil
import pytest

from pac.backends import BackendUnavailable, make
from pac.backends.core.base import Backend
from pac.backends.core.status import EnvStatus
from pac.envs import find
from pac.training.bench.backends.rates import RandomLegal

pytestmark = [pytest.mark.session, pytest.mark.timeout(120)]

LIMIT = 60.0


def trajectory(envs: Backend, steps: int = 40) -> list[bytes]:
    """Return all fields after every step with random legal actions, as bytes."""
    seen = []
    envs.start()
    choose, slot = RandomLegal(envs.task, envs.num_envs), 0
    for _ in range(steps):
        if envs.order.full:
            envs.carry()
            slot = 0
        choose(envs, slot)
        envs.advance(slot)
        slot = envs.order.newest
        at = {"action": envs.order.acted(slot)}
        seen.append(b"".join(array[at.get(name, slot) % len(array)].tobytes() for name, array in envs.buffer.items()))
    return seen


def step_until(envs: Backend, condition: Callable[[], object]) -> None:
    """Step in place with action 0 until the condition is true."""
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end, "the condition did not become true in time"
        envs.buffer["action"][0] = 0
        envs.advance(0)


@pytest.mark.parametrize(
    "spec", ["drmario:level=2", "autochess", pytest.param("kuhn", marks=pytest.mark.slow), "CartPole-v1"]
)
def test_nodes_give_the_bytes_of_inline(on_cluster, spec):
    """Native games with one and several seats, and a Gymnasium environment, over several rollouts."""
    with closing(make(find(spec), 5, "inline", slots=5, seed=11)) as expected:
        assert trajectory(on_cluster(find(spec), 5, slots=5, seed=11)) == trajectory(expected)


def test_workers_have_the_names_of_their_nodes(on_cluster):
    """Two nodes with one worker each, numbered from 0, whose slices are disjoint."""
    envs = on_cluster("noop", 5)
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


def test_a_killed_worker_is_replaced_on_its_node(on_cluster):
    """Its episodes are truncated; the other node's continue."""
    envs = on_cluster("noop", 4)
    envs.start()
    before = [worker.pid for worker in envs.workers]
    os.kill(before[0], signal.SIGKILL)
    truncated = np.zeros(4, np.bool_)

    def truncated_and_replaced() -> bool:
        truncated[:] |= envs.buffer["truncated"][0].astype(np.bool_)
        return replaced(envs, before[0]) and bool(truncated[:2].all())

    step_until(envs, truncated_and_replaced)
    assert envs.workers[1].pid == before[1]


def test_a_killed_actor_is_replaced_and_leaves_no_process(on_cluster, alive):
    """Its workers die with it, and its node starts another one."""
    envs = on_cluster("noop", 4)
    envs.start()
    lose_actors(envs, 1, alive)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_twenty_killed_workers(on_cluster, alive):
    """Each is replaced on its node, and the other node's worker stays. A third within a minute would not be."""
    for _ in range(20 // 2):
        envs = on_cluster("noop", 4)
        envs.start()
        for _ in range(2):
            before = [worker.pid for worker in envs.workers]
            os.kill(before[0], signal.SIGKILL)
            step_until(envs, partial(replaced, envs, before[0]))
            step_until(envs, lambda: EnvStatus.DEAD not in envs.buffer["status"][0])  # noqa: B023 - called now
            assert envs.workers[1].pid == before[1]
            assert not alive(before[0])
        envs.close()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_twenty_killed_actors(on_cluster, alive, monkeypatch):
    """Every one is replaced, and no worker of any is left."""
    monkeypatch.setattr("pac.backends.ray_backend.backend.MOST_LOSSES", 100)
    envs = on_cluster("noop", 4)
    envs.start()
    lose_actors(envs, 20, alive)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_twenty_lost_nodes(on_cluster, cluster, monkeypatch):
    """Every one is replaced by a node that joins."""
    monkeypatch.setattr("pac.backends.ray_backend.backend.MOST_LOSSES", 100)
    envs = on_cluster("noop", 4)
    envs.start()
    for _ in range(20):
        lose_node(envs, cluster)


def lose_actors(envs: Backend, times: int, alive: Callable[[int], bool]) -> None:
    """Kill the actor of a node so many times, and step until it is back each time."""
    status = envs.buffer["status"][0]
    for _ in range(times):
        worker = envs.workers[0].pid
        os.kill(psutil.Process(worker).ppid(), signal.SIGKILL)
        step_until(envs, lambda: EnvStatus.DEAD in status)
        step_until(envs, lambda: EnvStatus.DEAD not in status)
        step_until(envs, partial(replaced, envs, worker))
        assert not alive(worker)


def replaced(envs: Backend, pid: int) -> bool:
    """Return whether the first worker is no longer this process."""
    return envs.workers[0].pid != pid


def lose_node(envs: Backend, cluster: Any) -> None:
    """Kill a node, and add another one when its environments are no longer stepped."""
    extra = next(node for node in cluster.list_all_nodes() if node is not cluster.head_node)
    cluster.remove_node(extra, allow_graceful=False)
    status = envs.buffer["status"][0]
    step_until(envs, lambda: EnvStatus.DEAD in status)
    assert envs.buffer["active"][0].any()
    cluster.add_node(num_cpus=1, include_dashboard=False)
    step_until(envs, lambda: EnvStatus.DEAD not in status)


def test_a_lost_node_is_replaced_by_one_that_joins(on_cluster, cluster):
    """Environments of the other node continue meanwhile; afterwards those of the lost one are truncated."""
    envs = on_cluster("noop", 4)
    envs.start()
    lose_node(envs, cluster)
    assert sorted(event.level for event in envs.drain_events()) == ["info", "warning"]
    assert envs.buffer["truncated"][0].any()
