"""A sweep measures the same training at several N for some seconds each, and then returns to the N from before."""

from __future__ import annotations

from collections.abc import Sequence

from ..telemetry.throughput import WINDOW

SECONDS = 2 * WINDOW  # s of training measured at each N, after an iteration of warm-up


class Sweep:
    """The progress of a sweep.

    Args:
        counts: The values of N, in order.
        home: The N to return to.
        seconds: Seconds of training that are measured at each N.

    Attributes:
        counts: The values of N.
        home: The N to return to.
    """

    def __init__(self, counts: Sequence[int], home: int, seconds: float = SECONDS) -> None:
        self.home = home
        self.counts = tuple(counts)
        self._seconds = seconds
        self._at = 0
        self._before = 0.0

    def begin(self, measured: float) -> None:
        """Start to measure the present N, of which `measured` seconds are already known."""
        self._before = measured

    def progress(self, measured: float) -> float:
        """Return how much of the measurement of the present N is done, 0 to 1."""
        return min(1.0, (measured - self._before) / self._seconds)

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
