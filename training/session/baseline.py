"""The baseline of a session that an app shows: the one of an earlier session, or measured while the training waits."""

from __future__ import annotations

import hashlib
import json
import platform
import queue
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from ...backends import usable_cores
from ...envs.files import KIB, UnreadableFile, read_json, write_whole
from ..asked import AskedProcess
from ..runs.folder import user_state
from ..telemetry.records import Level, Phase
from .environments import SessionEnvs
from .services import Services
from .training_setup import TrainingSetup

ALIKE = ("ppo", "random")
"""The trainers whose new policies are as fast as trained ones; DQN learns only after a while."""
BACKENDS = ("inline", "shm", "threads", "device")
LONGEST, LIMIT = 4.0, 8.0
"""The longest warm-up in s of an environment that is measured, and the longest time that the training waits."""
MOST, MAX_BYTES = 200, 64 * KIB
"""How many baselines are remembered, newest first."""
NAP = 0.05
MEASURING = "measuring one environment for the speedup"


class Baseline(NamedTuple):
    """A measured baseline.

    Attributes:
        fps: Frames per second of one environment.
        when: When it was measured, s since the epoch.
    """

    fps: float
    when: float


def file() -> Path:
    """Return the file in which a user's baselines are remembered."""
    return user_state() / "baselines.json"


def key_of(facts: Mapping[str, Any]) -> str:
    """Return what a baseline is remembered by: what it depends on, and the machine."""
    machine = (platform.node(), platform.machine(), usable_cores())
    text = json.dumps([machine, facts], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def recall(key: str) -> Baseline | None:
    """Return a remembered baseline."""
    found = _all().get(key)
    return Baseline(*found) if found else None


def remember(key: str, found: Baseline) -> None:
    """Remember a baseline; that it cannot be written does not matter."""
    kept = {**_all(), key: (found.fps, found.when)}
    newest = sorted(kept.items(), key=lambda item: -item[1][1])[:MOST]
    with suppress(OSError):
        file().parent.mkdir(parents=True, exist_ok=True)
        write_whole(file(), json.dumps(dict(newest)) + "\n", 0o600)


def _all() -> dict[str, tuple[float, float]]:
    """Return all entries that are as this program writes them."""
    try:
        found = read_json(file(), MAX_BYTES)
    except (UnreadableFile, OSError):
        return {}
    entries = found.items() if isinstance(found, dict) else ()
    return {
        key: (float(fps), float(when))
        for key, value in entries
        if isinstance(value, list) and len(value) == len(Baseline._fields)
        for fps, when in [value]
        if isinstance(fps, int | float) and isinstance(when, int | float) and fps > 0
    }


class SessionBaseline:
    """Remembers the baseline of a session if it is `wanted`, and measures it if it is unknown.

    Only the training thread calls it.
    """

    def __init__(self, setup: TrainingSetup, services: Services, envs: SessionEnvs, *, wanted: bool) -> None:
        self._setup, self._services, self._envs, self._wanted = setup, services, envs, wanted
        self._throughput = services.counter.throughput
        self._measures = (
            wanted
            and setup.kind.name in ALIKE
            and setup.config.backend in BACKENDS
            and setup.config.learn
            and setup.ranks.size == 1
        )
        self._process: AskedProcess | None = None
        self._kept: float | None = None

    @property
    def _facts(self) -> dict[str, Any]:
        setup, state = self._setup, self._services.state
        return {
            "task": setup.task.spec,
            "trainer": setup.kind.name,
            "settings": dict(setup.settings),
            "backend": state.backend,
            "device": state.device,
        }

    def begin(self) -> None:
        """Take the baseline of an earlier session, if there is one."""
        if self._wanted and (found := recall(key_of(self._facts))) is not None:
            self._throughput.remembered = found
            self._measures = False

    def end_iteration(self) -> None:
        """Start to measure, measure, or remember what was measured, as it is due."""
        if not self._wanted:
            return
        measured = self._throughput.measured_baseline
        if measured is not None and measured != self._kept:
            self._kept, self._measures = measured, False
            remember(key_of(self._facts), Baseline(measured, time.time()))
        if not self._measures or self._setup.planner.sweeping or self._envs.num_envs == 1:
            return
        if self._process is None:
            self._start()
        elif not self._process.answers.empty() and not self._services.gate.paused:
            self._measures = False
            answer = self._process.answers.get()
            if answer is not None and json.loads(answer)["ready"] < LONGEST:
                self._measure(self._process)
            else:
                text = "the speedup is not known: one environment cannot be measured within seconds; press B for that"
                self._services.events.add(Level.INFO, text)
            self.close()

    def _start(self) -> None:
        setup = {**self._facts, "seed": self._setup.config.seed}
        self._process = AskedProcess("pac.training.measuring", setup, "baseline")

    def _measure(self, process: AskedProcess) -> None:
        """Have one environment measured while the training waits."""
        services = self._services
        services.clock.stop()
        end, answer = time.monotonic() + LIMIT, None
        process.ask("go\n")
        while time.monotonic() < end and not services.gate.stopping:
            services.timer.skip()  # the watchdog takes it for progress
            services.set_phase(Phase.BASELINE, MEASURING)
            with suppress(queue.Empty):
                answer = process.answers.get(timeout=NAP)
                break
        services.timer.skip()
        if answer is not None:
            found = Baseline(json.loads(answer)["fps"], time.time())
            self._throughput.remembered = found
            remember(key_of(self._facts), found)
            services.events.add(Level.GOOD, f"baseline: {found.fps:,.0f} {self._setup.kind.units.fps} at num_envs=1")
        services.set_phase(Phase.RUNNING, "")
        services.clock.start()

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.close()
