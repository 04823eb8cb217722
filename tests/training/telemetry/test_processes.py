"""The processes of a session as readers of telemetry see them."""

import math
import os
import signal
import subprocess
import sys

import psutil
import pytest

from pac.backends import WorkerState, WorkerStatus
from pac.envs import find
from pac.training.telemetry.blocks import TelemetryReader, TelemetryWriter
from pac.training.telemetry.description import describe
from pac.training.telemetry.processes import ProcessRole, ProcessStatus, ProcessTable, RateMeter
from pac.training.telemetry.segment_layout import MAX_PROCESSES
from pac.training.telemetry.snapshot import ViewRequest, take_snapshot

from ...toys import FACTS
from ...waiting import until

TASK = find("noop")
WORKER = WorkerStatus(
    index=2,
    pid=4242,
    lo=4,
    hi=8,
    state=WorkerState.READY,
    steps=100,
    heartbeat=0.5,
    restarts=1,
    cpu_seconds=3.0,
    rss=1 << 20,
    last_error="ValueError: no such move",
)
LEARNER = "import sys\nprint('ready', flush=True)\nwhile True: sum(range(1000))"


@pytest.fixture
def writer(folder):
    segment = TelemetryWriter(describe(TASK, **FACTS), 8, 1, folder)
    yield segment
    segment.unlink()


def seen(folder):
    return take_snapshot(TelemetryReader(folder), ViewRequest(count=0)).processes


def test_a_worker_is_a_process_with_environments(writer, folder):
    """What its backend reports of it is in its row."""
    table = ProcessTable()
    table.write(writer, [ProcessStatus.of_worker(WORKER)])
    (row,) = seen(folder)
    assert (row["role"], row["index"], row["pid"], row["first_env"], row["end_env"]) == (b"worker", 2, 4242, 4, 8)
    assert (row["state"], row["count"], row["restarts"], row["rss"]) == (b"ready", 100, 1, 1 << 20)
    assert row["error"] == b"ValueError: no such move"
    assert math.isnan(row["rate"])


@pytest.mark.session
def test_a_registered_learner_process_is_listed_beside_the_workers(writer, folder):
    """With its role, its name and its device, and with the processor time that it takes."""
    with subprocess.Popen([sys.executable, "-c", LEARNER], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            learner = psutil.Process(process.pid)

            def status():
                times = learner.cpu_times()
                spent = times.user + times.system
                return [
                    ProcessStatus(
                        role=ProcessRole.LEARNER,
                        index=0,
                        name="alice",
                        pid=process.pid,
                        state="updating",
                        device="cuda:1",
                        cpu_seconds=spent,
                    )
                ]

            table = ProcessTable()

            def busy():
                table.write(writer, [ProcessStatus.of_worker(WORKER), *status()])
                return seen(folder)["cpu"][1] > 0

            until(busy, "the learner takes processor time")
            worker, row = seen(folder)
            assert worker["role"] == b"worker"
            assert (row["role"], row["name"], row["pid"]) == (b"learner", b"alice", process.pid)
            assert (row["state"], row["device"]) == (b"updating", b"cuda:1")
        finally:
            os.kill(process.pid, signal.SIGKILL)


def test_processes_without_a_row_are_counted(writer, folder):
    """The table is full, and its writer learns how many it left out."""
    statuses = [ProcessStatus(role=ProcessRole.WORKER, index=i, pid=i, state="ready") for i in range(MAX_PROCESSES + 3)]
    assert ProcessTable().write(writer, statuses) == 3
    assert len(seen(folder)) == MAX_PROCESSES


def test_a_rate_is_measured_over_its_period():
    """It is unknown at first, then stays until the next period is over; a counter that restarts is no negative rate."""
    meter = RateMeter(period=1.0)
    assert math.isnan(meter.update(0, 10.0))
    assert math.isnan(meter.update(30, 10.5))
    assert meter.update(60, 12.0) == 30
    assert meter.update(90, 12.5) == 30
    assert meter.update(0, 13.0) == 0


def test_a_process_that_was_replaced_is_measured_again(writer, folder):
    """A new process id has no rate yet, and its lower counter is no rate."""
    table = ProcessTable()
    table.write(writer, [ProcessStatus(role=ProcessRole.WORKER, index=0, pid=1, state="ready", count=1000)])
    table.write(
        writer, [ProcessStatus(role=ProcessRole.WORKER, index=0, pid=2, state="ready", count=3, cpu_seconds=9.0)]
    )
    (row,) = seen(folder)
    assert math.isnan(row["rate"])
    assert row["cpu"] == 0
