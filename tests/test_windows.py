"""How often something may happen within a time: inside the window, at its boundary and outside, with a clock to set."""

import itertools
import math
import signal
from collections import defaultdict
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pac.backends.core import finite
from pac.backends.core.errors import BackendBroken, Failure, WorkerFailed
from pac.backends.core.layout import Layout
from pac.backends.ray_backend import backend as ray
from pac.backends.workers import fleet
from pac.training.exits import FAILED, INTERRUPTED
from pac.training.independent import learners
from pac.training.relay import remote_session
from pac.training.relay.messages import Kind, Message
from pac.training.session import viewers, watchdog
from pac.training.trainer import ProcessFailed

from .toys import toy

ENDS = (WorkerFailed, ProcessFailed, BackendBroken)


class Clock:
    """The time that modules see."""

    now = 1000.0

    def monotonic(self):
        """Return the time in s."""
        return self.now

    time = monotonic


@pytest.fixture
def clock(monkeypatch):
    """Give all modules that have windows a clock that the test sets."""
    found = Clock()
    for module in (fleet, learners, ray, finite, viewers, watchdog):
        monkeypatch.setattr(module, "time", found)
    return found


def of_workers(monkeypatch):
    """Return what lets a worker of three fail."""
    monkeypatch.setattr(fleet.Fleet, "spawn", lambda *_: None)
    found = fleet.Fleet("nowhere:nothing", [{}, {}, {}])
    return lambda index: found.replace(found.members[index], Failure(index, 0, 1, "killed"))


def of_learners(_):
    """Return what lets a learner of three fail."""
    found = object.__new__(learners.LearnerProcesses)
    vars(found).update(
        _processes=SimpleNamespace(restart=lambda _: None),
        _failed_at=[[], [], []],
        _mailboxes=[SimpleNamespace(version=1, read=lambda _: (1, np.zeros(5), None))] * 3,
        _board=SimpleNamespace(updates=np.zeros(3, np.int64)),
        _starting={},
        _context=SimpleNamespace(notify=lambda _: None),
    )
    return lambda index: found.replace(ProcessFailed(index, "killed"))


def of_nodes(_):
    """Return what lets a node of three be lost."""
    found: Any = SimpleNamespace(
        _absent=dict.fromkeys(range(3), SimpleNamespace()),
        buffer={"status": np.zeros((1, 3))},
        _event=lambda *_: None,
    )
    parts: Any = [SimpleNamespace(lost=[], lo=index, hi=index + 1, close=lambda **_: None) for index in range(3)]
    return lambda index: ray.RayBackend._lose(found, parts[index], "it is gone", 0)


@pytest.mark.parametrize("make", [of_workers, of_learners, of_nodes])
def test_the_third_failure_of_one_within_a_minute_is_the_last(monkeypatch, clock, make):
    """A minute later it counts no more, nor do those of others; it may fail for ever if it fails rarely enough."""
    fail, random = make(monkeypatch), np.random.default_rng(0)
    for _ in range(10):
        clock.now += 30
        fail(0)
    for _ in range(15):
        fail, failures, recent = make(monkeypatch), defaultdict(list), 0
        while recent < 3:
            clock.now += random.choice([0.0, 9.5, 10.0, 20.0, 29.75, 30.0])
            index = int(random.integers(3))
            failures[index].append(clock.now)
            recent = sum(then > clock.now - 60 for then in failures[index])
            with pytest.raises(ENDS) if recent == 3 else nullcontext():
                fail(index)


def test_numbers_that_are_not_finite_are_reported_every_ten_seconds(clock):
    """With how many there were; what was found before is not reported later."""
    task = toy()
    buffer = Layout(task, 3).map()
    check, reports = finite.FiniteCheck(task, buffer), []
    for second in (0.0, 5.0, 9.75, 10.0, 19.75, 20.0, 40.0):
        clock.now = 1000 + second
        buffer["reward"][0, 1] = math.nan
        check.check(0)
        buffer["reward"][0, 1] = 0.0
        reports += [(second, event.text.split("(")[1]) for event in check.events()]
        assert not check.events()
    assert reports == [(0.0, "found 1 times so far)"), (10.0, "found 4 times so far)"), (20.0, "found 6 times so far)"),
                       (40.0, "found 7 times so far)")]  # fmt: skip
    clock.now += 100
    assert not check.events()


@pytest.mark.parametrize(("linger", "first"), [(5.0, 60.0), (60.0, 60.0), (100.0, 100.0)])
def test_a_session_lingers_after_its_last_viewer(clock, linger, first):
    """At least a minute for the first one; while there is one, for ever."""
    found, one, two = viewers.Viewers(linger), viewers.Viewer(), viewers.Viewer()
    clock.now += 50
    assert found.remaining == first - 50
    found.add(one)
    found.add(two)
    clock.now += 1000
    assert found.remaining == math.inf
    found.remove(one)
    clock.now += 1000
    assert found.remaining == math.inf
    found.remove(two)
    assert found.remaining == linger
    clock.now += linger + 1
    assert found.remaining == -1


@pytest.fixture
def watched(monkeypatch, clock):
    """Return a watchdog that only has what it looks at, with what it did and the timers that it set."""
    processes = np.zeros(2, [("role", "S8"), ("pid", "i8"), ("count", "i8")])
    done: list[object] = []
    busy = SimpleNamespace(seconds=0.0)
    config: Any = SimpleNamespace(stop_timeout=10.0, hang_timeout=7.0)
    checkpoints: Any = SimpleNamespace(saving=False)
    unused: Any = pytest.fail
    services: Any = SimpleNamespace(
        viewers=SimpleNamespace(remaining=33.0),
        writer=SimpleNamespace(array=lambda _: processes),
        state=SimpleNamespace(phase=1, message="", progress=math.nan),
        timer=SimpleNamespace(last=0.0),
        counter=SimpleNamespace(counts=SimpleNamespace(steps=0)),
        ending=False,
        stop=lambda: done.append("stop"),
    )
    found = watchdog.Watchdog(config, services, checkpoints, unused, done.append)
    monkeypatch.setattr(watchdog, "_written", lambda _: 0)
    monkeypatch.setattr(found, "_busy_clock", lambda: busy.seconds)
    monkeypatch.setattr(found, "_end", lambda error, code: done.append((type(error).__name__, code)))
    monkeypatch.setattr(found, "_set_timer", lambda seconds: done.append(("timer", seconds)))
    yield SimpleNamespace(
        dog=found, services=services, checkpoints=checkpoints, processes=processes, done=done, busy=busy, clock=clock
    )
    found._received.close()
    found._signals.close()


def test_signals_within_a_second_are_one_request(watched):
    """A later one ends the session at once."""
    begun = watched.clock.now
    for second in (0.0, 0.5, 1.0):
        watched.clock.now = begun + second
        watched.dog._handle(signal.SIGTERM)
    assert watched.done == [("timer", 110.0), "stop"]
    watched.clock.now = begun + 1.25
    watched.dog._handle(signal.SIGINT)
    assert watched.done[2:] == [("ForcedExit", INTERRUPTED)]


@pytest.mark.parametrize(
    ("workers", "share", "saving", "limit"),
    [(0, 0.0, False, 10), (1, 0.0, False, 14), (0, 0.19, False, 10), (0, 0.2, False, 100), (1, 0.0, True, 100)],
)
def test_a_session_that_is_to_end_has_so_long_without_progress(watched, workers, share, saving, limit):
    """Each progress begins that time again: a step, a worker's step, a message."""
    clock, services, dog, done = watched.clock, watched.services, watched.dog, watched.done
    dog._check_progress()
    assert done == [("timer", 133.0)]
    services.ending, watched.checkpoints.saving = True, saving
    watched.processes["role"][:workers], watched.processes["pid"] = b"worker", 1
    dog._check_progress()
    changes = itertools.chain.from_iterable([
        [lambda: setattr(services.counter.counts, "steps", services.counter.counts.steps + 1)],
        [lambda: watched.processes["count"].__iadd__(1), lambda: setattr(services.state, "message", "saving")],
        [lambda: setattr(services.timer, "last", 1.0), lambda: dog.finished(0), lambda: None],
    ])  # fmt: skip
    for change in changes:
        for left in (limit / 2, 0):
            clock.now += limit / 2
            watched.busy.seconds += share * limit / 2
            dog._check_progress()
            assert done.pop() == ("timer", left + 10.0), "the rest of the limit, and the time to end"
        change()
        dog._check_progress()
    clock.now += 0.25
    watched.busy.seconds += share * 0.25
    dog._check_progress()
    assert done[-1] == ("NotResponding", FAILED)
    assert sum(each[0] == "NotResponding" for each in done if each != "stop") == 1


def test_a_broken_connection_is_tried_again_later_and_later(monkeypatch):
    """From one second to half a minute; after a connection that worked, from one second on."""
    waited: list[float] = []
    session = remote_session.RemoteSession("box", ["false"])
    session._shown.set()
    works = [False] * 8 + [True] + [False] * 2

    def connect():
        worked = works.pop(0)
        if not works:
            session._closed.set()
        if not worked:
            raise OSError("no route")

    monkeypatch.setattr(session, "_connect_and_read", connect)
    monkeypatch.setattr(session._closed, "wait", waited.append)
    session._run()
    session.close()
    assert waited == [1, 2, 4, 8, 15, 30, 30, 30, 1, 2, 4]


def test_a_connection_without_a_message_for_twenty_seconds_is_closed(monkeypatch, clock):
    """Each message begins the time again."""
    session = remote_session.RemoteSession("box", ["false"])
    monkeypatch.setattr(remote_session, "time", clock)
    begun, closed = clock.now, list[float]()

    def second(_):
        clock.now += 1
        if clock.now == begun + 15:
            session._take(Message(Kind.ANSWER, b"{}"))
        return bool(closed)

    monkeypatch.setattr(session._closed, "wait", second)
    session._end_silence(SimpleNamespace(poll=lambda: None, kill=lambda: closed.append(clock.now - begun)))  # type: ignore[arg-type]
    session.close()
    assert closed == [36]
