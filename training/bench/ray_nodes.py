"""The backend `ray` compared with `inline`, and with the environment runners of Ray's RLlib, on two nodes of one CPU.

pac-tui bench ray --json
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from importlib.util import find_spec
from typing import Any

from ...backends import make
from ...envs import BadParameter, find
from .backends.rates import SLOTS, RandomLegal
from .facts import Figures, Progress, facts, ratios_of, summary_of
from .peer import Burn, work_for

NODES, NUM_ENVS = 2, 32
BURNS = {"inline": 5e-3, "rllib": 100e-6}
"""The CPU time of a step of the environment that is compared with each peer, in s."""

Rate = Callable[[float], float]
"""Steps for so many seconds, and returns environment steps per second."""


def measure_ray(*, seconds: float = 4.0, rounds: int = 7, progress: Progress = lambda _what, _share: None) -> Figures:
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
    found: Figures = {"nodes": NODES, "num_envs": NUM_ENVS, "absent": {}}
    with _cluster() as address:
        for number, (peer, burn) in enumerate(BURNS.items()):
            try:
                found[peer] = _compare(
                    peer,
                    address,
                    work_for(burn),
                    seconds=seconds,
                    rounds=rounds,
                    progress=partial(_report, progress, number),
                )
                found[peer]["burn_seconds"] = burn
            except ImportError as error:
                found["absent"][peer] = f"{error}; install ray[rllib]"
    return {**found, **facts()}


def _report(progress: Progress, number: int, what: str, share: float) -> None:
    """Report the progress of the comparison with peer `number`."""
    progress(what, (number + share) / len(BURNS))


@contextmanager
def _cluster() -> Iterator[str]:
    """Start the nodes; return the address."""
    from ray.cluster_utils import Cluster

    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        for _ in range(NODES - 1):
            cluster.add_node(num_cpus=1, include_dashboard=False)
        yield str(cluster.address)
    finally:
        cluster.shutdown()


def _compare(peer: str, address: str, work: int, *, seconds: float, rounds: int, progress: Progress) -> Figures:
    """Measure `ray` and a peer in turn. Both sides' processes exist only while they are measured."""
    other = partial(_own, peer) if peer == "inline" else _rllib
    sides = {"ray": partial(_own, "ray"), peer: other}
    rates: dict[str, list[float]] = {side: [] for side in sides}
    for number in range(rounds):
        for place, side in enumerate([*sides][:: 1 if number % 2 else -1]):
            progress(f"{side} against {peer}" if side == "ray" else side, (number + place / 2) / rounds)
            with sides[side](address, work) as rate:
                rate(seconds / 4)
                rates[side].append(rate(seconds))
    return {**{side: summary_of(one) for side, one in rates.items()}, **ratios_of(rates["ray"], rates[peer])}


@contextmanager
def _own(backend: str, address: str, work: int) -> Iterator[Rate]:
    """Make the environments over one of our backends."""
    task = find(f"{Burn.__module__}:Burn:work={work},masked=False")
    with closing(make(task, NUM_ENVS, backend, strict=True, slots=SLOTS, ray_address=address)) as envs:
        envs.start()
        choose = RandomLegal(task, envs.num_envs)

        def rate(seconds: float) -> float:
            begun, steps = time.perf_counter(), 0
            while (now := time.perf_counter()) - begun < seconds:
                if envs.order.full:
                    envs.carry()
                choose(envs, envs.order.newest)
                envs.advance(envs.order.newest)
                steps += 1
            return steps * NUM_ENVS / (now - begun)

        yield rate


@contextmanager
def _rllib(address: str, work: int) -> Iterator[Rate]:
    """Make an environment runner per node, each with its share of the environments and random actions."""
    import ray
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner
    from ray.tune.registry import register_env

    ray.init(address=address, log_to_driver=False, configure_logging=False)
    try:
        share, length = NUM_ENVS // NODES, SLOTS - 1
        register_env("burn", lambda _: Burn(work, masked=False))
        config: Any = PPOConfig().environment("burn")
        config = config.env_runners(
            num_env_runners=NODES, num_envs_per_env_runner=share, rollout_fragment_length=length
        )
        runners = [
            ray.remote(num_cpus=1)(SingleAgentEnvRunner).remote(config=config, worker_index=index + 1)
            for index in range(NODES)
        ]

        def rate(seconds: float) -> float:
            begun, steps = time.perf_counter(), 0
            while (now := time.perf_counter()) - begun < seconds:
                ray.get([one.sample.remote(num_timesteps=share * length, random_actions=True) for one in runners])
                steps += NODES * share * length
            return steps / (now - begun)

        yield rate
    finally:
        ray.shutdown()
