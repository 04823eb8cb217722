"""Decides how many environments a session has: the requested number, or the next one of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...envs.unknown import UNKNOWN
from ..telemetry.knee import find_knee
from ..telemetry.throughput import WINDOW, Throughput
from ..units import Units

BASELINE_ENVS = 1
SECONDS = 2 * WINDOW  # s of training measured at each N, after an iteration of warm-up


@dataclass
class Sweep:
    """A measurement of the same training at several N, which then returns to the N from before.

    Attributes:
        counts: The values of N, in order.
        home: The N to return to.
        seconds: Seconds of training that are measured at each N.
        known: Seconds that the present N was measured for before.
    """

    counts: tuple[int, ...]
    home: int
    seconds: float = SECONDS
    known: float = 0.0
    _at: int = 0

    def progress(self, measured: float) -> float:
        """Return how much of the measurement of the present N is done, 0 to 1."""
        return min(1.0, (measured - self.known) / self.seconds)

    @property
    def wanted(self) -> int:
        """The present N; at the end, `home`."""
        return self.counts[self._at] if self._at < len(self.counts) else self.home

    def next(self) -> int | None:
        """Advance to the next N and return it; None if all are done."""
        self._at += 1
        return self.wanted if self._at < len(self.counts) else None

    @property
    def message(self) -> str:
        """What is being measured, for people."""
        place = f" ({self._at + 1} of {len(self.counts)})" if len(self.counts) > 1 else ""
        return f"measuring num_envs={self.wanted:,}{place}"


def usual_counts(num_envs: int) -> tuple[int, ...]:
    """Return 1, 2, 4, ... up to twice `num_envs`, and `num_envs` itself."""
    doublings = (2**power for power in range((2 * num_envs).bit_length()))
    return tuple(sorted({*(count for count in doublings if count <= 2 * num_envs), num_envs}))


@dataclass(frozen=True)
class NumEnvsDecision:
    """The number of environments for the next steps.

    Attributes:
        num_envs: The N to run, which may be the present one.
        measures: Whether a measurement begins or ends, even if N stays.
        progress: How much of the present measurement is done, 0 to 1; NaN if there is none.
        results: What was measured, one sentence each.
    """

    num_envs: int
    measures: bool = False
    progress: float = UNKNOWN
    results: tuple[str, ...] = ()


class NumEnvsPlanner:
    """The number of environments of a session. It only decides; the session restarts its environments.

    Args:
        num_envs: The requested N.
        units: What the trainer calls environments and fps.

    Attributes:
        num_envs: The requested N, to which a sweep returns.
        restarts: How often the environments were restarted at another N.
    """

    def __init__(self, num_envs: int, units: Units) -> None:
        self.num_envs = num_envs
        self.restarts = 0
        self.units = units
        self._wanted: int | None = None
        self._sweep: Sweep | None = None
        self._sweep_began: float | None = None
        self._sweep_seconds = 0.0

    @property
    def sweeping(self) -> bool:
        """Whether a sweep is running; measuring the baseline is one, too."""
        return self._sweep is not None

    @property
    def home(self) -> int | None:
        """The N that the present sweep returns to; None if there is no sweep."""
        return self._sweep.home if self._sweep is not None else None

    def request(self, num_envs: int) -> None:
        """Request another number of environments; cancels a sweep."""
        self._wanted, self._sweep = num_envs, None

    def request_sweep(self, counts: Sequence[int], home: int, seconds: float) -> None:
        """Request a measurement of several N for some seconds each, and then `home`."""
        self._sweep = Sweep(tuple(counts), home, seconds)
        self._wanted = self._sweep.wanted

    def first(self, *, baseline: bool) -> int:
        """Return the N to start with: 1 if the baseline is to be measured first."""
        if not baseline or self.num_envs == BASELINE_ENVS:
            return self.num_envs
        self._sweep = Sweep((BASELINE_ENVS,), self.num_envs, WINDOW)
        return BASELINE_ENVS

    def decide(self, now: int, throughput: Throughput) -> NumEnvsDecision:
        """Return what follows the present N, `now`; a request is returned once."""
        wanted, self._wanted = self._wanted, None
        if wanted is not None:
            return NumEnvsDecision(wanted, measures=self.sweeping)
        if self._sweep is None:
            return NumEnvsDecision(now)
        return self._continue_sweep(self._sweep, now, throughput)

    def _continue_sweep(self, sweep: Sweep, now: int, throughput: Throughput) -> NumEnvsDecision:
        """Return the next N of a sweep, or its home, once the present one was measured."""
        progress = sweep.progress(throughput.seconds(now))
        if progress < 1:
            return NumEnvsDecision(now, progress=progress)
        results = []
        if now == BASELINE_ENVS:
            results.append(f"baseline: {throughput.baseline:,.0f} {self.units.fps} at num_envs={BASELINE_ENVS}")
        following = sweep.next()
        if following is None:
            self._sweep, following = None, sweep.home
            if sweep.counts != (BASELINE_ENVS,) and (found := find_knee(throughput.scaling())) is not None:
                results.append(self.units.translate(f"sweep done: {found.sentence}"))
        return NumEnvsDecision(following, measures=True, progress=progress, results=tuple(results))

    def opened(self, num_envs: int) -> None:
        """Note that the telemetry has room for `num_envs`; outside of a sweep, that is the N from now on."""
        if not self.sweeping:
            self.num_envs = num_envs

    def fall_back(self, before: int) -> int:
        """Cancel a sweep whose N is impossible. Return the N to use instead: its home, or the N `before`."""
        home, self._sweep = self.home, None
        return before if home is None else home

    def measure(self, now: float, measured: float) -> str:
        """Start to measure the present N.

        Args:
            now: Seconds of training so far.
            measured: Seconds of it that this N was measured for before.

        Returns:
            What is measured, for people; empty without a sweep.
        """
        self._sweep_seconds = self.sweep_seconds(now)
        self._sweep_began = None
        if self._sweep is None:
            return ""
        self._sweep_began = now
        self._sweep.known = measured
        return self._sweep.message

    def sweep_seconds(self, now: float) -> float:
        """Return the seconds of training spent on the baseline and on sweeps until `now`, by the training clock."""
        running = now - self._sweep_began if self._sweep_began is not None else 0.0
        return self._sweep_seconds + running
