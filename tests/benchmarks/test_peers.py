"""The comparison with other vector environments: peers are real processes, stopped while others are measured."""

import importlib.util
import subprocess
import sys
from contextlib import closing

import psutil
import pytest

from pac.training.bench.facts import core_times, stolen
from pac.training.bench.measured_process import MeasurementFailed, NotInstalled

from ..waiting import until
from .peer import OURS, PEERS, WORKERS
from .peers import COSTS, compare_peers, start_peer

CORES = [0]


def stands_still(process: psutil.Process) -> None:
    """Wait until a process is stopped."""
    until(lambda: process.status() == psutil.STATUS_STOPPED, "it is stopped while nobody measures it")


def runs(process: psutil.Process) -> bool:
    """Whether a process has not ended."""
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


@pytest.mark.parametrize("name", ["loop", "loops", "inline", "gymnasium-sync"])
@pytest.mark.session
def test_a_peer_is_measured_and_stopped(name):
    """It steps for the requested time, and is stopped before and after."""
    with closing(start_peer(name, "burn:10", 2, CORES, sys.executable)) as one:
        process = psutil.Process(one.pid)
        stands_still(process)
        assert one.measure(0.02)["sps"] > 0
        stands_still(process)
        assert process.cpu_affinity() == CORES
    assert not process.is_running()


def test_stolen_time_is_a_share():
    """Stolen time is a share of the cores' time between two readings; it is None if the system does not report it."""
    assert stolen((10, 100), (30, 300)) == pytest.approx(0.1)
    assert stolen(None, (30, 300)) is None
    taken, everything = core_times(CORES) or (0, 1)
    assert 0 <= taken < everything


@pytest.mark.skipif(importlib.util.find_spec("pufferlib") is not None, reason="PufferLib is installed")
@pytest.mark.session
def test_a_peer_that_is_not_installed_is_absent():
    """The reason is the message of the failed import."""
    with pytest.raises(NotInstalled, match="pufferlib"):
        start_peer("pufferlib-serial", "CartPole-v1", 2, CORES, sys.executable)


@pytest.mark.session
def test_a_failed_peer_has_an_error():
    """The error contains the last line of its output."""
    with pytest.raises(MeasurementFailed, match=r"loop ended: .*NoSuchEnvironment"):
        start_peer("loop", "NoSuchEnvironment-v0", 2, CORES, sys.executable)


@pytest.mark.session
def test_peers_die_with_the_benchmark():
    """Stopped peers and their children are killed when the benchmark dies."""
    code = f"""
import sys
from tests.benchmarks.peers import start_peer
one = start_peer("loops", "burn:10", 2, {CORES}, sys.executable)
print(one.pid, flush=True)
sys.stdin.read()
"""
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as bench:
        assert bench.stdout is not None
        leader = psutil.Process(int(bench.stdout.readline()))
        started = leader.children()
        assert len(started) == WORKERS
        for process in (leader, *started):
            stands_still(process)
        bench.kill()
    until(lambda: not any(map(runs, (leader, *started))), "all of them are gone")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_peer_is_measured_on_every_environment():
    """Each row has a rate, the ratios refer to the fastest peer, and an absent peer has a reason and no row."""
    found = compare_peers(seconds=0.05, rounds=1, num_envs=2, progress=lambda _what, _share: None)
    assert set(found["by_environment"]) == set(COSTS)
    for environment, ratios in found["by_environment"].items():
        rows = {row["peer"]: row["sps"] for row in found["rows"] if row["environment"] == environment}
        assert set(rows) | set(found["absent"]) == {*OURS, *PEERS}
        assert not set(rows) & set(found["absent"])
        assert ratios["fastest_peer"] in PEERS
        assert ratios["shm_over_fastest"] == pytest.approx(rows["shm"] / rows[ratios["fastest_peer"]])
        assert ratios["share_of_loops"] == pytest.approx(rows["shm"] / rows["loops"])
        assert ratios["share_of_limit"] == pytest.approx(rows["shm"] / rows["loop"] / len(found["cores"]))
