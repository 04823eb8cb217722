"""Another number of environments: restarts, the baseline, sweeps, and what memory allows."""

import psutil
import pytest

from pac.backends import TooManyEnvironments
from pac.training.config import Config
from pac.training.session.control import CommandRefused
from pac.training.session.session import Session
from pac.training.telemetry.records import Phase

from ..watched import RESIDENT, running, session

pytestmark = pytest.mark.session


@pytest.mark.parametrize("backend", ["device", *RESIDENT])
def test_a_restart_keeps_counters_and_moves_readers(tmp_path, backend):
    """With another N, the segment is new and the counters continue."""
    with session(tmp_path, task="drmario", backend=backend) as watched:
        steps = watched.until(running).state["steps"]
        watched.call("restart", num_envs=7)
        seen = watched.until(lambda snapshot: snapshot.num_envs == 7 and running(snapshot))
        assert len(seen.environments) == 7
        assert seen.state["steps"] >= steps
        watched.until(lambda snapshot: snapshot.state["steps"] > steps)


def test_a_restart_of_a_paused_session_happens(tmp_path):
    """A closed gate does not prevent it, and the session stays paused."""
    with session(tmp_path) as watched:
        watched.until(running)
        watched.call("pause")
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


def test_the_baseline_is_measured_and_n_is_restored(tmp_path):
    """`baseline` runs one environment for at least 2 s, then returns to N with speedup and efficiency."""
    with session(tmp_path) as watched:
        watched.until(running)
        assert watched.see().efficiency is None
        watched.call("baseline")
        seen = watched.until(
            lambda snapshot: snapshot.baseline is not None and snapshot.num_envs == 4 and snapshot.fps > 0
        )
        assert seen.speedup == pytest.approx(seen.fps / seen.baseline)
        assert seen.efficiency == pytest.approx(100 * seen.speedup / 4)
        assert next(entry.num_envs for entry in seen.scaling) == 1


def test_a_sweep_measures_every_n_and_returns(tmp_path):
    """One after the other; meanwhile, another measurement is refused."""
    with session(tmp_path) as watched:
        watched.until(running)
        watched.call("sweep", counts=[2, 1])
        watched.until(lambda snapshot: snapshot.message == "measuring num_envs=1 (1 of 2)")
        with pytest.raises(CommandRefused, match="a measurement is already running"):
            watched.call("baseline")
        watched.until(lambda snapshot: snapshot.message == "measuring num_envs=2 (2 of 2)")
        seen = watched.until(lambda snapshot: snapshot.num_envs == 4 and running(snapshot))
        assert {item.num_envs for item in seen.scaling if item.seconds >= 4} >= {1, 2}
        watched.until(lambda snapshot: "restarted with num_envs=4" in [event.text for event in snapshot.events])


def test_a_sweep_can_be_cancelled(tmp_path):
    """The session returns to the previous N."""
    with session(tmp_path) as watched:
        watched.until(running)
        watched.call("sweep", counts=[3])
        watched.until(lambda snapshot: snapshot.num_envs == 3)
        watched.call("cancel_sweep")
        watched.until(lambda snapshot: snapshot.num_envs == 4 and running(snapshot))


@pytest.fixture
def crowd(tmp_path, monkeypatch):
    """Run many environments in this process, as if 400 KiB of memory were free."""
    monkeypatch.setattr("pac.backends.core.memory.available_memory", lambda: 400 << 10)

    def run(*, num_envs=1000, restart=0, **options):
        options |= {"task": "CartPole-v1", "trainer": "random", "backend": "inline", "runs_dir": tmp_path}
        session = Session(Config(num_envs=num_envs, steps=500, **options), tmp_path, headless=True)
        if restart:
            session.envs.restart(restart)
        return session.run()

    return run


def test_as_many_environments_as_there_is_memory_for(crowd):
    """Fewer run than were requested, and an event says why."""
    report = crowd()
    assert 1 <= report["num_envs"] < 1000
    assert report["steps"] >= 500
    (event,) = report["events"]
    assert event.startswith("N=1,000 needs about")
    assert event.endswith(f"are available: using {report['num_envs']:,}")


def test_a_restart_takes_as_many_environments_as_there_is_memory_for(crowd):
    """A restart with too many runs those that fit, and reports the same."""
    report = crowd(num_envs=2, restart=1000)
    assert 2 < report["num_envs"] < 1000
    assert report["restarts"] == 1
    (event,) = report["events"]
    assert event.startswith("N=1,000 needs about")


def test_strict_fails_instead_of_running_fewer_environments(crowd):
    """With `strict`, too many are an error."""
    with pytest.raises(TooManyEnvironments, match="use at most"):
        crowd(strict=True)


def test_the_history_of_very_many_environments_needs_memory_too(crowd):
    """The error says so before the memory is allocated."""
    with pytest.raises(
        TooManyEnvironments, match=r"N=1,000,000 needs about .* to keep their last steps, .* are available"
    ):
        crowd(num_envs=1_000_000, strict=True)


def test_as_many_environments_as_there_is_memory_for_the_history_of(crowd):
    """Without `strict`, fewer environments run."""
    report = crowd(num_envs=1_000_000)
    assert 1 <= report["num_envs"] < 1000
    assert report["events"][0].startswith("N=1,000,000 needs about")


def test_a_speed_limit_holds_at_any_number_of_environments(tmp_path):
    """160 steps per second of 4 environments are 160 of 16 after a restart, as the screen says."""
    with session(tmp_path) as watched:
        watched.until(running)
        watched.call("speed", sps=160)
        watched.call("restart", num_envs=16)
        begun = watched.until(lambda snapshot: snapshot.num_envs == 16 and running(snapshot)).state
        ended = watched.until(lambda snapshot: snapshot.state["steps"] >= begun["steps"] + 320).state
        assert ended["speed"] == 160
        assert ended["steps"] - begun["steps"] <= 160 * (ended["now"] - begun["now"]) + 2 * 16


def test_a_speed_limit_is_refused_during_a_measurement(tmp_path):
    """The sweep continues; removing the limit is accepted."""
    with session(tmp_path) as watched:
        watched.until(running)
        watched.call("sweep", counts=[1, 2])
        with pytest.raises(CommandRefused, match="a measurement is running"):
            watched.call("speed", sps=100)
        watched.call("speed", sps=0)


def test_rates_follow_a_new_speed_limit(tmp_path):
    """They are measured again from there, not averaged over both limits."""
    with session(tmp_path) as watched:
        fast = watched.until(lambda snapshot: snapshot.state["iterations"] > 3)
        assert fast.state["sps"] > 1000
        watched.call("speed", sps=160)
        steps = watched.until(lambda snapshot: snapshot.state["speed"] == 160).state["steps"]
        slow = watched.until(lambda snapshot: snapshot.state["steps"] > steps + 160)
        assert slow.state["sps"] < 400
