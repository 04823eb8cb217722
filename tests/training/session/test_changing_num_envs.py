"""Another number of environments: restarts, the baseline, sweeps, and what memory allows."""

import time
from functools import partial

import psutil
import pytest

from pac.backends import TooManyEnvironments
from pac.training.session.control import CommandRefused
from pac.training.telemetry.records import Phase
from pac.training.telemetry.throughput import TrainingClock

from ..watched import run_here, running, session

pytestmark = pytest.mark.session


@pytest.fixture
def hurried(tmp_path, monkeypatch):
    """Return a session in a thread of this process, whose clock runs fast."""
    clock = partial(TrainingClock, lambda: 16 * time.perf_counter())
    monkeypatch.setattr("pac.training.session.services.TrainingClock", clock)
    with session(tmp_path, in_process=True) as watched:
        watched.until(running)
        yield watched


def test_a_restart_of_a_paused_session_happens(live):
    """A closed gate does not prevent it, and the session stays paused."""
    watched = live()
    watched.pause()
    watched.call("restart", num_envs=2)
    watched.until(lambda snapshot: snapshot.num_envs == 2 and snapshot.phase is Phase.PAUSED)


def test_an_impossible_n_leaves_the_session_as_it_was(tmp_path):
    """Too many environments for the memory: an event says so, and training continues with the old N."""
    with session(tmp_path, task="drmario", backend="shm") as watched:
        watched.until(running)
        psutil.Process(watched.process.pid).rlimit(psutil.RLIMIT_FSIZE, (2**24, 2**24))  # a small /dev/shm
        watched.call("restart", num_envs=100_000)
        seen = watched.until(lambda snapshot: any("Back to 4" in event.text for event in snapshot.events))
        assert "shared memory" in seen.events[-1].text
        watched.until(lambda snapshot: snapshot.num_envs == 4 and snapshot.phase is Phase.RUNNING)


def test_the_baseline_is_measured_and_n_is_restored(hurried):
    """`baseline` runs one environment for at least 2 s, then returns to N with speedup and efficiency."""
    assert hurried.see().efficiency is None
    hurried.call("baseline")
    seen = hurried.until(lambda snapshot: snapshot.baseline is not None and snapshot.num_envs == 4 and snapshot.fps > 0)
    assert seen.speedup == pytest.approx(seen.fps / seen.baseline)
    assert seen.efficiency == pytest.approx(100 * seen.speedup / 4)
    assert next(entry.num_envs for entry in seen.scaling) == 1


def test_a_sweep_measures_every_n_and_returns(hurried):
    """One after the other; meanwhile, another measurement is refused, and so is a limit of the speed."""
    hurried.call("sweep", counts=[2, 1])
    hurried.until(lambda snapshot: snapshot.message == "measuring num_envs=1 (1 of 2)")
    with pytest.raises(CommandRefused, match="a measurement is already running"):
        hurried.call("baseline")
    with pytest.raises(CommandRefused, match="a measurement is running"):
        hurried.call("speed", sps=100)
    hurried.call("speed", sps=0)
    hurried.until(lambda snapshot: snapshot.message == "measuring num_envs=2 (2 of 2)")
    seen = hurried.until(lambda snapshot: snapshot.num_envs == 4 and running(snapshot))
    assert {item.num_envs for item in seen.scaling if item.seconds >= 4} >= {1, 2}
    hurried.until(lambda snapshot: "restarted with num_envs=4" in [event.text for event in snapshot.events])


def test_a_sweep_can_be_cancelled(live):
    """The session returns to the previous N."""
    watched = live()
    watched.call("sweep", counts=[3])
    watched.until(lambda snapshot: snapshot.num_envs == 3)
    watched.call("cancel_sweep")
    watched.until(lambda snapshot: snapshot.num_envs == 4 and running(snapshot))


@pytest.fixture
def crowd(tmp_path, monkeypatch):
    """Run many environments in this process, as if 4 MiB of memory were free."""
    monkeypatch.setattr("pac.backends.core.memory.available_memory", lambda: 4 << 20)

    def run(*, num_envs=1000, restart=0, **options):
        options |= {"task": "CartPole-v1", "trainer": "random", "backend": "inline", "num_envs": num_envs}
        return run_here(tmp_path, steps=500, begin=lambda made: restart and made.envs.restart(restart), **options)[0]

    return run


@pytest.mark.parametrize(
    ("wanted", "options"),
    [
        ("1,000", {}),
        ("1,000", {"num_envs": 2, "restart": 1000}),
        ("1,000,000", {"num_envs": 1_000_000}),  # their history alone needs more
    ],
)
def test_as_many_environments_as_there_is_memory_for(crowd, wanted, options):
    """Fewer run than were requested, also after a restart, and an event says why."""
    report = crowd(**options)
    assert 2 < report["num_envs"] < 1000
    assert report["steps"] >= 500
    assert report["restarts"] == ("restart" in options)
    event = report["events"][0]
    assert event.startswith(f"N={wanted} needs about")
    assert event.endswith(f"are available: using {report['num_envs']:,}") or wanted == "1,000,000"


@pytest.mark.parametrize(
    ("num_envs", "sentence"),
    [(1000, "use at most"), (1_000_000, r"N=1,000,000 needs about .* to keep their last steps, .* are available")],
)
def test_strict_fails_instead_of_running_fewer_environments(crowd, num_envs, sentence):
    """With `strict`, too many are an error, before the memory is allocated."""
    with pytest.raises(TooManyEnvironments, match=sentence):
        crowd(num_envs=num_envs, strict=True)


def test_a_speed_limit_holds_at_any_number_of_environments(live):
    """1,600 steps per second of 4 environments are 1,600 of 16 after a restart, as the screen says."""
    watched = live()
    watched.call("speed", sps=1600)
    watched.call("restart", num_envs=16)
    begun = watched.until(lambda snapshot: snapshot.num_envs == 16 and running(snapshot)).state
    ended = watched.until(lambda snapshot: snapshot.state["steps"] >= begun["steps"] + 800).state
    assert ended["speed"] == 1600
    assert ended["steps"] - begun["steps"] <= 1600 * (ended["now"] - begun["now"]) + 2 * 16


def test_rates_follow_a_new_speed_limit(live):
    """They are measured again from there, not averaged over both limits."""
    watched = live()
    seconds = watched.see().state["training_seconds"] + 0.5
    fast = watched.until(lambda snapshot: snapshot.state["training_seconds"] > seconds).state["sps"]
    watched.call("speed", sps=fast / 8)
    steps = watched.until(lambda snapshot: snapshot.state["speed"] > 0).state["steps"]
    slow = watched.until(lambda snapshot: snapshot.state["sps"] < fast / 4)
    assert slow.state["steps"] < steps + fast / 4  # two seconds; an average over both limits would take three
