"""Sessions with learners in processes: any process is killed, and they are paused and stopped at any moment."""

import contextlib
import os
import signal
import time
from functools import partial

import numpy as np
import psutil
import pytest

from pac.backends.system.segment import own_directory
from pac.backends.workers import fleet
from pac.training.independent import learners
from pac.training.session.host import SessionFailed
from pac.training.telemetry.records import Phase

from ...waiting import until
from ..watched import session
from .harness import SMALL, training

KILLS, SESSIONS, STARTS, SETTLED = 100, 25, 200, 20
"""Of the slow tests, sessions per seed; after so many starts, memory must not grow any more."""


@contextlib.contextmanager
def independent(folder, **options):
    settings = {**SMALL, "publish_interval": 4, "max_behind": 8}
    with session(
        folder, trainer="independent", task="treasure:agents=2", backend="shm", workers=2, settings=settings, **options
    ) as watched:
        yield watched


def updates(snapshot):
    """Return the gradient steps of both agents."""
    return np.array([snapshot.metrics.get(name, 0.0) for name in ("updates", "learner1/updates")])


def learned(snapshot):
    return (updates(snapshot) > 0).all()


def pids(snapshot, role):
    """Return the process ids of the workers or of the learners."""
    return snapshot.processes["pid"][snapshot.processes["role"] == role.encode()].tolist()


def children(watched):
    """Return the processes that a session has started."""
    return psutil.Process(watched.process.pid).children(recursive=True)


def ended(processes):
    """Whether none of these processes runs."""
    return not any(process.is_running() for process in processes)


@pytest.mark.session
def test_a_session_survives_the_death_of_a_learner_and_a_worker_and_its_learners_obey_the_gate(tmp_path):
    """Both agents learn on, a pause stops all learners, and after a stop no process remains."""
    with independent(tmp_path) as watched:
        watched.call("speed", sps=400)  # not all cores are for the steps
        before = watched.until(learned)
        for role in ("learner", "worker"):
            os.kill(pids(before, role)[1], signal.SIGKILL)
        after = watched.until(
            lambda now: (
                (updates(now) > updates(before) + 4).all()
                and all(len(set(pids(now, role)) - set(pids(before, role))) == 1 for role in ("learner", "worker"))
            )
        )
        assert pids(after, "learner")[0] == pids(before, "learner")[0]
        watched.call("pause")
        watched.until(lambda now: now.phase is Phase.PAUSED)
        started = children(watched)
        taken = [process for process in started if process.pid in pids(after, "learner")]
        until(lambda: all(process.status() == psutil.STATUS_SLEEPING for process in taken), "the learners block")
        assert watched.end()["steps"] > 0
        until(partial(ended, started), "the end of all processes")


@pytest.mark.session
def test_when_a_session_is_killed_its_learners_end(tmp_path):
    """Also during a gradient step, and without a message from it."""
    with independent(tmp_path) as watched:
        watched.until(learned)
        started = children(watched)
        os.kill(watched.process.pid, signal.SIGKILL)
        until(partial(ended, started), "the end of all processes")


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_killing_processes_at_random_moments_loses_nothing(monkeypatch):
    """Learners and workers: each is replaced, the counts of all agents go on, and nothing remains."""
    monkeypatch.setattr(learners, "FAILURE_PERIOD", 0.0)
    monkeypatch.setattr(fleet, "WINDOW", 0.0)
    random, started = np.random.default_rng(0), set()
    with training(processes=True, max_behind=8, publish_interval=4, backend="shm", iterations=2) as trainer:
        for _ in range(KILLS):
            found = [status.pid for status in (*trainer.supervisor.statuses(), *trainer._envs.workers)]
            started |= {psutil.Process(pid) for pid in found if psutil.pid_exists(pid)}
            before = np.array([agent.counts.updates for agent in trainer._agents])
            time.sleep(random.random() / 10)
            with contextlib.suppress(ProcessLookupError):  # it is just being replaced
                os.kill(int(random.choice(found)), signal.SIGKILL)
            until(partial(goes_on, trainer, before), "gradient steps of both")
    assert ended(started)
    assert not left()


def goes_on(trainer, before):
    """Iterate; return whether each agent has taken more gradient steps than before."""
    trainer.iterate()
    return (np.array([agent.counts.updates for agent in trainer._agents]) > before).all()


def left():
    """Return the files of trainings in this process's directory."""
    names = ("learners", "mailbox", "replay", "laps", "pac-")
    return [path for path in own_directory().iterdir() if path.name.startswith(names)]


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("seed", range(1, 5))
def test_sessions_end_at_random_moments(tmp_path, seed):
    """Killed, stopped, or paused and stopped, also while they start: no process remains."""
    random = np.random.default_rng(seed)
    for number in range(SESSIONS):
        with independent(tmp_path / str(number)) as watched:
            time.sleep(15 * random.random())
            started = children(watched)
            way = random.choice(["kill", "stop", "pause"])
            if way == "kill":
                os.kill(watched.process.pid, signal.SIGKILL)
            else:
                if way == "pause":
                    watched.call("pause")
                    time.sleep(random.random() / 10)
                watched.call("stop")
                with contextlib.suppress(SessionFailed):
                    watched.process.report()
            until(partial(ended, started), f"the end of all after {way}")


@pytest.mark.slow
@pytest.mark.timeout(14400)
def test_starting_and_stopping_leaks_nothing():
    """Neither processes, nor files in shared memory, nor descriptors, nor memory."""
    own, settled = psutil.Process(), (0, 0)
    for number in range(STARTS):
        with training(processes=True, max_behind=0, num_envs=2, iterations=1):
            pass
        assert not own.children(recursive=True)
        assert not left()
        if number == min(SETTLED, STARTS // 2):
            settled = own.num_fds(), own.memory_info().rss
    assert own.num_fds() <= settled[0]
    assert own.memory_info().rss < 1.1 * settled[1]


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("seconds", [1800])
def test_a_long_run_needs_no_more_memory(tmp_path, seconds):
    """Nor more descriptors, processes or files in shared memory than after its first third, when the replay is full."""
    with independent(tmp_path) as watched:
        watched.until(learned)
        begun, samples = time.monotonic(), []
        while time.monotonic() < begun + seconds:
            time.sleep(seconds / 60)
            samples.append(usage(watched))
        assert updates(watched.until(learned)).min() > 100
        early, late = (np.median(part, axis=0) for part in (samples[20:40], samples[40:]))
    processes, descriptors, files, memory = late / early
    assert (processes, files) == (1, 1)
    assert descriptors < 1.05
    assert memory < 1.05


def usage(watched):
    """Return the processes, descriptors, shared files and resident bytes of a session and what it started."""
    every = [psutil.Process(watched.process.pid), *children(watched)]
    shared = sum(1 for path in watched.process.directory.rglob("*") if path.is_file())
    return len(every), sum(one.num_fds() for one in every), shared, sum(one.memory_info().rss for one in every)
