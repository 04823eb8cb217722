"""Records traces of running sessions: asks them for parts, and writes these into a file."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from threading import Event
from typing import Any

from ..envs import PacError
from .kernels import kernel_events
from .own_threads import OwnThread
from .session.control import SessionClient, SessionGone
from .session.kernels import MOST_SECONDS
from .telemetry.blocks import TelemetryReader
from .telemetry.records import Phase
from .telemetry.snapshot import ViewRequest, take_snapshot
from .trace import SessionTrace, TraceFile

PAUSE = 0.05
"""Seconds between two parts of a trace."""
LOOK = 0.2
HOW_TO_OPEN = "https://ui.perfetto.dev opens it"


def record(
    clients: Sequence[tuple[str, SessionClient]],
    file: TraceFile,
    seconds: float,
    say: Callable[[float], object] = lambda _left: None,
    *,
    stopped: Callable[[], bool] = lambda: False,
    kernels: Sequence[SessionClient] = (),
) -> dict[str, Any]:
    """Record a trace of sessions on one machine, given with their names, into a file; return facts about it.

    A session that ends ends the trace.

    Args:
        clients: The names of the sessions, and connections to them.
        file: The file, which is removed if the trace fails.
        seconds: For how long.
        say: Called with how many seconds are left.
        stopped: Whether to end earlier.
        kernels: A second connection to each session, to record kernels for at most `MOST_SECONDS`.

    Raises:
        PacError: A session does not answer, or the file system is full.
    """
    threads = ThreadPoolExecutor(len(kernels) or 1)
    try:
        traces: list[tuple[SessionClient, SessionTrace]] = []
        for name, client in clients:
            traces.append((client, SessionTrace(file, name, traces[0][1].begun if traces else None)))
            _add(*traces[-1])
        asked = [threads.submit(client.call, "kernels", seconds=min(seconds, MOST_SECONDS)) for client in kernels]
        end = time.monotonic() + seconds
        with suppress(SessionGone):
            while (left := end - time.monotonic()) > 0 and not file.full and not stopped():
                say(left)
                for call in asked:
                    if call.done():  # what is refused, is so at once
                        call.result()
                time.sleep(min(PAUSE, left))
                for client, trace in traces:
                    _add(client, trace)
        for call, (_, trace) in zip(asked, traces, strict=False):
            with suppress(SessionGone):
                trace.add_kernels(kernel_events(call.result()))
        about = {
            "file": str(file.path),
            "events": file.events,
            "full": file.full,
            "sessions": [trace.facts() for _, trace in traces],
        }
        file.end(about)
    except BaseException:
        file.drop()
        raise
    finally:
        threads.shutdown(wait=False)
    return about


def _add(client: SessionClient, trace: SessionTrace) -> None:
    trace.add(client.call("trace", after=trace.after, counts=trace.counts))


def sentences(facts: dict[str, Any]) -> list[str]:
    """Return what to say about a trace that was recorded."""
    found = [f"The trace is in {facts['file']}: {facts['events']:,} events. {HOW_TO_OPEN}."]
    if facts["full"]:
        found.append("It has reached its largest size, and ends there: record fewer seconds.")
    if lost := sum(one["lost_steps"] for one in facts["sessions"]):
        found.append(f"{lost:,} steps of workers are missing: they were faster than they could be read.")
    found += [
        f"Kernels or operators: {one['kernels']:,} in {one['kernel_seconds']:.2f} s. Cost: {one['cost']}."
        for one in facts["sessions"]
        if one["cost"]
    ]
    return found


class TraceLater:
    """Records a trace of a session in a thread as soon as it trains.

    Args:
        path: The file, which must not exist.
        seconds: For how long.
    """

    def __init__(self, path: Path, seconds: float) -> None:
        self._file, self._seconds = TraceFile(path), seconds
        self._ending, self._thread, self._found = Event(), OwnThread(self._run, "trace"), [""]
        self._directory: Path | None = None
        self._name = ""

    def begin(self, directory: Path) -> None:
        """Trace the session of a directory."""
        self._directory = directory
        self._thread.start()

    def end(self) -> list[str]:
        """End the trace, and return what to say about it."""
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join()
        if self._directory is None or not self._found[0]:
            self._file.drop()
            return [f"No trace: the training has ended before it made a step; {self._file.path} was not written."]
        return self._found

    def _run(self) -> None:
        assert self._directory is not None
        try:
            while not self._trains(self._directory):
                if self._ending.wait(LOOK):
                    return
            with closing(SessionClient(self._directory)) as client:
                self._found = sentences(
                    record([(self._name, client)], self._file, self._seconds, stopped=self._ending.is_set)
                )
        except (PacError, OSError) as error:
            self._found = [f"No trace: {error}"]

    def _trains(self, directory: Path) -> bool:
        with suppress(PacError, OSError):
            snapshot = take_snapshot(TelemetryReader(directory), ViewRequest(count=0))
            self._name = snapshot.description.run
            return snapshot.phase is Phase.RUNNING and snapshot.state["iterations"] > 0
        return False
