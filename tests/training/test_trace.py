"""When workers step: who is waited for, and traces of it."""

import json
import time
from random import Random
from threading import Barrier, Thread

import numpy as np
import pytest

from pac.backends import make
from pac.backends.core.spans import LEAST, Ring, StepTimes, bytes_of, steps_kept
from pac.envs import BadParameter
from pac.training.session.tracing import packed, packed_steps
from pac.training.telemetry.worker_times import WaitCounter, spans_of
from pac.training.trace import SessionTrace, TraceFailed, TraceFile

ENVS, WORKERS, STEPS = 32, 16, 25
SHORT, LONG = 3e-4, 3e-3


class Sleepers:
    """Environments that sleep for a known time; all workers begin a step together."""

    def __init__(self, span, times, start):
        self._steps = [(index, self._sleeper(seconds)) for index, seconds in enumerate(times[slice(*span)])]
        self._start = start

    @staticmethod
    def _sleeper(seconds):
        return lambda _action: time.sleep(seconds)

    def reset(self, _mask, _slot):
        """Do nothing."""

    def close(self):
        """Do nothing."""

    def step(self, _slot):
        """Step all, one after the other."""
        self._start.wait()
        for _, step in self._steps:
            step(None)

    def step_timed(self, slot, stamps):
        """Step all, and note when."""
        plain, self._steps = self._steps, stamps.timed(self._steps)
        self.step(slot)
        self._steps = plain


def stepped(times, workers=WORKERS, steps=STEPS):
    """The rings of workers that have stepped environments with these times, each in a thread."""
    count = len(times)
    spans = [(count * k // workers, count * (k + 1) // workers) for k in range(workers)]
    memory, start = memoryview(bytearray(bytes_of(spans))), Barrier(workers)
    rings = [Ring(memory, spans, index) for index in range(workers)]

    def run(index):
        worker = StepTimes(Sleepers(spans[index], times, start), rings[index])
        for step in range(steps):
            worker.step(0, step)

    threads = [Thread(target=run, args=(index,)) for index in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return rings


def part_of(rings, begin, lanes=(), counts=(), phases=None):
    """What a session with these workers answers."""
    found = [ring.read(since) for ring, since in zip(rings, counts or [0] * len(rings), strict=True)]
    return {
        "pid": 1,
        "now": begin or time.monotonic(),
        "counts": [one.first + len(one.names) for one in found],
        "workers": [packed_steps(one) for one in found],
        "pids": list(range(100, 100 + len(rings))),
        "lanes": lanes,
        "counters": {"frames/s": 5.0},
        "phases": phases or {"environment": 0.0},
    }


def slices(events):
    """The slices of each lane, in order, in ns."""
    found: dict[tuple[int, int], list[tuple[int, int, str]]] = {}
    for event in events:
        if event["ph"] == "X":
            begin, lasted = (round(1000 * event[name]) for name in ("ts", "dur"))
            found.setdefault((event["pid"], event["tid"]), []).append((begin, lasted, event["name"]))
    return {lane: sorted(lanes, key=lambda one: (one[0], -one[1])) for lane, lanes in found.items()}


def test_the_environment_that_all_wait_for_is_named():
    """One of 32, chosen at random, is ten times slower; with its time and the usual one, and the worker that has it."""
    slow = Random(time.time_ns()).randrange(ENVS)
    rings = stepped([LONG if env == slow else SHORT for env in range(ENVS)])
    counter, found = WaitCounter(), [ring.read() for ring in rings]
    waits = counter.add(found)
    first, *_ = counter.slow()
    worker = next(one for one in counter.slow() if one.env < 0)
    assert (first.env, worker.worker) == (slow, slow // (ENVS // WORKERS))
    assert first.share > 0.8
    assert first.seconds > 3 * first.usual
    assert len(waits) == STEPS
    assert (waits["end"][1:] > waits["end"][:-1]).all()
    spans = spans_of(found)
    assert (spans["end"] >= spans["begin"]).all()
    assert np.bincount(spans["env"] + 1).tolist() == [STEPS * WORKERS, *[STEPS] * ENVS]


def test_a_trace_of_16_workers_has_no_overlaps_and_the_sums_of_its_parts(tmp_path):
    """Steps, environments, waits, arrows and counters; phases add up to what the session has measured."""
    file = TraceFile(tmp_path / "trace.json")
    trace, begin = SessionTrace(file, "evil\x1b[2J"), time.monotonic()
    trace.add({**part_of([], begin), "counts": [0] * WORKERS})
    rings = stepped([SHORT] * ENVS)
    ends = [begin + 0.01 * k for k in range(1, 8)]
    times = np.array([(end - 0.01, end) for end in ends]) * 1e9
    lane = {
        "name": "training",
        "pid": 1,
        "phases": ["environment", "idle"],
        "phase": packed(np.array([0, 1, 0, 0, 0, 0, 0])),
        "times": packed(np.rint(times).astype(np.int64)),
    }
    trace.add(part_of(rings, ends[-1], [lane], phases={"environment": 0.06}))
    trace.add(part_of(rings, ends[-1], [lane], tuple(trace.counts), {"environment": 0.06}))
    file.end({"sessions": [trace.facts()]})
    written = json.loads((tmp_path / "trace.json").read_text())
    events, facts = written["traceEvents"], written["otherData"]["sessions"][0]
    assert facts["written"]["environment"] == pytest.approx(facts["timing"]["environment"], rel=0.01)
    assert facts["lost_steps"] == 0
    for lane_slices in slices(events).values():
        open_until: list[int] = []
        for begun, lasted, _ in lane_slices:
            while open_until and open_until[-1] <= begun:
                open_until.pop()
            assert not open_until or begun + lasted <= open_until[-1]
            open_until.append(begun + lasted)
    names = [event["name"] for event in events if event["ph"] == "X"]
    assert names.count("step") == STEPS * WORKERS + STEPS - 1
    assert sum(name.startswith("environment ") for name in names) == STEPS * ENVS
    assert sum(name.startswith("wait for worker ") for name in names) == STEPS * (WORKERS - 1)
    assert [sum(event["ph"] == kind for event in events) for kind in "sfC"] == [STEPS, STEPS, 3]
    titles = {event["args"]["name"] for event in events if event["ph"] == "M" and "name" in event["args"]}
    assert {"training", "worker 1", "worker 16", "steps"} <= titles
    assert "\x1b" not in (tmp_path / "trace.json").read_text().replace("\\u001b", "\x1b")


def test_a_trace_is_bounded_and_leaves_nothing_behind(tmp_path):
    """It ends at its largest size, does not replace a file, and a full disk is an error that leaves none."""
    path = tmp_path / "trace.json.gz"
    file = TraceFile(path, most=100)
    for _ in range(9):
        file.add(ph="C", name="n", ts=0.0, pid=1, args={"value": 1})
    assert file.full
    assert file.events < 9
    file.end({})
    with pytest.raises(BadParameter, match="exists"):
        TraceFile(path)
    with pytest.raises(BadParameter, match="does not exist"):
        TraceFile(tmp_path / "none" / "trace")
    other = TraceFile(tmp_path / "other")
    other._file.close()
    with open("/dev/full", "wb", buffering=0) as full:  # noqa: PTH123 - the device of a full disk
        other._file = full
        with pytest.raises(TraceFailed, match="No space left"):
            other.add(ph="C", name="n", ts=0.0, pid=1)
    other.drop()
    assert [found.name for found in tmp_path.iterdir()] == [path.name]


def test_an_answer_that_is_no_part_of_a_trace_is_an_error(tmp_path):
    """Another machine may send anything."""
    file = TraceFile(tmp_path / "trace")
    trace = SessionTrace(file, "run")
    for part in ({}, {**part_of([], 1.0), "workers": [{"lo": 0}]}, {**part_of([], 1.0), "lanes": [{"name": 3}]}):
        with pytest.raises(TraceFailed, match="no part"):
            trace.add(part)
    file.drop()


def test_environments_are_timed_only_where_that_is_cheap():
    """Those of less than 20 us are not, after the first step; the rings of many have fewer steps, and a bound."""
    backend = make("CartPole-v1", 2, "inline")
    backend.start(0)
    backend.time_steps(on=True)
    for _ in range(20):
        backend.advance(0)
    found = backend.rings[0].read()
    timed = found.env_begins[:, 0] > 0
    quick = (found.ends - found.begins).max() < 2 * LEAST
    assert timed[0]
    assert timed[1:].sum() == 0 or not quick
    assert len(found.names) == len(found.begins) == 20
    backend.time_steps(on=False)
    backend.advance(0)
    assert len(backend.rings[0].read().names) == 20
    backend.close()
    assert steps_kept(4, 2) > steps_kept(4096, 16) >= 4
    assert bytes_of([(0, 2048), (2048, 4096)]) < 2 << 20
