"""Our processes against other vector environments on the same Python environments, on two cores, in turn.

Every contestant is a process of its own that is stopped while another one is measured: some of them never sleep. A
machine's speed changes from second to second, and more so a virtual one's: after a look at all of them, those whose
ratios are told take short turns, and a ratio is the median of those within each round.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import numpy as np

from . import peer as contestants
from .backends.toys import work_for
from .contestant import Absent, Contestant, first_cores
from .facts import Figures, Progress, core_times, stolen, summed_up

NUM_ENVS = 32
SURVEY = 5
"""Rounds of all contestants, which tell the fastest peer."""
QUIET_STEAL, QUIET_SPREAD = 0.02, 0.1
COSTS = {"CartPole-v1": 0.0, "burn-20us": 20e-6, "burn-100us": 100e-6}
"""The environments, and how long a step of those burns that are ours."""

Samples = dict[str, list[float]]
"""Steps per second by contestant, one of each round."""


def contestant(name: str, environment: str, num_envs: int, cores: Sequence[int], python: str) -> Contestant:
    """Start a vector environment in a process of its own, on the given cores."""
    ours = python == sys.executable
    program = ["-m", contestants.__name__] if ours else [str(Path(contestants.__file__).resolve())]
    arguments = [name, environment, str(num_envs), ",".join(map(str, cores))]
    return Contestant(name, [python, "-P", "-W", "ignore", *program, *arguments])


def compare_peers(
    *,
    seconds: float = 0.15,
    rounds: int = 40,
    num_envs: int = NUM_ENVS,
    python: str | None = None,
    progress: Progress = lambda _what, _share: None,
) -> Figures:
    """Step the same environments with every contestant in turn, on two cores.

    Args:
        seconds: Length of one measurement.
        rounds: How often those take turns whose ratios are told: the loops, the fastest peer and `shm`.
        num_envs: N.
        python: The interpreter that has PufferLib, which does not go with our versions; ours if None.
        progress: Told what is being measured.

    Returns:
        `rows`: `peer`, `environment`, `num_envs`, `sps` and its extremes; `by_environment` with the `fastest_peer`, the
        median ratios `shm_over_fastest` and `shm_over_loop`, `share_of_limit`, that of `cores` times a plain loop, and
        `share_of_loops`, that of so many plain loops at once; `steal`, what the hypervisor took of the cores meanwhile
        (None where that is not known), `spread`, that between the tenth and the ninetieth percentile of the loop's
        rates over their median, and by these whether the machine was `quiet`; the `cores` that all kept to; and who was
        `absent`, and why.

    Raises:
        PeerFailed: A contestant did not answer.
    """
    cores = first_cores()
    result: Figures = {"cores": cores, "rows": [], "by_environment": {}, "absent": {}}
    for index, (name, cost) in enumerate(COSTS.items()):
        environment = f"burn:{work_for(cost)}" if cost else name
        with ExitStack() as stack:
            running = {}
            for one in _contestants(environment, num_envs, cores, python, result["absent"]):
                stack.callback(one.close)
                running[one.name] = one
                progress(f"{name}: starting {one.name}", index / len(COSTS))
            survey = _take_turns(running.values(), SURVEY, seconds)
            fastest = max(contestants.PEERS.keys() & survey, key=lambda peer: median(survey[peer]))
            before = core_times(cores)
            turns: Samples = {peer: [] for peer in ("loop", "loops", fastest, "shm")}
            for turn in range(rounds):
                progress(name, (index + turn / rounds) / len(COSTS))
                for peer, rates in _take_turns([running[peer] for peer in turns], 1, seconds).items():
                    turns[peer] += rates
        for peer, rates in (survey | turns).items():
            figures = summed_up(rates)
            row = {"peer": peer, "environment": name, "num_envs": num_envs, "sps": figures.pop("median")}
            result["rows"].append(row | figures)
        noise = _noise(turns["loop"], stolen(before, core_times(cores)))
        result["by_environment"][name] = {"fastest_peer": fastest, **_compared(turns, fastest, len(cores)), **noise}
    return result


def _take_turns(running: Iterable[Contestant], rounds: int, seconds: float) -> Samples:
    """Measure everybody once per round, one after the other."""
    everybody = list(running)
    samples: Samples = {one.name: [] for one in everybody}
    for _ in range(rounds):
        for one in everybody:
            samples[one.name].append(one.measure(seconds)["sps"])
    return samples


def _contestants(
    environment: str, num_envs: int, cores: Sequence[int], python: str | None, absent: dict[str, str]
) -> Iterator[Contestant]:
    """Start those that are installed, one after the other; note the others."""
    here = importlib.util.find_spec("pufferlib") is not None
    for name in (*contestants.OURS, *contestants.PEERS):
        elsewhere = name.startswith("pufferlib") and not here
        if elsewhere and python is None:
            absent[name] = "pufferlib is not installed; --peer-python names an interpreter that has it"
            continue
        try:
            yield contestant(name, environment, num_envs, cores, (elsewhere and python) or sys.executable)
        except Absent as error:
            absent[name] = str(error)


def _compared(samples: Samples, fastest: str, cores: int) -> Figures:
    """Return the medians of ratios, each of two measurements of the same round."""

    def ratio(name: str) -> float:
        return median(ours / theirs for ours, theirs in zip(samples["shm"], samples[name], strict=True))

    return {
        "shm_over_fastest": ratio(fastest),
        "shm_over_loop": ratio("loop"),
        "share_of_limit": ratio("loop") / cores,
        "share_of_loops": ratio("loops"),
    }


def _noise(rates: Sequence[float], steal: float | None) -> Figures:
    """Return what disturbed the measurement, as far as that can be seen."""
    low, middle, high = np.percentile(rates, (10, 50, 90)).tolist()
    spread = (high - low) / middle
    return {"steal": steal, "spread": spread, "quiet": (steal or 0) < QUIET_STEAL and spread < QUIET_SPREAD}
