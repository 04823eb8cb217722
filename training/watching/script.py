"""The session of a watched script: viewers can show, pause, step and slow the script, and nothing else."""

from __future__ import annotations

import itertools
import math
import os
import sys
import weakref
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from multiprocessing.util import Finalize
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any

import gymnasium

from ...backends.system.segment import SharedMemoryFull, new_directory, remove_directory
from ...envs import BadParameter, Task
from ...envs.printable import printable
from ..runs.last_telemetry import remove_dead_sessions
from ..runs.sessions import running_names
from ..session.base_session import BaseSession
from ..session.commands import BaseCommands, Commands
from ..session.control import ControlServer
from ..session.system_sampler import SystemSampler
from ..session.viewers import Viewer
from ..telemetry.records import Level, Phase
from . import requested
from .boards import Render, WatchedBoards
from .figures import LoggedFigures
from .infos import Infos
from .mirror import Autoreset, ScriptMirror
from .observations import observation_of
from .policy import PolicyProbe
from .step_log import StepLog
from .task import WatchedActions, describe_script, info_fields

ITERATION, MAX_DELAY = 1.0, 1.5
"""Seconds of an iteration (unless a log ends it), and seconds between two publications without a viewer."""
SHARE = 0.006
"""The largest share of the training's time for publishing, without drawing."""
TRUE_BYTE = b"\x01"
_open: weakref.WeakSet[WatchedScript] = weakref.WeakSet()


class ScriptCommands(BaseCommands):
    """The commands to a watched script."""

    def __init__(self, script: WatchedScript) -> None:
        super().__init__(script)
        self._script = script

    def handle(self, viewer: Viewer, request: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Answer one command of a viewer, who sees its effect at the next step."""
        answer = super().handle(viewer, request)
        self._script.process_soon()
        return answer

    def unknown(self, name: str) -> str:
        """Return an error message for an unknown command, or one that a script does not have."""
        if hasattr(Commands, f"do_{name}") or hasattr(Commands, f"as_{name}"):
            return f"{name} works only in trainings that pac-tui runs, and this is a watched script"
        return super().unknown(name)


class WatchedScript(BaseSession):
    """The session of one watched vector environment.

    Args:
        task: The task that describes the environments.
        name: The name of the session.
        kind: The class of the vector environment.
        mirror: The buffer with the environments' steps.
        boards: Draws the environments.

    Attributes:
        mirror: The same.
        step_log: Where steps are noted.
    """

    def __init__(self, task: Task, name: str, kind: str, mirror: ScriptMirror, boards: WatchedBoards) -> None:
        remove_dead_sessions()
        super().__init__(task, new_directory())
        self.mirror = mirror
        self._boards = boards
        self.step_log = mirror.step_log
        self._looked_at = memoryview(self.mirror.buffer["looked_at"][0])
        self._figures = LoggedFigures()
        self._asked_to_end = self._broken = self._left_out = False
        self._iterated = perf_counter()
        self._iteration_due = self._iterated + ITERATION
        self.state.backend = kind
        # Before the telemetry, since viewers that find it send commands.
        self._server = ControlServer(self.directory, ScriptCommands(self).handle, self.viewers)
        self.open_segment(
            mirror.environments, run=name, trainer="script", backend=kind, device="", seed=0, watched=True
        )
        self.monitor.begin(self.mirror)
        choices = 0 if task.bounds or len(task.choices) > 1 else task.num_actions
        self._probe = PolicyProbe(mirror.environments, choices, len(task.bounds))
        self.debugger.policy = self._probe
        self.set_phase(Phase.RUNNING, "")
        self.sampler = SystemSampler(self)
        self.sampler.start()
        self.clock.start()
        _open.add(self)
        self.step_log.attention, self.step_log.wait, self.step_log.process, self.step_log.on_new_keys = (
            self.gate.attention,
            self.pass_gate,
            self._process,
            self.find_numbers,
        )
        self.process_soon()
        self._at_exit = Finalize(None, self._exit, exitpriority=10)  # unlike atexit, at a worker's exit, too
        if requested.output:
            with suppress(OSError):  # the output can still be read where it is
                os.link(requested.output, self.directory / "session.log")
        if not requested.quiet:
            print(f"watching {printable(name)}: pac-tui attach {printable(name)}", file=sys.stderr)  # noqa: T201 - a script has no other place

    def begin(self, mask: Any = None) -> None:
        """Record that the masked environments, or all, have begun an episode."""
        if not self.step_log.ended:
            self.step_log.inside += perf_counter() - max(self.step_log.left, self.timer.last)
            self._flush()
            if self.mirror.interrupts(mask):
                self.monitor.counter.count()  # numbers episodes by the one that runs now
            self.mirror.begin(mask)

    def _on_breakpoint(self, text: str, env: int) -> None:
        super()._on_breakpoint(text, env)
        self._broken = True

    def _hold(self) -> None:
        """Wait after a breakpoint hit before the script gets the result of the step, which may end the script."""
        self._broken, self.monitor.publisher.actions_chosen = False, False
        self._share_time()
        self.hold()
        self.monitor.publisher.actions_chosen = True

    def find_numbers(self, infos: Infos) -> None:
        """Publish numbers that are new in infos, in a new telemetry segment."""
        self._flush()
        names, left_out = self.step_log.info_reader.find(infos)
        if left_out and not self._left_out:
            self._left_out = True
            self.events.add(Level.WARNING, left_out)
        if names:
            self.mirror.read_infos(names)
            try:
                self.update_task(replace(self.task, info=(*self.task.info, *info_fields(names))))
            except SharedMemoryFull as error:
                self.events.add(Level.WARNING, f"{', '.join(names)} cannot be shown: {error}")
        self._write_events()

    def pass_gate(self) -> None:
        """Wait until the next step is allowed. After a wait, process the step at once: the next one will wait, too."""
        if self.gate.wait_seconds:
            self._share_time()
            self.process_soon()
        super().pass_gate()

    def process_soon(self) -> None:
        """Process steps after the next one, even if that is not due yet."""
        self.step_log.due = 0.0

    def _share_time(self) -> None:
        """Attribute the time since the last call to Python, except the time spent in environments."""
        self.timer.lap("python")
        self.timer.move("python", "environment", self.step_log.inside)
        self.step_log.inside = 0.0

    def _process(self, now: float) -> None:
        """Do what need not happen after every step."""
        begun = thread_time()
        with suppress(Exception):  # an error about the policy must not stop the rest
            self._probe.finish()
        self._share_time()
        drawing = self._flush()
        if self._asked_to_end:
            self.close()
        elif now >= self._iteration_due:
            self._end_iteration(now)
        spent = thread_time() - begun - drawing
        due = self.monitor.publisher.due if self.view.has_viewers else now + MAX_DELAY
        self.step_log.due = max(min(due, self._iteration_due), now + spent / SHARE)
        if self._broken:
            self._hold()
        if (
            self._probe.observes or self.debugger.needs_every_step
        ):  # read last, since other threads call `process_soon` after changing it
            self.process_soon()

    def _flush(self) -> float:
        """Pass new steps to the monitor and draw displayed environments; return how long drawing took, in s."""
        mirror, drawing = self.mirror, 0.0
        if mirror.flush():
            drawing = self._draw()
            mirror.buffer["observation"][mirror.buffer.order.newest, mirror.unknown, 0] = math.nan
            self.monitor.step()
        return drawing

    def _draw(self) -> float:
        """Draw displayed environments and copy the observation of the focus; return how long that took, in s."""
        mirror, env = self.mirror, self.view.focus(self.mirror.environments)
        if env is not None:
            observation = observation_of(self.step_log.observations, env)
            mirror.buffer["observation"][mirror.buffer.order.newest, env] = self._boards.parts.numbers(observation)
            self._draw_last(env)
        if TRUE_BYTE not in self._looked_at.tobytes():
            return 0.0
        return self._boards.draw(mirror.buffer, self.step_log.observations, spare=self.gate.wait_seconds)

    def _draw_last(self, env: int) -> None:
        """Show the last observation of an episode that the newest step has ended in an environment, if it is known."""
        last, buffer = self.step_log.last_observations, self.mirror.buffer
        if last is not None and last[env] is not None:
            buffer["final_observation"][buffer.order.newest, env] = self._boards.parts.numbers(last[env])
            self._boards.draw_last(buffer, last[env], env)

    def _while_waiting(self) -> None:
        self._flush()
        if self.monitor.publisher.actions_chosen:
            self.mirror.decide(self.step_log.actions)
        super()._while_waiting()
        if self.gate.paused:
            self.monitor.redraw(self._draw)

    def _end_iteration(self, now: float) -> None:
        """Add a point to the curves. If the script logs, an iteration lasts from log to log."""
        self._iterated = now
        self._iteration_due = float("inf") if self._figures else now + ITERATION
        self.monitor.end_iteration(self._figures.take())

    def log(self, metrics: Mapping[str, Any]) -> None:
        """Show those of the figures that are numbers as curves, from the next step on."""
        left_out = self._figures.add(metrics)
        if left_out:
            self.events.add(Level.WARNING, left_out)
        self._iteration_due = self._iterated + ITERATION
        self.step_log.due = min(self.step_log.due, self._iteration_due)

    def stop(self) -> None:
        """Stop watching; the script continues at its own speed."""
        self._asked_to_end = True
        self.gate.set_speed(0)
        self.gate.resume()

    def close(self, error: BaseException | None = None) -> None:
        """Publish how the script ended, and remove everything that the session created."""
        if self.step_log.ended:
            return
        self._flush()
        if self._figures:  # also what the script has logged last
            self._end_iteration(perf_counter())
        self._probe.stop()
        self.step_log.ended = True
        self._at_exit.cancel()
        _open.discard(self)
        self.gate.close()
        if error is None:
            self.set_phase(Phase.ENDED, "ended")
        else:
            self.set_phase(Phase.FAILED, f"{type(error).__name__}: {error}")
        self.sampler.stop()
        self._server.close()
        remove_directory(self.directory)

    def _exit(self) -> None:
        """Show viewers how the process ended."""
        error = getattr(sys, "last_value", None)
        self.close(None if isinstance(error, KeyboardInterrupt) else error)

    def forget(self) -> None:
        """Stop watching in a fork of the watched process."""
        self._probe.stop()
        self.step_log.ended = True


def watch_environments(
    owner: object,
    name: str,
    *,
    kind: str,
    num_envs: int,
    task: str,
    actions: gymnasium.Space[Any],
    render: Render | None,
    observations: Any,
    infos: Any,
    autoreset: Autoreset,
    make_step_log: type[StepLog] = StepLog,
) -> WatchedScript:
    """Show environments, whose first observations and infos are known, for as long as `owner` exists.

    Args:
        owner: The object that ends the session when it is deleted.
        name: Name of the session.
        kind: The class of the environments' object.
        num_envs: Number of environments N.
        task: What the environments are called.
        actions: The space of one environment's actions.
        render: Draws an environment; None if they cannot be drawn.
        observations: The first observations, a batch.
        infos: The first infos.
        autoreset: When an environment is reset after the end of an episode.
        make_step_log: The class that notes the steps.
    """
    boards = WatchedBoards(render, observations)
    read = WatchedActions(actions)
    described = describe_script(task, read, boards, begins_at_once=autoreset == "same step")
    mirror = ScriptMirror(described, num_envs, autoreset, read, observations, make_step_log=make_step_log)
    script = WatchedScript(described, _free_name(name), kind, mirror, boards)
    script.find_numbers(infos)
    weakref.finalize(owner, script.close).atexit = False
    return script


def script_name() -> str:
    """Return the name of the running script: its file without the extension, or the folder of a `__main__.py`."""
    if not sys.argv or sys.argv[0] in {"", "-c", "-m"}:
        return "python"
    path = Path(sys.argv[0]).absolute()
    return path.parent.name if path.stem == "__main__" else path.stem


def _free_name(name: str) -> str:
    """Return a name that no running session has: the given one, or with a number after it."""
    taken = running_names()
    numbered = (f"{name}-{number}" for number in itertools.count(2))
    return next(free for free in itertools.chain([name], numbered) if free not in taken)


def log(metrics: Mapping[str, Any]) -> None:
    """Show figures in every watch of this process.

    Raises:
        BadParameter: A value is not a number.
    """
    if _open:
        log_numbers({str(name): _number(name, value) for name, value in metrics.items()})


def log_numbers(metrics: Mapping[str, Any]) -> None:
    """Show those of the figures that are numbers in every watch of this process."""
    for script in tuple(_open):
        script.log(metrics)


def _number(name: str, value: Any) -> float:
    """Return a value that `float` accepts, also a tensor or array of one element, as a number."""
    try:
        return float(value.item() if hasattr(value, "item") else value)
    except (TypeError, ValueError, RuntimeError):
        raise BadParameter(f"watch.log expects numbers, and {name!r} is {value!r}: omit it or log its mean") from None


def _forget_all() -> None:
    for script in tuple(_open):
        script.forget()
    _open.clear()


os.register_at_fork(after_in_child=_forget_all)
