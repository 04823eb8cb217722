"""Evaluation during a training: a process plays episodes with copies of the policy while the training continues."""

from __future__ import annotations

import json
import queue
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np
import psutil

from ...backends.core.errors import ending
from ...envs import BadParameter
from ..asked import AskedProcess
from ..playing import PREFIX, evaluation_seed
from ..runs.streamed_array import safetensors_chunks
from ..telemetry.events import EventLog
from ..telemetry.records import Level
from ..trainer import Lap, NonFiniteWeights, Timer, Trainer
from ..trainers import BUILT_IN
from .training_setup import TrainingSetup

EVALUATING, IDLE = "evaluating", "idle"
SHOWN = 24
"""Laps in the lane of the timeline, two per evaluation."""
WAIT = 0.1  # s
ShowLane: TypeAlias = Callable[[str, Callable[[], Iterable[Lap]]], None]
LAST_SECONDS, IDLE_SECONDS = 600.0, 60.0
"""The longest times in s that a training waits for the last evaluation, and for one that does not compute."""


class Evaluator:
    """Evaluates the policy every few iterations, in a separate process with its own environments.

    The training copies the policy and continues. Results become metrics of the first iteration after they arrive, and
    stay until the next results. If an evaluation takes longer than the interval between evaluations, the newest policy
    is evaluated next, and those before it are skipped.

    Args:
        setup: What the training is made of.
        directory: Where the weights are written, in shared memory.
        events: Where errors are reported.
        show_lane: Shows when an evaluation runs, as a lane of the timeline.

    Attributes:
        metrics: The last results by name, with the iteration of the evaluated policy; empty before the first.
        evaluating: The iteration whose policy was sent last; None before the first.

    Raises:
        BadParameter: The trainer has no policy to play.
    """

    def __init__(
        self,
        setup: TrainingSetup,
        directory: Path,
        events: EventLog,
        show_lane: ShowLane = lambda _name, _laps: None,
    ) -> None:
        config, kind = setup.config, setup.kind
        self.metrics: dict[str, float] = {}
        self.evaluating: int | None = None
        self._every = config.eval_every if config.learn else None
        self._setup: dict[str, Any] = {
            "task": setup.task.spec,
            "trainer": kind.name,
            "settings": dict(setup.settings),
            "episodes": config.eval_episodes,
            "seed": evaluation_seed(config.seed),
        }
        self._weights, self._events = directory / "evaluation.safetensors", events
        self._process: AskedProcess | None = None
        self._output: IO[bytes] | None = None
        self._waiting: tuple[int, dict[str, Any], dict[str, Any]] | None = None
        self._busy = self._playing = False
        self._timer = Timer(phases=(EVALUATING, IDLE), kept=SHOWN)
        self._timing = threading.Lock()  # of the timer and `_playing`: two threads lap, and one of them shows the laps
        if self._every and kind.player:
            show_lane("evaluation", self._laps)
        elif self._every:
            players = ", ".join(known.name for known in BUILT_IN.values() if known.player)
            raise BadParameter(
                f"--eval-every plays a policy, and the trainer {kind.name} has none; use one of {players}, or omit it"
            )

    @property
    def results(self) -> dict[str, float]:
        """The last results, for reports."""
        return {name.removeprefix(PREFIX): value for name, value in self.metrics.items()}

    def collect(self) -> dict[str, float]:
        """Take the results that have arrived; return the last results."""
        while self._busy and self._take(0.0):
            self._send()
        return self.metrics

    def end_iteration(self, iteration: int, trainer: Trainer) -> None:
        """Start an evaluation if one is due."""
        if self._every and iteration % self._every == 0:
            with suppress(NonFiniteWeights):  # such a policy is not evaluated
                self._waiting = (iteration, *trainer.policy_state())
                self._send()

    def finish(self, go_on: Callable[[float], bool]) -> dict[str, float]:
        """Wait for the evaluations that were started; return the last results.

        Args:
            go_on: Called often with the seconds that it has waited; returns whether to wait on.
        """
        begun = computed_at = time.monotonic()
        computed = 0.0
        while self._busy:
            now, before, computed = time.monotonic(), computed, self._computed()
            computed_at = now if computed != before else computed_at
            if not go_on(now - begun) or now - begun > LAST_SECONDS or now - computed_at > IDLE_SECONDS:
                text = f"the last evaluation was not over after {now - begun:.0f} s, and is left out"
                self._events.add(Level.WARNING, text)
                break
            if self._take(WAIT):
                self._send()
        return self.metrics

    def _computed(self) -> float:
        """Return for how many seconds the process has computed."""
        with suppress(psutil.Error):
            return sum(psutil.Process(self._process.process.pid).cpu_times()[:2]) if self._process is not None else 0.0
        return 0.0

    def close(self) -> None:
        """End the process."""
        self._every, self._busy, self._playing = None, False, False
        if self._process is not None:
            self._process.close()
            self._process = None
        if self._output is not None:
            self._output.close()

    def _send(self) -> None:
        """Start to evaluate the newest policy that waits, unless an evaluation is running."""
        if self._busy or self._waiting is None:
            return
        (iteration, tensors, data), self._waiting = self._waiting, None
        self.evaluating = iteration
        arrays = {name: np.asarray(tensor, order="C") for name, tensor in tensors.items()}
        try:
            with self._weights.open("wb") as file:
                file.writelines(safetensors_chunks(arrays))
        except OSError as error:
            text = f"iteration {iteration:,} is not evaluated: cannot write {self._weights}: {error.strerror}"
            self._events.add(Level.WARNING, text)
            with suppress(OSError):  # room for the next one
                self._weights.unlink()
            return
        self._lap(IDLE, playing=True)
        self._busy = True
        if self._process is None:
            self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
            self._process = AskedProcess(
                "pac.training.playing", self._setup, "evaluation", heard=self._heard, errors=self._output
            )
        request = {"iteration": iteration, "weights": str(self._weights), "data": data}
        if not self._process.ask(json.dumps(request) + "\n"):
            self._fail()

    def _lap(self, phase: str, *, playing: bool) -> None:
        with self._timing:
            self._timer.lap(phase)
            self._playing = playing

    def _laps(self) -> Iterable[Lap]:
        with self._timing:
            return self._timer.laps_until_now(EVALUATING if self._playing else IDLE)

    def _heard(self) -> None:
        """End a lap in the thread that reads: the training may be paused, and take the answer much later."""
        self._lap(EVALUATING, playing=False)

    def _take(self, seconds: float) -> bool:
        """Take one result within `seconds`; return whether there was one."""
        assert self._process is not None
        try:
            line = self._process.answers.get(timeout=seconds)
        except queue.Empty:
            return False
        self._busy = False
        if line is None:
            self._fail()
            return False
        answer = json.loads(line)
        self.metrics = {PREFIX + name: value for name, value in answer["metrics"].items()}
        self.metrics[PREFIX + "iteration"] = answer["iteration"]
        return True

    def _fail(self) -> None:
        """Report that the process has ended, and stop evaluating."""
        assert self._output is not None
        assert self._process is not None
        self._output.seek(0)
        lines = self._output.read().decode(errors="replace").strip().splitlines()[-1:] or ["no message"]
        reason = f"the evaluation's process ended ({ending(self._process.process.wait())}): {lines[0]}"
        self._events.add(Level.WARNING, f"the training continues without evaluation: {reason}")
        self.close()
