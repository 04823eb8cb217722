"""What a session asks of an algorithm, and what it gives it."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

from ..envs import PacError, Task
from ..envs.fields import Array, Buffers
from .ranks import Ranks, SingleRank

Metrics: TypeAlias = dict[str, float]
PHASES = ("environment", "transport", "inference", "learner", "python")
KEPT_LAPS = 256


class Stopped(Exception):
    """The session is to end. Raised by a step; the algorithm lets it pass."""


class Interrupted(Exception):
    """The session has something to do between two steps, a restart say. Raised by a step; the rollout is given up."""


class Envs(Protocol):
    """The environments as a trainer sees them: a buffer and a step. A backend is one, a session's gate too."""

    @property
    def buffer(self) -> Buffers:
        """The arrays of the task's fields, `(slots, rows, ...)`."""

    @property
    def environments(self) -> int:
        """Number of environments N; rows are N x players."""

    def start(self, slot: int = 0) -> None:
        """Begin an episode in every environment and write the first observations into `slot`."""

    def advance(self, slot: int) -> None:
        """Step all environments by the actions of `slot`; the results stand in the next slot.

        Raises:
            Stopped: The session is to end.
            Interrupted: The session wants the training thread between two steps.
        """

    def carry(self) -> None:
        """Copy the last slot to slot 0, between two rollouts."""

    def close(self) -> None:
        """Stop the workers."""


class Lap(NamedTuple):
    """A phase that a thread went through, from `begin` to `end` in s of the monotonic clock."""

    phase: str
    begin: float
    end: float


class Timer:
    """Attributes every moment of the training thread to one phase, so that the phases add up.

    Attributes:
        seconds: Time spent per phase, since the beginning.
        last: When the last lap ended, by the clock.
        laps: The last laps, oldest first.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.seconds = dict.fromkeys(PHASES, 0.0)
        self._clock = clock
        self.last = clock()
        self.laps: deque[Lap] = deque(maxlen=KEPT_LAPS)

    def lap(self, phase: str) -> float:
        """Attribute the time since the last lap to `phase`; return it, in s."""
        now = self._clock()
        spent = now - self.last
        self.seconds[phase] += spent
        self.laps.append(Lap(phase, self.last, now))
        self.last = now
        return spent

    def move(self, source: str, target: str, seconds: float) -> None:
        """Attribute `seconds` of `source` to `target` instead."""
        self.seconds[source] -= seconds
        self.seconds[target] += seconds

    def skip(self) -> None:
        """Forget the time since the last lap: the training stood still."""
        self.last = self._clock()


@dataclass(frozen=True)
class PolicyOutput:
    """What the policy thought of one environment at the last step.

    Attributes:
        value: The value estimate.
        entropy: Entropy of the action distribution, in nats.
        actions: The likeliest actions, likeliest first; of an action with several components, the likeliest choice of
            each.
        probabilities: Their probabilities.
        means: Of each number of a continuous action, in the environment's units.
        deviations: Their standard deviations.
    """

    value: float
    entropy: float
    actions: Sequence[int]
    probabilities: Sequence[float]
    means: Sequence[float] = ()
    deviations: Sequence[float] = ()


@dataclass(frozen=True)
class Context:
    """What a session gives to a trainer.

    Attributes:
        task: The task to train on.
        make_envs: Called as `(num_envs, slots)`; the caller closes what it got.
        settings: The trainer's validated settings, as plain data.
        device: `cpu`, `cuda:0`, `mps`.
        seed: The run's seed.
        timer: Where the time goes.
        notify: Called with a sentence that a person should see.
        progress: Called with what is being prepared, where that takes long, and the share of it that is done; raises
            `Stopped` if the session is to end.
        ranks: The processes of the training, which decide together.
    """

    task: Task
    make_envs: Callable[[int, int], Envs]
    settings: Mapping[str, Any]
    device: str
    seed: int
    timer: Timer
    notify: Callable[[str], None] = lambda _text: None
    progress: Callable[[str, float], None] = lambda _what, _share: None
    ranks: Ranks = SingleRank()  # noqa: RUF009 - it has no state


class NonFiniteWeights(PacError):
    """What was learned consists of numbers that are none; it is not worth a checkpoint."""

    title = "Not a number"


class Trainer(ABC):
    """One algorithm, driven iteration by iteration. What a call into `Envs` raises passes through."""

    @abstractmethod
    def start(self, num_envs: int) -> None:
        """Make the environments and begin an episode in each."""

    @abstractmethod
    def iterate(self) -> Metrics:
        """Collect once and learn once; return the figures worth a curve."""

    def resize(self, num_envs: int) -> None:
        """Go on with another number of environments; what was learned, optimiser and counters stay."""
        self.close()
        self.start(num_envs)

    def inspect(self, row: int) -> PolicyOutput | None:  # noqa: ARG002
        """What the policy thought of a row at the last step, if it thinks."""
        return None

    def values(self, slots: slice) -> Array | None:  # noqa: ARG002
        """The value estimates behind the decisions of some slots of the running rollout, `(slots, rows)`, if any."""
        return None

    @abstractmethod
    def state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what a checkpoint holds, as of the end of the last iteration: tensors by name, and JSON data.

        Tensors are copies, or a `StreamedArray` where a copy would be too large.

        Raises:
            NonFiniteWeights: What was learned is of no use any more.
        """

    @abstractmethod
    def load_state(self, tensors: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        """Continue from what `state` returned."""

    def finish(self) -> Metrics:
        """Return figures that are worth another look at the end, if any."""
        return {}

    @abstractmethod
    def close(self) -> None:
        """Close the environments."""
