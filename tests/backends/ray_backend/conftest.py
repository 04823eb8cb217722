"""A Ray cluster of two nodes with one CPU each on this machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pac.backends import make
from pac.backends.core.base import Backend
from pac.envs import Task

FOLDERS = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])


@pytest.fixture(scope="session")
def cluster(runtime_directory: Path) -> Iterator[Any]:
    """Start the head with one CPU, and a node with one CPU."""
    pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", FOLDERS)  # where the nodes find `faulty.py`
        patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        try:
            made.add_node(num_cpus=1, include_dashboard=False)
            yield made
        finally:
            made.shutdown()


@pytest.fixture
def on_cluster(cluster: Any) -> Iterator[Callable[..., Backend]]:
    """Return a function that makes environments on the cluster; they are closed after the test."""
    made: list[Backend] = []

    def build(task: Task | str, num_envs: int, **options: Any) -> Backend:
        made.append(make(task, num_envs, "ray", strict=True, ray_address=cluster.address, **options))
        return made[-1]

    yield build
    for envs in made:
        envs.close()
