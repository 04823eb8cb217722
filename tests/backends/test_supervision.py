"""Workers that die, hang or raise are replaced; the others go on, and the learner is not fed a lie."""

from __future__ import annotations

import os
import signal
import stat
from contextlib import closing

import numpy as np
import pytest

from pac.backends import BackendError, BackendTimeout, WorkerFailed, WorkerState, make
from pac.backends.core.layout import Layout
from pac.backends.core.status import EnvStatus
from pac.backends.system.segment import own_directory
from pac.backends.workers.supervised import AbsentRows
from pac.envs import EnvironmentFailed, find
from pac.envs.fields import DECIDES, OUT, WAITS

from ..waiting import until


@pytest.fixture(params=["shm", "socket", "http"], scope="module")
def backend(request):
    return request.param


@pytest.fixture(scope="module")
def counters(backend, toy):
    """Environments in two workers, which have made a step."""
    with closing(make(toy("Counter"), 5, backend, workers=2)) as envs:
        envs.start()
        envs.advance(0)
        yield envs


def test_what_the_workers_are_doing(counters):
    """Each worker's status says its process, environments, steps, age and cost."""
    first, second = counters.workers
    assert (first.lo, first.hi, second.lo, second.hi) == (0, 2, 2, 5)
    assert first.pid != second.pid != os.getpid()
    assert first.state is WorkerState.READY
    assert first.rss > 1 << 20
    assert first.cpu_seconds > 0
    assert first.heartbeat < 60
    assert counters.busy_seconds > 0


def modes(*paths):
    """Return the permissions of files."""
    return {stat.S_IMODE(path.stat().st_mode) for path in paths}


def test_other_users_have_no_access(counters):
    """Directories are 0700 and files 0600."""
    assert modes(own_directory()) == {0o700}
    assert len(counters.workers) < len(list(own_directory().iterdir()))
    assert modes(*own_directory().iterdir()) == {0o600}


def test_workers_ignore_ctrl_c(counters):
    """A worker ignores SIGINT, and is out of the terminal's reach in a session of its own."""
    pids = [worker.pid for worker in counters.workers]
    for pid in pids:
        os.kill(pid, signal.SIGINT)
        assert os.getsid(pid) == pid != os.getsid(0)
    counters.advance(0)
    assert [worker.pid for worker in counters.workers] == pids


def test_a_paused_session_costs_nothing(counters):
    """Between two signs of life an idle worker uses no processor: it is blocked."""
    until(lambda: counters.workers[1].heartbeat > 0.3)
    before = counters.workers[1].cpu_seconds
    until(lambda: counters.workers[1].heartbeat < 0.3)
    until(lambda: counters.workers[1].heartbeat > 0.3)
    assert counters.workers[1].cpu_seconds - before <= 0.02


def step(envs):
    """Step once, carrying at the end of the buffer; return the slot of the results."""
    if envs.order.full and envs.slots > 1:
        envs.carry()
    envs.buffer["action"][envs.order.newest] = 1
    envs.advance(envs.order.newest)
    return envs.order.newest


@pytest.mark.parametrize(("backend", "slots"), [("shm", 1), ("shm", 4), ("socket", 1), ("http", 4)])
def test_a_worker_killed_in_the_middle_of_training(toy, backend, slots, tmp_path):
    """The others step on; its rows are inactive; at its return its episodes are truncated and the next ones begin."""
    file = tmp_path / "start"
    file.touch()
    with closing(make(toy("Late", file=file), 6, backend, workers=3, slots=slots)) as envs:
        envs.start()
        for _ in range(2):
            step(envs)
        file.unlink()
        os.kill(envs.workers[1].pid, signal.SIGKILL)
        for _ in range(2):
            slot = step(envs)
        rows = envs.buffer
        assert rows["observation"][slot, [0, 1, 4, 5], 0].tolist() == [4, 4, 4, 4]
        assert rows["active"][slot].tolist() == [1, 1, 0, 0, 1, 1]
        assert rows["reward"][slot].tolist() == [1, 1, 0, 0, 1, 1]
        assert not rows["truncated"][slot].any()
        assert rows["status"][0, 2:4].tolist() == [EnvStatus.DEAD] * 2
        assert rows["status"][0, [0, 1, 4, 5]].tolist() == [EnvStatus.READY] * 4
        died = envs.drain_events()[0]
        assert (died.level, died.worker, died.lo, died.hi) == ("warning", 1, 2, 4)
        assert "killed by SIGKILL" in died.text
        file.touch()
        slot = until(lambda: rows["truncated"][(slot := step(envs))].any() and [slot])[0]
        assert rows["truncated"][slot].tolist() == [0, 0, 1, 1, 0, 0]
        assert not rows["terminated"][slot].any()
        assert rows["active"][slot].tolist() == [1, 1, 0, 0, 1, 1]
        assert rows["episode_return"][slot, 2:4].tolist() == [2, 2]
        assert rows["final_observation"][slot, 2:4, 0].tolist() == [2, 2]
        assert rows["observation"][slot, 2:4, 0].tolist() == [0, 0]
        assert rows["episode"].tolist() == [[0, 0, 1, 1, 0, 0]]
        assert envs.drain_events()[-1].text == "worker 2 (environments 3..4) is back"
        assert rows["status"][0].tolist() == [EnvStatus.READY] * 6
        slot = step(envs)
        assert rows["active"][slot].all()
        assert rows["observation"][slot, 2:4, 0].tolist() == [1, 1]
        assert [worker.restarts for worker in envs.workers] == [0, 1, 0]


def test_a_worker_that_fails_at_its_return_is_still_absent(toy, backend, tmp_path):
    """Its episodes are truncated when its environments have been reset, also where each step ends an episode."""
    file = tmp_path / "start"
    file.touch()
    with closing(make(toy("Late", file=file, length=1), 5, backend, workers=2)) as envs:
        rows = envs.buffer
        envs.start()
        step(envs)
        file.write_text("fail")
        os.kill(envs.workers[1].pid, signal.SIGKILL)
        until(lambda: (step(envs), envs.workers[1].restarts == 2)[1], "it has failed again")
        assert rows["active"][0].tolist() == rows["terminated"][0].tolist() == [1, 1, 0, 0, 0]
        assert not rows["truncated"][0].any()
        until(lambda: (step(envs), rows["truncated"][0].any())[1], "it is back")
        assert rows["truncated"][0].tolist() == [0, 0, 1, 1, 1]
        assert [worker.restarts for worker in envs.workers] == [0, 2]


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
        (event,) = envs.drain_events()
        assert event.text.startswith("worker 1 ")
        assert "failed after 3 steps: exit code 7" in event.text
        assert not envs.buffer["active"][1].any()
        envs.carry()
        envs.advance(0)
        assert envs.buffer["truncated"][1].all()
        envs.carry()
        envs.advance(0)
        assert envs.buffer["active"][1].all()


def test_a_report_names_the_right_one_of_several_workers(toy, backend, monkeypatch, tmp_path):
    """The third of four, with slices of different sizes: in events, statuses, rows and the error that ends it."""
    monkeypatch.setattr("pac.backends.workers.fleet.WINDOW", np.inf)
    mine, losses, flag = np.isin(np.arange(10), [5, 6]), 0, tmp_path / "failing"
    with closing(make(toy("Touchy", flag=flag), 10, backend, workers=4, hang_timeout=60.0)) as envs:
        rows, action = envs.buffer, envs.buffer["action"][0]
        envs.start()
        for way, reason in ((2, "ValueError: bad card"), (3, "killed by SIGKILL"), (0, "")):
            step(envs)
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
            until(lambda: step(envs) or rows["truncated"][0].any(), "the worker is back")
            assert rows["truncated"][0].tolist() == mine.tolist()
            assert envs.drain_events()[-1].text == "worker 3 (environments 6..7) is back"
            losses += 1
            assert rows["episode"][0].tolist() == (mine * losses).tolist()
            assert [worker.restarts for worker in envs.workers] == [0, 0, losses, 0]
            assert [bool(worker.last_error) for worker in envs.workers] == [False, False, True, False]
        flag.unlink()
        envs.send(0)
        until(flag.exists)
        vars(envs)["_fleet"].hang_timeout = 0.3  # from here on nothing that is only slow can be taken for a hang
        with pytest.raises(WorkerFailed, match="worker 3 ") as caught:
            envs.wait()
        failure = caught.value.failure
        assert (failure.worker, failure.lo, failure.hi, failure.environment, failure.action) == (2, 5, 7, 6, 0)
        assert failure.reason.startswith("no sign of life")
        assert "faulty.py" in failure.output
        assert rows["status"][0].tolist() == np.where(mine, EnvStatus.HUNG, EnvStatus.READY).tolist()


def test_a_worker_that_fails_repeatedly(toy, backend):
    """The third failure within a minute is an error with everything a person needs; then only closing is left."""
    with closing(make(toy("Fragile", how="print", at=0), 2, backend, workers=1, seed=21)) as envs:
        envs.start()
        envs.buffer["action"][0] = 3
        for _ in range(2 * 2):
            envs.advance(0)
        with pytest.raises(WorkerFailed, match="3 times within 60 s") as caught:
            envs.advance(0)
        failure = caught.value.failure
        assert (failure.worker, failure.lo, failure.hi, failure.environment) == (0, 0, 2, 0)
        assert (failure.action, failure.seed) == (3, 21)
        assert "SystemError: unprintable" in failure.traceback
        assert "self.fail()" in failure.traceback
        assert "a last word" in failure.output
        assert modes(*own_directory().iterdir()) == {0o600}, "a report of a failure can be read by others"
        with pytest.raises(BackendError, match="it has failed"):
            envs.advance(0)


def test_an_exception_in_process_keeps_its_cause(toy):
    """Without workers the original exception is the cause of the one that names the environment."""
    with closing(make(toy("Fragile", how="raise", at=0), 2, "inline")) as envs:
        envs.start()
        with pytest.raises(EnvironmentFailed, match=r"environment 1 of .* raised ValueError: bad card") as caught:
            envs.advance(0)
        assert isinstance(caught.value.__cause__, ValueError)


def test_what_an_environment_started_ends_with_its_worker(toy, backend, alive, tmp_path):
    """Whether the worker was killed or is closed."""
    file = tmp_path / "pid"
    with closing(make(toy("Parent", file=file), 1, backend)) as envs:
        envs.start()
        first = int(file.read_text())
        assert alive(first)
        os.kill(envs.workers[0].pid, signal.SIGKILL)
        step(envs)
        until(lambda: not alive(first))
        until(lambda: file.read_text() not in {"", str(first)})
        step(envs)
        assert alive(int(file.read_text()))
    until(lambda: not alive(int(file.read_text())))


def test_an_environment_that_cannot_be_built(toy, backend):
    """A worker whose constructor raises, or does not end in time, is an error; no file is left, see `_clean`."""
    with pytest.raises(WorkerFailed, match="no licence found") as caught:
        make(toy("Unbuildable"), 2, backend, workers=2)
    assert "RuntimeError: no licence found" in caught.value.failure.traceback
    assert "__init__" in caught.value.failure.traceback
    with pytest.raises(WorkerFailed, match=r"not ready within 0\.3 s"):
        make(toy("Late", file="/nowhere"), 1, backend, timeout=0.3)


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


def test_closing_does_not_wait_for_a_hung_worker(toy, backend, alive, monkeypatch):
    """A worker that hangs in a step is killed at the close."""
    monkeypatch.setattr("pac.backends.workers.fleet.GRACE", 0.1)
    envs = make(toy("Fragile", how="hang", at=0), 1, backend, hang_timeout=3600.0)
    envs.start()
    envs.send(0)
    pid = envs.workers[0].pid
    envs.close()
    assert not alive(pid)


def test_a_seat_that_was_eliminated_in_the_interrupted_step_stays_so():
    """Otherwise its last decision would be valued as if it had lived on; the others wait."""
    task = find("treasure:agents=3")
    buffer = Layout(task, 2, 4).map()
    buffer["active"][1] = np.array([DECIDES, OUT, DECIDES, DECIDES, OUT, DECIDES])
    AbsentRows(task, buffer, 0, 1, 1)
    assert buffer["active"][1].tolist() == [WAITS, OUT, WAITS, DECIDES, OUT, DECIDES]


@pytest.mark.parametrize("backend", ["shm", "socket"])
def test_a_buffer_of_two_rollouts_is_awaited_without_polls(backend, monkeypatch):
    """Where another thread learns, this process blocks at once; it never yields in a loop of Python."""
    yields: list[None] = []
    monkeypatch.setattr(os, "sched_yield", lambda: yields.append(None))
    with closing(make("noop", 2, backend, strict=True, slots=10, rollouts=2, workers=1)) as envs:
        envs.start()
        for _ in range(3):
            for _ in range(4):
                envs.advance(envs.order.newest)
            envs.carry()
    assert yields == []


def test_nan_and_infinity_are_reported(toy, monkeypatch):
    """A reward or an observation that is not finite is one warning that names the environment, not an end."""
    monkeypatch.setattr("pac.backends.core.finite.REPORT_INTERVAL", 0.0)
    for what, slots in (("reward", 1), ("observation", 1), ("reward", 4), ("observation", 4)):
        with closing(make(toy("NotANumber", what=what), 2, "inline", slots=slots)) as envs:
            envs.reset()
            for _ in range(9):
                envs.step(np.zeros(2, np.int64))
            (event,) = envs.drain_events()
            assert f"environment 1 returned a {what} that is NaN or infinite" in event.text
