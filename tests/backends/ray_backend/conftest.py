"""A Ray cluster of two nodes on this machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from pac.backends import make
from pac.backends.core.base import Backend
from pac.envs import Task

FOLDERS = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
NODE = {"num_cpus": 3, "include_dashboard": False}
"""A node with a core for each of three backends at a time, which have a worker there."""


@pytest.fixture(scope="session")
def cluster(runtime_directory: Path) -> Iterator[Any]:
    """Start the head and another node."""
    pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", FOLDERS)  # where the nodes find `faulty.py`
        patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        made = Cluster(initialize_head=True, head_node_args=NODE)
        try:
            made.add_node(**NODE)
            yield made
        finally:
            made.shutdown()


@pytest.fixture(scope="module")
def on_cluster(cluster: Any) -> Iterator[Callable[..., Backend]]:
    """Return a function that makes environments on the cluster; they are closed after the module."""
    with ExitStack() as stack:

        def build(task: Task | str, num_envs: int, **options: Any) -> Backend:
            options |= {"strict": True, "ray_address": cluster.address, "workers": 1}
            return stack.enter_context(closing(make(task, num_envs, "ray", **options)))

        yield build
