"""Answers where the processes of a session spend their time, and which lines of their code allocate memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ...backends.profiling.allocations import allocations
from ...backends.profiling.asking import ALLOCATIONS, PATIENCE, answers, ask
from ...backends.profiling.sampling import Sampler
from ...backends.system.segment import known_directories
from ..own_threads import OwnThread
from .control import CommandRefused

APART = "a process that a script has started cannot be asked which lines allocate"
HIDDEN = frozenset({OwnThread.run.__code__})


class Profiler:
    """Samples this process and its workers, for one viewer at a time, in the viewer's thread.

    Args:
        name: What this process is called.
        steps: Files and first lines of functions that step or reset environments.
        elsewhere: Returns the ids of processes that step environments and cannot be asked.
    """

    def __init__(
        self,
        name: str = "session",
        steps: Collection[tuple[str, int]] = frozenset(),
        elsewhere: Callable[[], Sequence[int]] = tuple,
    ) -> None:
        self._sampler = Sampler(name, works=True, hidden=HIDDEN, steps=steps)
        self._elsewhere = elsewhere
        self._lock = threading.Lock()

    def sample(self, seconds: float) -> Mapping[str, Any]:
        """Return what each process did for so long from now."""
        with self._alone():
            asked = ask(known_directories(), seconds)
            own = self._sampler.sample(seconds)
            return {"processes": [own, *answers(asked, 0.0)], "elsewhere": [*self._elsewhere()]}

    def stacks(self) -> Mapping[str, Any]:
        """Return the stacks of all threads of each process."""
        with self._alone():
            asked = ask(known_directories(), 0.0)
            own = self._sampler.stacks()
            return {"processes": [own, *answers(asked, 0.0, dump=True)], "elsewhere": [*self._elsewhere()]}

    def allocations(self, seconds: float) -> list[Mapping[str, Any]]:
        """Return which lines of each process have allocated memory for so long from now."""
        with self._alone():
            asked = ask(known_directories(), seconds, ALLOCATIONS)
            own = allocations(self._sampler.name, seconds)
            apart = [
                {"process": f"process {number}", "pid": pid, "text": APART}
                for number, pid in enumerate(self._elsewhere(), 1)
            ]
            return [own, *answers(asked, 0.0), *apart]

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if not self._lock.acquire(timeout=2 * PATIENCE):
            raise CommandRefused("other viewers are asking for the same; try again in a few seconds")
        try:
            yield
        finally:
            self._lock.release()
