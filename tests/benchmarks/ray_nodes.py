"""Compares the backend `ray` with `inline`, and with the environment runners of Ray's RLlib, on two nodes of one CPU.

python -m tests.benchmarks ray --json
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from importlib.util import find_spec
from typing import Any

from pac.backends import make
from pac.envs import BadParameter, find
from pac.training.bench.backends.rates import SLOTS, random_stepper
from pac.training.bench.facts import Progress, Results
from pac.training.bench.turns import alternate, compared, portion, rate_of

from .peer import Burn, work_for

NODES, NUM_ENVS = 2, 32
BURNS = {"inline": 5e-3, "rllib": 100e-6}
"""The CPU time of a step of the environment that is compared with each peer, in s."""

Step = Callable[[], int]
"""Steps all environments, and returns the number of environment steps."""


def measure_ray(*, seconds: float = 4.0, rounds: int = 7, progress: Progress) -> Results:
    """Start a cluster of two nodes with one CPU each on this machine, and measure collecting with random actions.

    Args:
        seconds: Length of each measurement.
        rounds: Measurements of each side, alternating.
        progress: Called with the current measurement.

    Returns:
        Per peer, `inline` and `rllib`: environment steps per second of both sides, the CPU time of a step, and `ratio`,
        the median over the rounds. `absent` says why a peer was not measured.

    Raises:
        BadParameter: Ray is not installed.
    """
    if find_spec("ray") is None:
        raise BadParameter("this benchmark needs Ray; install pac-tui[ray]")
    found: Results = {"nodes": NODES, "num_envs": NUM_ENVS, "absent": {}}
    with _cluster() as address:
        for number, (peer, burn) in enumerate(BURNS.items()):
            try:
                part = portion(progress, number, len(BURNS))
                found[peer] = _compare(peer, address, work_for(burn), seconds=seconds, rounds=rounds, progress=part)
                found[peer]["burn_seconds"] = burn
            except ImportError as error:
                found["absent"][peer] = f"{error}; install ray[rllib]"
    return found


@contextmanager
def _cluster() -> Iterator[str]:
    """Start the nodes; yield the address of the cluster."""
    from ray.cluster_utils import Cluster

    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        for _ in range(NODES - 1):
            cluster.add_node(num_cpus=1, include_dashboard=False)
        yield str(cluster.address)
    finally:
        cluster.shutdown()


def _compare(peer: str, address: str, work: int, *, seconds: float, rounds: int, progress: Progress) -> Results:
    """Measure `ray` and a peer in turn. Both sides' processes exist only while they are measured."""

    def rate(side: str) -> float:
        with _rllib(address, work) if side == "rllib" else _own(side, address, work) as step:
            rate_of(step, seconds / 4)
            return rate_of(step, seconds)

    return compared(alternate({side: partial(rate, side) for side in ("ray", peer)}, rounds, progress), "ray", peer)


@contextmanager
def _own(backend: str, address: str, work: int) -> Iterator[Step]:
    """Make the environments over one of our backends."""
    task = find(f"{Burn.__module__}:Burn:work={work},masked=False")
    with closing(make(task, NUM_ENVS, backend, strict=True, slots=SLOTS, ray_address=address)) as envs:
        envs.start()
        yield random_stepper(envs)


class RllibBurn(Burn):
    """The same environment with RLlib's constructor. A name in RLlib's registry would be lost with the connection."""

    def __init__(self, context: Mapping[str, Any]) -> None:
        super().__init__(context["work"], masked=False)


@contextmanager
def _rllib(address: str, work: int) -> Iterator[Step]:
    """Make an environment runner per node, each with its share of the environments and random actions."""
    import ray
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner

    ray.init(address=address, log_to_driver=False, configure_logging=False)
    try:
        share, length = NUM_ENVS // NODES, SLOTS - 1
        config: Any = PPOConfig().environment(RllibBurn, env_config={"work": work})
        config = config.env_runners(
            num_env_runners=NODES, num_envs_per_env_runner=share, rollout_fragment_length=length
        )
        runners = [
            ray.remote(num_cpus=1)(SingleAgentEnvRunner).remote(config=config, worker_index=index + 1)
            for index in range(NODES)
        ]

        def step() -> int:
            ray.get([one.sample.remote(num_timesteps=share * length, random_actions=True) for one in runners])
            return NODES * share * length

        yield step
    finally:
        ray.shutdown()
