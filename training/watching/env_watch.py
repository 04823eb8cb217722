"""The base class of what watches one environment object of a script, for all libraries."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .script import WatchedScript
    from .step_log import StepLog


class EnvWatch:
    """Opens a session for an environment object, and passes its resets and steps to the session.

    Each subclass supports a library. The environment is an argument of each method and is not stored, so that it
    is garbage-collected as without watching.

    Args:
        name: Name of the session. Default: the name of the script.
        label: Text that is appended to the name of the script.
        unchanged: Whether the script was not changed for watching. Then the session opens at the first step, and not at
            the first reset, so that an object that only another one around it steps is not shown; and environments
            that are made without a render mode are drawn, if that is harmless.

    Attributes:
        step_log: Records steps; None before the session is open.
        script: The session; None before it is open.
    """

    def __init__(self, name: str | None = None, *, label: str = "", unchanged: bool = False) -> None:
        self.step_log: StepLog | None = None
        self.script: WatchedScript | None = None
        self._name, self._label, self._unchanged = name, label, unchanged
        self._first: tuple[Any, Any] | None = None

    def describe(self, env: Any, observations: Any, infos: Any) -> Mapping[str, Any]:
        """Return the arguments of `watch_environments` that depend on the library."""
        raise NotImplementedError

    def begin(self, env: Any, observations: Any, infos: Any, mask: Any = None) -> None:
        """Record that the masked environments, or all, began an episode."""
        if self.script is None:
            self._first = observations, infos
            if self._unchanged:
                return
            self.open(env)
        assert self.script is not None
        self.script.begin(mask)

    def open(self, env: Any) -> StepLog | None:
        """Open the session if the environment was reset; return the log of its steps."""
        if self.script is None and self._first is not None:
            from .script import script_name, watch_environments

            observations, infos = self._first
            self._first = None
            described = self.describe(weakref.proxy(env), observations, infos)
            name = self._name or "-".join(filter(None, (script_name(), self._label)))
            self.script = watch_environments(env, name, observations=observations, infos=infos, **described)
            self.step_log = self.script.step_log
        return self.step_log

    def close(self) -> None:
        """Close the session; viewers see that the script ended."""
        self.step_log = None
        if self.script is not None:
            self.script.close()
