"""Functions that run in processes of their own beside the environments, such as learners."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...envs import BadParameter
from ..core.status import WorkerStatus
from .fleet import Fleet, end_members


@dataclass(frozen=True)
class ProcessExit:
    """How a background process ended.

    Attributes:
        reason: Why it failed, such as `killed by SIGKILL` or `ValueError: bad batch`; empty if its function returned.
        traceback: The traceback of the exception, if there was one.
        output: The last 4 KiB of what it printed.
    """

    name: str
    reason: str = ""
    traceback: str = ""
    output: str = ""

    @property
    def failed(self) -> bool:
        """Whether it ended otherwise than by returning."""
        return bool(self.reason)


class BackgroundProcesses:
    """Starts functions in processes, notices their end, and stops them.

    A function `def learn(link: Link, arguments: Mapping[str, Any]) -> None` calls `link.ready()` when it is set up, and
    returns soon after `link.closing` has become true. With a `hang_timeout` it must also call `link.beat(steps)` more
    often than that. It runs in a new interpreter with one thread per numeric library (a learner calls
    `torch.set_num_threads`), ignores SIGINT, and is killed when this process dies.

    All methods are called by one thread. Nothing is restarted: the owner decides what an exit means.
    """

    def __init__(self) -> None:
        self._fleets: dict[str, Fleet] = {}

    def start(
        self, name: str, target: str, arguments: Mapping[str, Any], *, hang_timeout: float = math.inf, title: str = ""
    ) -> None:
        """Start a function in a new process, without waiting for it.

        Args:
            name: What `poll` and `statuses` call the process, such as `learner 1`.
            target: The function, as `module:function`.
            arguments: What it is called with; must be serializable as JSON.
            hang_timeout: Time without `link.beat` after which the process counts as hung and is killed, in s.
            title: What `ps` calls the process; by default its name.

        Raises:
            BadParameter: A process of that name is running.
        """
        if name in self._fleets:
            raise BadParameter(f"a background process named {name!r} is already running; choose another name")
        self._fleets[name] = Fleet(
            target,
            [arguments],
            ready_timeout=math.inf,
            hang_timeout=hang_timeout,
            title=title or name,
        )

    def poll(self) -> list[ProcessExit]:
        """Return the processes that ended since the last call; never waits."""
        exits = []
        for name, fleet in list(self._fleets.items()):
            member = fleet.members[0]
            failure = fleet.failure_of(member)
            if failure is None:
                continue
            returned = member.process is not None and member.process.returncode == 0
            reason = "" if returned else failure.reason
            exits.append(ProcessExit(name, reason, failure.traceback, failure.output))
            del self._fleets[name]
            fleet.stop()
        return exits

    def statuses(self) -> dict[str, WorkerStatus]:
        """Return the process id, state, steps, CPU time and memory of every running process, by name."""
        return {name: fleet.statuses()[0] for name, fleet in self._fleets.items()}

    def stop(self) -> None:
        """Ask all processes to close, kill those that have not ended after 2 s, and remove their files."""
        fleets = list(self._fleets.values())
        self._fleets.clear()
        end_members([member for fleet in fleets for member in fleet.members])
        for fleet in fleets:
            fleet.stop()
