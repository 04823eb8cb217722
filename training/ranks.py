"""The decisions that the processes of one training make together.

A *rank* is one of these processes: a session with its own environments, which learns the same weights as the others.
Everything that could differ between ranks and must not goes through `Ranks`: limits and stops, the number of gradient
steps, the gradients, the end of an update at a KL divergence, which process writes the run, and the numbers of
environments.

All ranks must call the methods that communicate, and in the same order. So a rank must not return or raise between two
of these calls because of something that only it knows. It passes a flag, and then all ranks return or raise.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from ..envs import PacError

if TYPE_CHECKING:
    from torch import Tensor

Value = TypeVar("Value")


class RankLost(PacError):
    """Another process of the training has failed or ended, so this one cannot go on."""

    title = "A rank was lost"


class Ranks(ABC):
    """All processes of a training, as one of them uses them.

    Attributes:
        rank: The number of this process, from 0.
        size: The number of processes.
        waited: Seconds so far for which this process has communicated, which is mostly waiting for slower ones.
    """

    rank: int
    size: int
    waited: float = 0.0

    @property
    def is_writer(self) -> bool:
        """Whether this process writes the run. The others write nothing."""
        return self.rank == 0

    def first_env(self, num_envs: int) -> int:
        """Return the global number of this process's first environment, where every process has `num_envs`."""
        return self.rank * num_envs

    def leave(self, reason: str = "") -> None:  # noqa: B027 - a single process has nothing to leave
        """End the communication with the other ranks, for a reason that they name if this process has failed."""

    @abstractmethod
    def add(self, tensors: Sequence[Tensor]) -> None:
        """Replace each tensor by its sum over all ranks, in place. The result is the same on all ranks, bit for bit."""

    @abstractmethod
    def totals(self, numbers: Sequence[int]) -> list[int]:
        """Return the sum over all ranks of each number."""

    @abstractmethod
    def maximum(self, number: int, waiting: Callable[[], None] = lambda: None) -> int:
        """Return the largest of all ranks' numbers; `waiting` is called now and then until all have come."""

    @abstractmethod
    def from_writer(self, value: Value) -> Value:
        """Return the value that the rank which writes the run has passed."""

    def any(self, flag: bool) -> bool:
        """Return whether the flag is set on any rank."""
        return self.maximum(int(flag)) > 0

    def raise_together(
        self,
        action: Callable[[], None],
        errors: Sequence[type[Exception]],
        waiting: Callable[[], None] = lambda: None,
    ) -> None:
        """Call `action`. If it raises one of `errors` on any rank, raise it on all; of several, the last in `errors`.

        While one rank waits in `action`, the others wait for it, and call `waiting` now and then.
        """
        own, raised = None, 0
        try:
            action()
        except tuple(errors) as error:
            own, raised = error, 1 + next(index for index, kind in enumerate(errors) if isinstance(error, kind))
        agreed = self.maximum(raised, waiting)
        if agreed:
            raise own if own is not None and agreed == raised else errors[agreed - 1]


class SingleRank(Ranks):
    """A training of one process: its own values are everybody's."""

    rank, size = 0, 1

    def add(self, tensors: Sequence[Tensor]) -> None:
        """Leave the tensors as they are."""

    def totals(self, numbers: Sequence[int]) -> list[int]:
        """Return the numbers."""
        return list(numbers)

    def maximum(self, number: int, waiting: Callable[[], None] = lambda: None) -> int:  # noqa: ARG002
        """Return the number."""
        return number

    def from_writer(self, value: Value) -> Value:
        """Return the value."""
        return value
