"""Shares out work that releases the GIL among threads, and tells how far it is."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from types import TracebackType
from typing import Self, TypeVar

Result = TypeVar("Result")
Progress = Callable[[str, float], None]
"""Is told what is being done, and the share of it that is done, up to 1."""


def no_progress(what: str, share: float) -> None:
    """Tell nobody."""
    del what, share


class ThreadCrew:
    """Threads, and whom they tell how far they are."""

    def __init__(self, workers: int, progress: Progress = no_progress) -> None:
        self.progress = progress
        self._pool = ThreadPoolExecutor(workers)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Begin nothing any more, and wait for what has begun."""
        del kind, error, trace
        self._pool.shutdown(cancel_futures=True)

    def share(self, work: Callable[[int, int], Result], total: int, chunk: int, what: str = "") -> list[Result]:
        """Call `work(first, last)` for all chunks of `total` things; return the results in order.

        Args:
            work: What to do with things `first` to `last - 1`, in any thread.
            total: How many things there are.
            chunk: How many of them are done at once: never dependent on the number of threads.
            what: Its name, if it is worth telling about.
        """
        if what:
            self.progress(what, 0.0)
        begun = [self._pool.submit(work, first, min(first + chunk, total)) for first in range(0, total, chunk)]
        for done, future in enumerate(as_completed(begun), 1):
            future.result()
            if what:
                self.progress(what, done / len(begun))
        return [future.result() for future in begun]
