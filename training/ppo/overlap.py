"""Learning while collecting: updates in a thread, and the signals between the two threads.

The training thread calls `begin` with a rollout and collects the next one meanwhile. Then it calls `result`, where the
two threads meet and an error of the update is raised. `Sequential` is the same program in one thread, with the same
delay: the reference to which tests compare the weights, bit for bit.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from queue import SimpleQueue
from typing import Any, Protocol

import torch

from ..trainer import Context, Lap, Metrics, Timer
from .learning import Rollout

Learn = Callable[[Rollout], Metrics]
COLLECTING, LEARNING, IDLE = "collecting", "learner", "idle"
SHOWN = 24
"""Laps in each lane of the timeline, two per iteration."""
PAUSE = 0.2
"""Time in s from which on a wait at the gate is a gap in the lane; a speed limit makes many short ones."""


class Signal(Protocol):
    """Signals once, from one thread to another, that everything started so far can be used."""

    def record(self) -> None:
        """Send the signal, in the first thread."""

    def wait(self) -> None:
        """Wait for the signal. Work that any other thread starts afterwards comes after the work before the signal."""


class ThreadSignal:
    """A signal between threads that compute on the CPU."""

    def __init__(self) -> None:
        self._recorded = threading.Event()

    def record(self) -> None:
        self._recorded.set()

    def wait(self) -> None:
        """Block, without polling, so that the other thread has the interpreter."""
        self._recorded.wait()


class CudaSignal(ThreadSignal):
    """A signal between threads with a CUDA stream each. The device waits, too, because it may be behind its threads."""

    def __init__(self) -> None:
        super().__init__()
        self._event: Any = torch.cuda.Event()  # type: ignore[no-untyped-call]

    def record(self) -> None:
        """Send the signal, for the work in this thread's stream."""
        self._event.record()
        super().record()

    def wait(self) -> None:
        """Wait for the thread; this thread's stream waits for the work."""
        super().wait()
        torch.cuda.current_stream().wait_event(self._event)


class RunningUpdate:
    """An update of a rollout.

    Attributes:
        rollout: What is learned from.
        collected: Recorded when the rollout is complete and the acting policy has its weights.
        learned: Recorded when the update is over.
        metrics: What it returned.
        error: What it raised.
    """

    def __init__(self, rollout: Rollout, new_signal: Callable[[], Signal]) -> None:
        self.rollout = rollout
        self.collected, self.learned = new_signal(), new_signal()
        self.metrics: Metrics = {}
        self.error: BaseException | None = None
        self.is_over = False

    def run(self, learn: Learn) -> None:
        """Learn, in the thread that learns."""
        try:
            self.collected.wait()
            self.metrics = learn(self.rollout)
        except BaseException as error:
            self.error = error
        finally:
            self.is_over = True
            self.learned.record()


class OverlapTimes:
    """What the training thread and the learner do at the same time: two lanes of the timeline, and metrics.

    Args:
        context: Has the timer of the training thread, which leaves out pauses, and shows the lanes.
    """

    def __init__(self, context: Context) -> None:
        self._thread = context.timer
        self._collecting = Timer(phases=(COLLECTING, IDLE), kept=SHOWN)
        self._learning = Timer(phases=(LEARNING, IDLE), kept=SHOWN)
        self._phases = {COLLECTING: IDLE, LEARNING: IDLE}  # what each thread does now
        context.show_lane("training", self.training_laps)
        context.show_lane("learner", lambda: self._learning.laps_until_now(self._phases[LEARNING]))
        self._before = self._seconds()

    def begin_iteration(self) -> None:
        """Measure from now on."""
        self._before = self._seconds()
        self._collecting.lap(IDLE)
        self._phases[COLLECTING] = COLLECTING

    def collected(self) -> None:
        """Record that the training thread waits for the learner from now on."""
        self._collecting.lap(COLLECTING)
        self._phases[COLLECTING] = IDLE

    def met(self) -> Metrics:
        """Record that the threads have met; return the metrics of the iteration."""
        self._collecting.lap(IDLE)
        self._thread.lap("learner")
        collecting, idle, learning = (
            after - before for after, before in zip(self._seconds(), self._before, strict=True)
        )
        wall = max(collecting + idle, learning)
        if wall <= 0:
            return {}
        return {
            "overlap/efficiency": (collecting + learning) / wall,
            "overlap/collector_idle": idle / wall,
            "overlap/learner_idle": 1 - learning / wall,
        }

    def training_laps(self) -> list[Lap]:
        """Return what the training thread did, without pauses; what it does now lasts until its last phase."""
        phase = self._phases[COLLECTING]
        *laps, current = self._collecting.laps_until_now(phase)
        if phase is COLLECTING:
            current = current._replace(end=max(current.begin, self._thread.last))
        laps.append(current)
        for pause in self._thread.skipped.copy():
            if pause.end - pause.begin > PAUSE:
                parts = [
                    (lap._replace(end=min(lap.end, pause.begin)), lap._replace(begin=max(lap.begin, pause.end)))
                    for lap in laps
                ]
                laps = [part for pair in parts for part in pair if part.begin < part.end]
        return laps

    def timed(self, learn: Learn) -> Learn:
        """Return `learn` with its time measured; called in the thread that learns."""

        def measured(rollout: Rollout) -> Metrics:
            self._learning.lap(IDLE)
            self._phases[LEARNING] = LEARNING
            try:
                return learn(rollout)
            finally:
                self._learning.lap(LEARNING)
                self._phases[LEARNING] = IDLE

        return measured

    def _seconds(self) -> tuple[float, float, float]:
        """Return for how long the training thread was busy and idle, and the learner busy, in s."""
        idle = self._thread.seconds["learner"]
        return sum(self._thread.seconds.values()) - idle, idle, self._learning.seconds[LEARNING]


class Updates(ABC):
    """Updates that run while the next rollout is collected.

    Args:
        learn: Learns from a rollout.
        device: Where the policies are.
    """

    def __init__(self, learn: Learn, device: torch.device) -> None:
        self._learn, self._device = learn, device
        self._update: RunningUpdate | None = None
        self._metrics: Metrics = {}

    def begin(self, rollout: Rollout) -> None:
        """Begin to learn from a rollout, which nothing may change until the update is over."""
        self._update = RunningUpdate(rollout, CudaSignal if self._device.type == "cuda" else ThreadSignal)
        self._update.collected.record()
        self._start(self._update)

    def wait(self) -> None:
        """Wait until no update is running. Any thread may call this."""
        update = self._update
        if update is not None:
            self._finish(update)
            update.learned.wait()

    def result(self) -> Metrics:
        """Wait for the update, and return its metrics; again those of the last one if none was begun since.

        Raises:
            Exception: What the update has raised.
        """
        self.wait()
        update, metrics = self._update, self.metrics
        self.metrics = metrics
        if update is not None and update.error is not None:
            raise update.error
        return metrics

    @property
    def is_running(self) -> bool:
        """Whether an update has begun and is not over."""
        return self._update is not None and not self._update.is_over

    @property
    def metrics(self) -> Metrics:
        """The metrics of the last update that is over."""
        update = self._update
        return update.metrics if update is not None and update.is_over and update.error is None else self._metrics

    @metrics.setter
    def metrics(self, metrics: Metrics) -> None:
        self._update, self._metrics = None, metrics

    def close(self) -> None:
        """Wait for the update and end its thread."""
        self.wait()

    @abstractmethod
    def _start(self, update: RunningUpdate) -> None:
        """Begin an update."""

    @abstractmethod
    def _finish(self, update: RunningUpdate) -> None:
        """Ensure that an update that has begun gets done."""


class Threaded(Updates):
    """Updates in a thread of their own."""

    def __init__(self, learn: Learn, device: torch.device) -> None:
        super().__init__(learn, device)
        self._queue: SimpleQueue[RunningUpdate | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def close(self) -> None:
        """Wait for the update and end the thread."""
        super().close()
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
            self._thread = None

    def _start(self, update: RunningUpdate) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="learner", daemon=True)
            self._thread.start()
        self._queue.put(update)

    def _finish(self, update: RunningUpdate) -> None:
        """Leave it to the thread."""

    def _run(self) -> None:
        with stream_of(self._device):
            while (update := self._queue.get()) is not None:
                update.run(self._learn)
                del update  # its rollout's memory is the environments', which may close now


def stream_of(device: torch.device) -> AbstractContextManager[object]:
    """Return a context in which the calling thread has a CUDA stream of its own; nothing on the CPU."""
    if device.type != "cuda":
        return nullcontext()
    return torch.cuda.stream(torch.cuda.Stream(device))  # type: ignore[no-untyped-call]


class Sequential(Updates):
    """Updates in the training thread, when their result is needed. This overlaps nothing: it is the reference."""

    def _start(self, update: RunningUpdate) -> None:
        """Leave it until its result is needed."""

    def _finish(self, update: RunningUpdate) -> None:
        if not update.is_over:
            update.run(self._learn)
