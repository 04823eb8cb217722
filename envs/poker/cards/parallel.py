"""Distributes work that releases the GIL over threads, and reports progress."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from types import TracebackType
from typing import Self, TypeVar

Result = TypeVar("Result")
Progress = Callable[[str, float], None]
"""Called with the name of the work and its completed share, from 0 to 1."""


def no_progress(what: str, share: float) -> None:
    del what, share


class ThreadCrew:
    """A pool of threads that reports progress."""

    def __init__(self, workers: int, progress: Progress = no_progress) -> None:
        self.progress = progress
        self._pool = ThreadPoolExecutor(workers)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Cancel work that has not started, and wait for the rest."""
        del kind, error, trace
        self._pool.shutdown(cancel_futures=True)

    def share(self, work: Callable[[int, int], Result], total: int, chunk: int, what: str = "") -> list[Result]:
        """Call `work(first, last)` for all chunks of `total` items; return the results in order.

        Args:
            work: Processes the items `first` to `last - 1`, in any thread.
            total: Number of items.
            chunk: Items per call; must not depend on the number of threads.
            what: The name for progress; empty for no progress.
        """
        if what:
            self.progress(what, 0.0)
        begun = [self._pool.submit(work, first, min(first + chunk, total)) for first in range(0, total, chunk)]
        for done, future in enumerate(as_completed(begun), 1):
            future.result()
            if what:
                self.progress(what, done / len(begun))
        return [future.result() for future in begun]
