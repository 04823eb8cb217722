"""What runs in a process that a trainer started: it maps the session's buffer and passes its gate."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from ...backends.core.layout import Buffer, Layout
from ...backends.system.arrays import NamedArrays
from ...backends.system.segment import Segment
from ...backends.workers.control import Link
from ...envs import Task, find
from ...envs.task import load, transformed
from ..telemetry.timeline import SharedLaps, laps_specs
from ..trainer import Stopped
from .gate import Gate


class AttachedSession:
    """A session, as a process of its trainer sees it.

    Args:
        link: Connects the process with the session that supervises it.
        task: What is trained on.
        given: Where buffer and gate are, as `ProcessSupervisor.start` passes it.

    Attributes:
        steps: How often this process has passed the gate.
    """

    def __init__(self, link: Link, task: Task, given: Mapping[str, Any]) -> None:
        self.task = task
        self.steps = 0
        self._link, self._given = link, given
        self._gate = Gate.attach(Path(given["directory"]), self.check)
        laps = given["laps"]
        arrays = NamedArrays.attach(laps_specs(laps["processes"]), Path(laps["path"]), writable=True)
        self._laps = SharedLaps(arrays, laps["index"])

    @cached_property
    def buffer(self) -> Buffer:
        """The arrays of the task's fields, `(slots, rows, ...)`, in shared memory.

        Only read them: the training thread and the workers write.
        """
        given = self._given
        slots, ring, rollouts = (given[name] for name in ("slots", "ring", "rollouts"))
        layout = Layout(self.task, given["num_envs"], slots, ring=ring, rollouts=rollouts)
        return layout.map(Segment.attach(Path(given["segment"])).map)

    def pass_gate(self, done: int | None = None) -> None:
        """Wait until the next step is allowed, see `pac.training.trainer.ParentSession`."""
        self.check()
        self._gate.enter()
        self.steps += 1
        self._link.beat(self.steps if done is None else done)

    def lap(self, phase: str) -> None:
        """Attribute the time since the last call to a phase, see `pac.training.trainer.ParentSession`."""
        self._laps.lap(phase)

    def check(self) -> None:
        """Raise `Stopped` if this process is to end."""
        self._link.beat()
        if self._link.closing:
            raise Stopped


def run(link: Link, given: Mapping[str, Any]) -> None:
    """Call the function of a trainer until it returns or is stopped."""
    function = load(given["function"])
    session = AttachedSession(link, transformed(find(given["spec"]), given["transform"]), given)
    link.ready()
    with suppress(Stopped):
        function(session, given["arguments"])
