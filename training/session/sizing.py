"""How many environments a session has: restarts at another N, sweeps over several N, no more than memory allows."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ...backends import TooManyEnvironments
from ...backends.memory import check_room
from ...envs import PacError
from ..past.history import LEAST_DEPTH, step_bytes
from ..telemetry.knee import find_knee
from ..telemetry.records import Level, Phase
from ..telemetry.throughput import WINDOW
from ..units import plural
from .sweep import SECONDS, Sweep

if TYPE_CHECKING:
    from .session import Session

BASELINE_ENVS = 1


class Sizing:
    """The number of environments of a session.

    Any thread may wish; the training thread grants it between two steps.

    Attributes:
        num_envs: The N that was asked for, to which a sweep returns.
        restarts: How often the environments were restarted at another N.
    """

    def __init__(self, session: Session, num_envs: int) -> None:
        self.num_envs = num_envs
        self.restarts = 0
        self._session = session
        self._wish = threading.Lock()
        self._wanted: int | None = None
        self._sweep: Sweep | None = None
        self._sweep_began: float | None = None
        self._sweep_seconds = 0.0

    # -- what any thread may ask --------------------------------------------------------------------------------------

    def restart(self, num_envs: int) -> None:
        """Go on with another number of environments, between the next two steps."""
        with self._wish:
            self._wanted = num_envs
            self._sweep = None
            self._session.gate.interrupt()

    def measure_baseline(self) -> None:
        """Run one environment for some seconds, then return to N."""
        self.sweep((BASELINE_ENVS,), WINDOW)

    def sweep(self, counts: Sequence[int], seconds: float = SECONDS) -> None:
        """Run several N for some seconds each, then return to the N of now."""
        self._session.gate.resume()
        with self._wish:
            self._sweep = Sweep(counts, self._session.num_envs_now, seconds)
            self._wanted = self._sweep.wanted
            self._session.gate.interrupt()

    def cancel_sweep(self) -> None:
        """Return from a sweep."""
        if (sweep := self._sweep) is not None:
            self.restart(sweep.home)

    @property
    def sweeping(self) -> bool:
        """Whether a sweep is going on, be it that of the baseline alone."""
        return self._sweep is not None

    # -- the training thread ------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Open the session's first segment: for N environments, or for as many as there is memory to look at."""
        try:
            self._open(self.num_envs)
        except TooManyEnvironments as error:
            if self._session.config.strict or not error.most:
                raise
            self._open(error.most)
            self._session.events.add(Level.WARNING, f"{error.reason}: using {error.most:,}")

    def begin(self, *, baseline: bool) -> None:
        """Start the session's first environments: N of them, or the baseline's one before."""
        first = BASELINE_ENVS if baseline else self.num_envs
        if first != self.num_envs:
            self._sweep = Sweep((BASELINE_ENVS,), self.num_envs, WINDOW)
            self._open(first)
        self._start(first, self._session.trainer.start)

    def wanted(self) -> int | None:
        """Return the N that was wished for, or to which a sweep goes on; None to stay."""
        with self._wish:
            wanted, self._wanted = self._wanted, None
            self._session.gate.cancel_interrupt()
        if self._sweep is not None and wanted is None:
            return self._after(self._sweep)
        return wanted

    def resize(self, num_envs: int) -> None:
        """Restart the environments at another N; what was learned stays. Falls back to the N before when it cannot."""
        session, before = self._session, self._session.num_envs_now
        session.clock.stop()
        session.say(Phase.RESTARTING, f"restarting with num_envs={num_envs}...", target_envs=num_envs)
        try:
            self._open(num_envs)
            self._start(num_envs, session.trainer.resize)
        except PacError as error:
            back = self._sweep.home if self._sweep is not None else before
            more = plural(session.kind.units.environment)
            session.events.add(Level.ERROR, f"{error.title}: {error}. Back to {back} {more}.")
            self._sweep = None
            self._open(back)
            session.trainer.resize(back)
        else:
            self.restarts += 1
            session.events.add(Level.INFO, f"restarted with num_envs={session.num_envs_now}")
        self.measure()

    def measure(self) -> None:
        """Say that the environments run, and measure them from now on."""
        session = self._session
        now = session.clock.now()
        self._sweep_seconds = self.sweep_seconds(now)
        self._sweep_began = now if self._sweep is not None else None
        if self._sweep is not None:
            self._sweep.begin(session.monitor.throughput.seconds(session.num_envs_now))
            session.say(Phase.BASELINE, self._sweep.message)
        else:
            session.say(Phase.RUNNING, "")
        session.clock.go()
        session.monitor.throughput.break_off(session.monitor.mark())

    def sweep_seconds(self, now: float) -> float:
        """Return the seconds of training spent on the baseline and on sweeps until `now`, by the training clock."""
        running = now - self._sweep_began if self._sweep_began is not None else 0.0
        return self._sweep_seconds + running

    def _open(self, num_envs: int) -> None:
        kept = LEAST_DEPTH * step_bytes(self._session.task, num_envs)
        check_room(num_envs, kept, "to keep their last steps")
        self._session.new_segment(num_envs)
        if self._sweep is None:
            self.num_envs = num_envs

    def _start(self, num_envs: int, begin: Callable[[int], None]) -> None:
        """Begin with `num_envs` environments, or with as many as there is memory for."""
        reason, begun = "", False
        while not begun:
            try:
                begin(num_envs)
                begun = True
            except TooManyEnvironments as error:
                if self._session.config.strict or not error.most:
                    raise
                reason, num_envs = reason or error.reason, error.most
                self._open(num_envs)
        if reason:
            self._session.events.add(Level.WARNING, f"{reason}: using {num_envs:,}")

    def _after(self, sweep: Sweep) -> int | None:
        """Return the N that a sweep goes on to, or home, once the present one was measured; say how far it is."""
        session, throughput, now = self._session, self._session.monitor.throughput, self._session.num_envs_now
        done = sweep.progress(throughput.seconds(now))
        session.monitor.state["progress"] = done
        if done < 1:
            return None
        if now == BASELINE_ENVS:
            fps = f"{throughput.baseline:,.0f} {session.kind.units.fps}"
            session.events.add(Level.GOOD, f"baseline: {fps} at num_envs={BASELINE_ENVS}")
        wanted = sweep.next()
        if wanted is None:
            self._sweep, wanted = None, sweep.home
            if sweep.counts != (BASELINE_ENVS,) and (found := find_knee(throughput.scaling())) is not None:
                session.events.add(Level.GOOD, session.kind.units.said(f"sweep done: {found.sentence}"))
        if wanted == now:
            self.measure()
        return wanted
