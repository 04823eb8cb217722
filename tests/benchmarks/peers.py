"""Compares `shm` with other vector environments on the same Python environments and two cores.

Each peer is a process that is stopped while another one is measured, because some of them never sleep. The speed of a
machine, in particular of a virtual one, changes from second to second. So after a survey of all peers, those in the
ratios are measured in short turns, and a ratio is the median of the ratios within each round.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import numpy as np

from pac.training.bench.backends.rates import async_ratio
from pac.training.bench.facts import Progress, Results, core_times, ratios_of, stolen, summary_of
from pac.training.bench.measured_process import MeasuredProcess, NotInstalled, measured_cores

from . import peer as peer_module

NUM_ENVS = 32
SURVEY = 5
"""Rounds of all peers, which find the fastest one."""
QUIET_STEAL, QUIET_SPREAD = 0.02, 0.1
COSTS = {"CartPole-v1": 0.0, "burn-20us": 20e-6, "burn-100us": 100e-6}
"""The environments, with the seconds that a step of `Burn` takes; 0 for a Gymnasium id."""

Samples = dict[str, list[float]]
"""Steps per second of each round, by peer."""


def start_peer(name: str, environment: str, num_envs: int, cores: Sequence[int], python: str) -> MeasuredProcess:
    """Start the process of a peer on the given cores."""
    ours = python == sys.executable
    program = ["-m", peer_module.__name__] if ours else [str(Path(peer_module.__file__).resolve())]
    arguments = [name, environment, str(num_envs), ",".join(map(str, cores))]
    return MeasuredProcess(name, [python, "-P", "-W", "ignore", *program, *arguments])


def compare_peers(
    *,
    seconds: float = 0.15,
    rounds: int,
    num_envs: int = NUM_ENVS,
    python: str | None = None,
    progress: Progress,
) -> Results:
    """Step the same environments with every peer in turn.

    Args:
        seconds: Length of one measurement.
        rounds: Number of turns of the loops, the fastest peer and `shm`.
        num_envs: N.
        python: An interpreter with PufferLib, which needs older packages; default this one.
        progress: Called with the current measurement.

    Returns:
        `rows`: `peer`, `environment`, `num_envs`, `sps` and its extremes; `by_environment` with the `fastest_peer`, the
        median ratios `shm_over_fastest` and `shm_over_loop`, `share_of_limit`, that of `cores` times a plain loop, and
        `share_of_loops`, that of so many plain loops at once; `steal`, the share of the cores' time that the hypervisor
        took (None if unknown); `spread`, the 90th minus the 10th percentile of the loop's rates over their median;
        whether the machine was `quiet`; the `cores`; and the reasons of peers that are `absent`.

    Raises:
        MeasurementFailed: A peer did not answer.
    """
    cores = measured_cores()
    result: Results = {"cores": cores, "rows": [], "by_environment": {}, "absent": {}}
    for index, (name, cost) in enumerate(COSTS.items()):
        environment = f"burn:{peer_module.work_for(cost)}" if cost else name
        with ExitStack() as stack:
            running = {}
            for one in _start_peers(environment, num_envs, cores, python, result["absent"]):
                stack.callback(one.close)
                running[one.name] = one
                progress(f"{name}: starting {one.name}", index / len(COSTS))
            survey = _take_turns(running.values(), SURVEY, seconds)
            fastest = max(peer_module.PEERS.keys() & survey, key=lambda peer: median(survey[peer]))
            before = core_times(cores)
            turns: Samples = {peer: [] for peer in ("loop", "loops", fastest, "shm")}
            for turn in range(rounds):
                progress(name, (index + turn / rounds) / len(COSTS))
                for peer, rates in _take_turns([running[peer] for peer in turns], 1, seconds).items():
                    turns[peer] += rates
        for peer, rates in (survey | turns).items():
            results = summary_of(rates)
            row = {"peer": peer, "environment": name, "num_envs": num_envs, "sps": results.pop("median")}
            result["rows"].append(row | results)
        noise = _noise(turns["loop"], stolen(before, core_times(cores)))
        result["by_environment"][name] = {"fastest_peer": fastest, **_compared(turns, fastest, len(cores)), **noise}
    return result


def measure_peers(
    *, rounds: int = 40, async_rounds: int = 7, python: Path | None = None, progress: Progress
) -> Results:
    """Compare `shm` with other vector environments, and on drmario with Gymnasium's AsyncVectorEnv."""
    result = compare_peers(rounds=rounds, python=str(python) if python else None, progress=progress)
    progress("AsyncVectorEnv", 0.99)
    return result | {"async": async_ratio(rounds=async_rounds)}


def _take_turns(running: Iterable[MeasuredProcess], rounds: int, seconds: float) -> Samples:
    """Measure each process once per round."""
    processes = list(running)
    samples: Samples = {one.name: [] for one in processes}
    for _ in range(rounds):
        for one in processes:
            samples[one.name].append(one.measure(seconds)["sps"])
    return samples


def _start_peers(
    environment: str, num_envs: int, cores: Sequence[int], python: str | None, absent: dict[str, str]
) -> Iterator[MeasuredProcess]:
    """Yield the processes of installed peers; write the reasons of the others into `absent`."""
    here = importlib.util.find_spec("pufferlib") is not None
    for name in (*peer_module.OURS, *peer_module.PEERS):
        elsewhere = name.startswith("pufferlib") and not here
        if elsewhere and python is None:
            absent[name] = "pufferlib is not installed; --peer-python names an interpreter that has it"
            continue
        try:
            yield start_peer(name, environment, num_envs, cores, (elsewhere and python) or sys.executable)
        except NotInstalled as error:
            absent[name] = str(error)


def _compared(samples: Samples, fastest: str, cores: int) -> Results:
    """Return the medians of the ratios within each round."""
    over = {name: ratios_of(samples["shm"], samples[name])["ratio"] for name in ("loop", "loops", fastest)}
    return {
        "shm_over_fastest": over[fastest],
        "shm_over_loop": over["loop"],
        "share_of_limit": over["loop"] / cores,
        "share_of_loops": over["loops"],
    }


def _noise(rates: Sequence[float], steal: float | None) -> Results:
    """Return how much other programs disturbed the measurement."""
    low, middle, high = np.percentile(rates, (10, 50, 90)).tolist()
    spread = (high - low) / middle
    return {"steal": steal, "spread": spread, "quiet": (steal or 0) < QUIET_STEAL and spread < QUIET_SPREAD}
