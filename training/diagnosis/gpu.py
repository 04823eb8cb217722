"""What is known of a GPU over time; the sampler thread adds."""

from __future__ import annotations

from typing import NamedTuple

from .memory import ThinnedRows

THROTTLES = {
    0x4: "power limit",
    0x8: "hardware slowdown",
    0x10: "clocks of several GPUs alike",
    0x20: "temperature",
    0x40: "temperature (hardware)",
    0x80: "power brake",
    0x100: "display",
}
"""Why the clock is lower than it could be, by the bit of NVML; an idle GPU and clocks that a user has set are no such
reasons."""


class GpuReading(NamedTuple):
    """What NVML knows of a GPU at one moment; NaN is unknown.

    Attributes:
        load: Utilization in %: the share of the time in which a kernel ran.
        memory: Used memory in bytes.
        clock: Clock of the streaming multiprocessors in MHz.
        power: In W.
        throttled: Why the clock is low: bits of `THROTTLES`.
        clock_limit: The highest clock in MHz.
        power_limit: The highest power in W.
        total: Memory in bytes.
        name: What it is called.
    """

    load: float
    memory: float
    clock: float
    power: float
    throttled: int
    clock_limit: float
    power_limit: float
    total: float
    name: str

    @property
    def numbers(self) -> tuple[float, ...]:
        """What changes over time: load, memory, clock, power, and the reasons of throttling."""
        return self[:5]


class GpuEvidence:
    """The GPU that a training uses, or else the first one.

    Attributes:
        last: The last reading; None without a GPU.
        curve: When in s of the monotonic clock, and the numbers of a reading.
    """

    def __init__(self) -> None:
        self.last: GpuReading | None = None
        self.curve = ThinnedRows()

    def add(self, now: float, reading: GpuReading | None) -> None:
        """Add the reading of a second, if there is one."""
        self.last = reading
        if reading is not None:
            self.curve.add(now, *reading.numbers)


def reasons(throttled: int) -> list[str]:
    """Return why a clock is low, from NVML's bits."""
    return [name for bit, name in THROTTLES.items() if throttled & bit]
