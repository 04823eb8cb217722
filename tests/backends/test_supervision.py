"""Workers that die, hang or raise are replaced; the others go on, and the learner is not fed a lie."""

from __future__ import annotations

import os
import signal
from contextlib import closing

import numpy as np
import psutil
import pytest

from pac.backends import BackendError, BackendTimeout, WorkerFailed, WorkerState, make
from pac.backends.core.status import EnvStatus
from pac.backends.system.segment import own_directory
from pac.envs import EnvironmentFailed

from ..waiting import until


@pytest.fixture(params=["shm", "socket", "http"])
def backend(request):
    return request.param


def step(envs, slot):
    """Step once, carrying at the end of the buffer; return the slot of the results."""
    if slot == envs.slots - 1:
        envs.carry()
        slot = 0
    envs.buffer["action"][slot] = 1
    envs.advance(slot)
    return slot + 1 if envs.slots > 1 else 0


@pytest.mark.parametrize("slots", [1, 4])
def test_a_worker_killed_in_the_middle_of_training(toy, backend, slots):
    """The others step on; its rows are inactive; at its return its episodes are truncated and the next ones begin."""
    with closing(make(toy("Counter", length=10**6), 6, backend, workers=2, slots=slots)) as envs:
        envs.start()
        slot = step(envs, step(envs, 0))
        os.kill(envs.workers[1].pid, signal.SIGKILL)
        for _ in range(2):
            slot = step(envs, slot)
        rows = envs.buffer
        assert rows["observation"][slot, :, 0].tolist()[:3] == [4, 4, 4]
        assert rows["active"][slot].tolist() == [1, 1, 1, 0, 0, 0]
        assert rows["reward"][slot].tolist() == [1, 1, 1, 0, 0, 0]
        assert not rows["truncated"][slot].any()
        assert rows["status"][0].tolist() == [EnvStatus.READY] * 3 + [EnvStatus.DEAD] * 3
        died = envs.drain_events()[0]
        assert (died.level, died.worker, died.lo, died.hi) == ("warning", 1, 3, 6)
        assert "killed by SIGKILL" in died.text

        def back() -> bool:
            nonlocal slot
            slot = step(envs, slot)
            return bool(rows["truncated"][slot].any())

        until(back)
        assert rows["truncated"][slot].tolist() == [0, 0, 0, 1, 1, 1]
        assert not rows["terminated"][slot].any()
        assert rows["active"][slot].tolist() == [1, 1, 1, 0, 0, 0]
        assert rows["episode_return"][slot, 3:].tolist() == [2, 2, 2]
        assert rows["final_observation"][slot, 3:, 0].tolist() == [2, 2, 2]
        assert rows["observation"][slot, 3:, 0].tolist() == [0, 0, 0]
        assert rows["episode"].tolist() == [[0, 0, 0, 1, 1, 1]]
        assert "is back" in envs.drain_events()[-1].text
        assert rows["status"][0].tolist() == [EnvStatus.READY] * 6
        slot = step(envs, slot)
        assert rows["active"][slot].all()
        assert rows["observation"][slot, 3:, 0].tolist() == [1, 1, 1]
        assert envs.workers[1].restarts == 1


def test_the_return_of_the_only_worker_is_waited_for(toy, backend, tmp_path):
    """The event says how it ended, and after how many steps."""
    task = toy("Fragile", how="exit", flag=tmp_path / "flag")
    with closing(make(task, 3, backend, workers=1, slots=2)) as envs:
        envs.start()
        for _ in range(3):
            envs.buffer["action"][0] = [0, 1, 2]
            envs.advance(0)
            envs.carry()
        envs.buffer["action"][0] = [3, 2, 1]
        envs.advance(0)
        events = envs.drain_events()
        assert events, (envs.buffer["episode_length"].tolist(), list(tmp_path.iterdir()))
        assert events[0].text.startswith("worker 1 ")
        assert "failed after 3 steps: exit code 7" in events[0].text
        assert not envs.buffer["active"][1].any()
        envs.carry()
        envs.advance(0)
        assert envs.buffer["truncated"][1].all()
        envs.carry()
        envs.advance(0)
        assert envs.buffer["active"][1].all()


def test_a_report_names_the_right_one_of_several_workers(toy, backend, monkeypatch):
    """The third of four, with slices of different sizes: in events, statuses, rows and the error that ends it."""
    monkeypatch.setattr("pac.backends.workers.fleet.WINDOW", np.inf)
    mine, losses = np.isin(np.arange(10), [5, 6]), 0
    with closing(make(toy("Touchy"), 10, backend, workers=4, hang_timeout=3.0)) as envs:
        rows, action = envs.buffer, envs.buffer["action"][0]
        envs.start()
        for way, reason in ((2, "ValueError: bad card"), (3, "killed by SIGKILL"), (0, "")):
            step(envs, 0)
            action[6] = way
            if not way:
                break
            envs.advance(0)
            (event,) = envs.drain_events()
            assert (event.level, event.worker, event.lo, event.hi) == ("warning", 2, 5, 7)
            located = f"environment 7, seed 0, action {way}" if (backend, way) != ("http", 3) else "environments 6..7"
            assert event.text.startswith(f"worker 3 ({located}) failed after 1 steps: ")
            assert reason in event.text
            assert ("faulty.py" in event.text) == (way == 2)
            assert rows["active"][0].tolist() == (~mine).tolist()
            assert rows["status"][0].tolist() == np.where(mine, EnvStatus.DEAD, EnvStatus.READY).tolist()
            until(lambda: step(envs, 0) or rows["truncated"][0].any(), "the worker is back")
            assert rows["truncated"][0].tolist() == mine.tolist()
            assert envs.drain_events()[-1].text == "worker 3 (environments 6..7) is back"
            losses += 1
            assert rows["episode"][0].tolist() == (mine * losses).tolist()
            assert [worker.restarts for worker in envs.workers] == [0, 0, losses, 0]
            assert [bool(worker.last_error) for worker in envs.workers] == [False, False, True, False]
        with pytest.raises(WorkerFailed, match="worker 3 ") as caught:
            envs.advance(0)
        failure = caught.value.failure
        assert (failure.worker, failure.lo, failure.hi, failure.environment, failure.action) == (2, 5, 7, 6, 0)
        assert failure.reason.startswith("no sign of life")
        assert "faulty.py" in failure.output
        assert rows["status"][0].tolist() == np.where(mine, EnvStatus.HUNG, EnvStatus.READY).tolist()


def test_a_worker_that_fails_repeatedly(toy, backend):
    """The third failure within a minute is an error with everything a person needs; then only closing is left."""
    with closing(make(toy("Fragile", how="print"), 2, backend, workers=1, seed=21)) as envs:
        envs.start()
        envs.buffer["action"][0] = 3
        for _ in range(3 + 2 * 5):
            envs.advance(0)
        with pytest.raises(WorkerFailed, match="3 times within 60 s") as caught:
            envs.advance(0)
        failure = caught.value.failure
        assert (failure.worker, failure.lo, failure.hi, failure.environment) == (0, 0, 2, 0)
        assert (failure.action, failure.seed) == (3, 21)
        assert "SystemError: unprintable" in failure.traceback
        assert "self.fail()" in failure.traceback
        assert "a last word" in failure.output
        with pytest.raises(BackendError, match="it has failed"):
            envs.advance(0)


def test_an_exception_in_process_keeps_its_cause(toy):
    """Without workers the original exception is the cause of the one that names the environment."""
    envs = make(toy("Fragile", how="raise", at=0), 2, "inline")
    envs.start()
    with pytest.raises(EnvironmentFailed, match=r"environment 1 of .* raised ValueError: bad card") as caught:
        envs.advance(0)
    assert isinstance(caught.value.__cause__, ValueError)
    envs.close()


@pytest.mark.parametrize("end", ["closed", "killed"])
def test_what_an_environment_started_ends_with_its_worker(toy, backend, tmp_path, end):
    """However the worker ends."""
    file = tmp_path / "pid"

    def gone(pid: int) -> bool:
        try:
            return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return True

    with closing(make(toy("Parent", file=file), 1, backend)) as envs:
        envs.start()
        if end == "killed":
            first = int(file.read_text())
            os.kill(envs.workers[0].pid, signal.SIGKILL)
            step(envs, 0)
            until(lambda: gone(first))
    until(lambda: gone(int(file.read_text())))


def test_an_environment_that_cannot_be_built(toy, backend):
    """A worker whose constructor raises is an error at once, with the original traceback."""
    with pytest.raises(WorkerFailed, match="no licence found") as caught:
        make(toy("Unbuildable"), 2, backend, workers=2)
    assert "RuntimeError: no licence found" in caught.value.failure.traceback
    assert "__init__" in caught.value.failure.traceback


def test_a_worker_that_is_not_ready_in_time(toy, backend):
    """A constructor that does not end is an error after the time limit."""
    with pytest.raises(WorkerFailed, match=r"not ready within 0\.8 s"):
        make(toy("Endless"), 1, backend, timeout=0.8)


def test_a_step_beyond_its_time_limit_can_be_waited_for_again(toy, backend, tmp_path):
    """A time limit of one wait is an error that leaves the step pending."""
    with closing(make(toy("Slow", until=tmp_path / "go"), 1, backend)) as envs:
        envs.start()
        envs.send(0)
        with pytest.raises(BackendTimeout, match="wait again"):
            envs.wait(timeout=0.05)
        (tmp_path / "go").touch()
        envs.wait()
        assert envs.buffer["observation"][0, 0, 0] == 1


def test_closing_does_not_wait_for_a_hung_worker(toy, backend, alive):
    """A worker that hangs in a step is killed at the close."""
    envs = make(toy("Fragile", how="hang", at=0), 1, backend, hang_timeout=3600.0)
    envs.start()
    envs.send(0)
    pid = envs.workers[0].pid
    envs.close()
    assert not alive(pid)


def test_nan_and_infinity_are_reported(toy, monkeypatch):
    """A reward or an observation that is not finite is one warning that names the environment, not an end."""
    monkeypatch.setattr("pac.backends.core.finite.REPORT_INTERVAL", 0.0)
    for what, slots in (("reward", 1), ("observation", 1), ("reward", 4), ("observation", 4)):
        envs = make(toy("NotANumber", what=what), 2, "inline", slots=slots)
        envs.reset()
        for _ in range(9):
            envs.step(np.zeros(2, np.int64))
        events = envs.drain_events()
        envs.close()
        assert len(events) == 1
        assert f"environment 1 returned a {what} that is NaN or infinite" in events[0].text


def test_what_the_workers_are_doing(toy, backend):
    """Each worker's status says its process, environments, steps, age and cost."""
    with closing(make(toy("Counter"), 5, backend, workers=2)) as envs:
        envs.start()
        envs.advance(0)
        first, second = envs.workers
        assert (first.lo, first.hi, second.lo, second.hi) == (0, 2, 2, 5)
        assert first.pid != second.pid != os.getpid()
        assert first.state is WorkerState.READY
        assert first.rss > 1 << 20
        assert first.cpu_seconds > 0
        assert first.heartbeat < 60
        assert envs.busy_seconds > 0


def test_a_paused_session_costs_nothing(toy, backend):
    """Between two signs of life an idle worker uses no processor: it is blocked."""
    with closing(make(toy("Counter"), 1, backend)) as envs:
        envs.start()
        envs.advance(0)
        until(lambda: envs.workers[0].heartbeat > 0.3)
        before = envs.workers[0].cpu_seconds
        until(lambda: envs.workers[0].heartbeat < 0.3)
        until(lambda: envs.workers[0].heartbeat > 0.3)
        assert envs.workers[0].cpu_seconds - before <= 0.02


def test_nothing_is_left_after_a_failed_start(toy, backend):
    """A backend that could not be made leaves no file; the fixture looks after every test, this one names it."""
    before = set(own_directory().iterdir())
    with pytest.raises(WorkerFailed):
        make(toy("Unbuildable"), 1, backend)
    assert set(own_directory().iterdir()) == before
