"""The commands that a viewer may send to a session; each method named `do_...` is one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .config import MAX_ENVS
from .control import CommandRefused, Viewer
from .records import Phase
from .snapshot import Look

if TYPE_CHECKING:
    from .session import Session

ALWAYS = frozenset({"look", "detach", "stop"})


class Commands:
    """Carries out commands on `session`, in the threads of the control server: it only sets words and wishes."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def handle(self, viewer: Viewer, request: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Answer one command of a viewer.

        Raises:
            CommandRefused: It is not a command, or cannot be done now.
        """
        name = str(request["command"])
        arguments = {key: value for key, value in request.items() if key != "command"}
        command = getattr(self, f"do_{name}", None)
        if command is None:
            known = ", ".join(sorted(method[3:] for method in dir(self) if method.startswith("do_")))
            raise CommandRefused(f"{name!r} is not a command; known: {known}")
        if self._session.monitor.state["phase"] >= Phase.STOPPING and name not in ALWAYS:
            raise CommandRefused("the session is ending")
        if name == "look":
            viewer.look = arguments
        answer: Mapping[str, Any] | None = command(**arguments)
        return answer

    def do_look(self, **look: Any) -> None:
        """Say what the viewer looks at; only that is recorded in detail."""
        monitor = self._session.monitor
        monitor.look = Look(**{**look, "curves": tuple(look.get("curves", ()))})
        monitor.watched = True

    def do_pause(self) -> None:
        """Close the gate."""
        self._session.gate.pause()

    def do_resume(self) -> None:
        """Open the gate."""
        self._session.run_to_end_of_episode(None)

    def do_step(self, count: int = 1) -> None:
        """Let all environments make `count` steps, then pause."""
        if count < 1:
            raise CommandRefused(f"a number of steps is 1 or more, got {count}")
        self._session.gate.step(int(count))

    def do_episode(self, env: int) -> None:
        """Run until environment `env` ends its episode, then pause."""
        if not 0 <= env < self._session.num_envs_now:
            raise CommandRefused(f"environments are numbered 1 to {self._session.num_envs_now}, got {env + 1}")
        self._session.run_to_end_of_episode(int(env))

    def do_speed(self, sps: float) -> None:
        """Limit the steps per second of all environments together; 0 is no limit."""
        self._session.gate.set_speed(sps / max(1, self._session.num_envs_now))
        self._session.monitor.state["speed"] = max(0.0, float(sps))

    def do_restart(self, num_envs: int) -> None:
        """Restart with another number of environments."""
        if not 1 <= num_envs <= MAX_ENVS:
            raise CommandRefused(f"a number of environments is 1 to {MAX_ENVS:,}, got {num_envs:,}")
        self._session.restart(int(num_envs))

    def do_baseline(self) -> None:
        """Measure the fps of one environment, then return to N."""
        if self._session.measuring_baseline:
            raise CommandRefused("the baseline is being measured")
        if self._session.num_envs_now == 1:
            raise CommandRefused(
                "one environment is running: its fps becomes the baseline by itself, within some seconds"
            )
        self._session.measure_baseline()

    def do_checkpoint(self) -> None:
        """Save a checkpoint at the end of the iteration."""
        self._session.checkpoint_soon()

    def do_detach(self) -> None:
        """Let the session go on without a viewer."""
        self._session.linger = math.inf

    def do_stop(self) -> None:
        """Save, stop the workers, end."""
        self._session.stop()
