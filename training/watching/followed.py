"""What follows one environment object of a script: it notes its resets and steps in the session of its group."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar

from . import groups
from .boards import UsedByOtherThread
from .facts import own
from .naming import Caller, creation_label

if TYPE_CHECKING:
    from ...envs.fields import Array
    from .intercept import Inside, Noter
    from .script import WatchedScript
    from .step_log import StepLog


class CannotWatch(Exception):
    """Why an environment cannot be watched, in a sentence for the user."""


class Reports:
    """What was said about environments that are not watched, each reason once."""

    said: ClassVar[set[tuple[str, str]]] = set()


class Followed:
    """Follows one environment, of which it holds a weak reference. Each subclass supports a kind of interface.

    Args:
        env: The environment.
        calls: The calls that led to it.
        name: Name of its session; empty for that of the script.

    Attributes:
        env: The environment, a weak reference.
        group: The environments like it; None until the script resets it.
        row: Its place among these.
        made: When it was made.
        log: Where its steps are noted; None while it has no session.
        noted: Called after a call within which no environment was reset: `after`, or a faster way to note a step.
        attention: Not 0 if its next step has to wait.
        thread: The thread that has called it last.
        partial: Whether the first steps of its running episode are not in the log.
    """

    batch = False
    """Whether it is a batch of environments in one object."""
    begins: tuple[str, ...] = ("reset",)
    """The methods that begin an episode; it is followed from the first call of one on."""
    others: tuple[str, ...] = ()
    """The methods whose calls are noted besides these, `step` and `close`."""

    def __init__(self, env: Any, calls: tuple[Caller, ...], name: str = "") -> None:
        self.env = weakref.ref(env)
        self.group: groups.EnvGroup | None = None
        self.row, self.made = 0, perf_counter()
        self._calls, self._name = calls, name
        self._over = self._closed = self.partial = False
        self._first: tuple[Any, Any] = None, None
        self._known = False
        self.log: StepLog | None = None
        self.attention: Sequence[int] | Array = (0,)
        self.thread: Inside | None = None
        self.noted: Noter = self.after

    # -- calls of the script, by the thread that makes them; only what interrupts the script is raised ----------------

    def before(self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Wait before a step until the script may go on; called before a reset, or if `attention[0]` is not 0."""
        if self.log is not None and not self._over:
            try:
                with self.log.lock:  # a thread that draws the environment holds it
                    pass
                if name != "reset":
                    self.wait_before(name, args, kwargs)
            except Exception as error:
                self.fail(error)

    def after(self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any, entered: float) -> None:
        """Note the result of a call."""
        if self._over:
            return
        try:
            if name == "reset":
                self._reset(args, kwargs, result)
            elif name == "close":
                self.close()
            elif self._known:
                if self.group is None:
                    self.partial = True
                    self._join(args[0])
                self.note(name, args, kwargs, result, entered)
        except Exception as error:
            self.fail(error)

    def _reset(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any) -> None:
        from .intercept import replace

        env = args[0]
        if not self._known:
            self._known = True
            for name in ("step", "close", *self.others):
                replace(type(env), name)
            if "step" in own(env):
                raise CannotWatch("its step is an attribute of the object, and not a method of its class")
        observations, infos = self.first(args, kwargs, result)
        self._closed = self.partial = False
        if self.group is None:
            self._join(env)
        if self.log is not None:
            self.begin(observations, infos, args, kwargs)
        else:
            self._first = observations, infos

    def _join(self, env: Any) -> None:
        label = "" if self._name else creation_label(self._calls)
        key = (type(self), self._name, label, self.kind(env), self._calls)
        groups.join(self, key, self._name, label, batch=self.batch)

    def _open(self, env: Any, result: Any) -> StepLog:
        """Show the environment in the session of its group, at its first step."""
        assert self.group is not None
        with groups.lock:
            if self.session is not None and self.session.stopped:
                self._over, self.log = True, self.session.step_log
            if self.log is None:  # another thread may have opened it for all environments of the group
                self.attach(self.join_session(env, result))
            assert self.log is not None
            return self.log

    def attach(self, log: StepLog) -> None:
        """Note steps in a log from now on."""
        self.log, self.attention, self.noted = log, log.attention, self.noter(log)
        self._first = None, None

    def draw(self, drawer: Callable[[], Any]) -> Any:
        """Return what the environment renders, while no other thread uses it; the caller holds the log's lock.

        Only the thread that has called it last draws it. Others that come meanwhile find `attention` set, and wait for
        the lock. Those that have come before have set `thread` before they looked at `attention`.

        Raises:
            UsedByOtherThread: Another thread has called it last.
        """
        from .intercept import here

        before, self.attention = self.attention, (1,)
        try:
            if self.thread is not here.thread:
                raise UsedByOtherThread
            return drawer()
        finally:
            self.attention = before

    def release(self) -> None:
        """Note no steps any more: another environment took the place in the group."""
        self.group = self.log = None
        self.noted = self.after

    def noter(self, log: StepLog) -> Noter:  # noqa: ARG002 - not of every library
        """Return the fastest way to note a call in a log."""
        return self.after

    # -- what depends on the library ----------------------------------------------------------------------------------

    def kind(self, env: Any) -> str:
        """Return what distinguishes the environment from those of other kinds."""
        raise NotImplementedError

    def first(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any) -> tuple[Any, Any]:
        """Return the observations and infos that a reset returned."""
        raise NotImplementedError

    def join_session(self, env: Any, result: Any) -> StepLog:
        """Return the log of a session that shows the environment from now on, given the result of its first step."""
        raise NotImplementedError

    def begin(self, observations: Any, infos: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Note a reset in the session."""
        raise NotImplementedError

    def wait_before(self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Pass the gate before a step."""
        raise NotImplementedError

    def note(self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any, entered: float) -> None:
        """Note a step."""
        raise NotImplementedError

    # -- the end ------------------------------------------------------------------------------------------------------

    @property
    def alive(self) -> bool:
        """Whether the script may step it: it exists, is not closed and can be watched."""
        return self.env() is not None and not self._closed and not self._over

    @property
    def session(self) -> WatchedScript | None:
        """The session that shows it."""
        return None if self.group is None else self.group.session

    def close(self) -> None:
        """Note that the script has closed it. It may still reset and step it."""
        self._closed = True

    def fail(self, error: Exception) -> None:
        """Stop watching an environment after an error of ours, and say why; the script goes on."""
        self._over, self.noted = True, self.after
        env = self.env()
        report(type(env).__name__, error)


def report(kind: str, error: Exception) -> None:
    """Print why environments of a class are not watched; each reason once."""
    reason = str(error) if isinstance(error, ImportError | CannotWatch) else f"{type(error).__name__}: {error}"
    if (kind, reason) not in Reports.said:
        Reports.said.add((kind, reason))
        print(f"pac-tui: {kind} is not watched: {reason}", file=sys.stderr)  # noqa: T201 - a script has no other place


def action_of(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Return the first argument of a call to `step`, by place or by whatever name; None if there is none."""
    return args[1] if len(args) > 1 else next(iter(kwargs.values()), None)
