"""The session of a watched script: viewers can show, pause, step and slow the script, and nothing else."""

from __future__ import annotations

import itertools
import math
import os
import sys
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.util import Finalize
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any

from ...backends.system.segment import SharedMemoryFull, new_directory, remove_directory
from ...envs import BadParameter, Field, Task
from ...envs.printable import printable
from ..runs.last_telemetry import remove_dead_sessions
from ..runs.sessions import running_names
from ..session.commands import BaseCommands, Commands
from ..session.control import ControlServer
from ..session.profiler import Profiler
from ..session.services import Services
from ..session.system_sampler import SystemSampler
from ..session.viewers import Viewer
from ..telemetry.findings import gravest_first
from ..telemetry.records import Level, Phase, Severity
from . import requested
from .boards import Render, WatchedBoards, renew
from .called_weights import CalledWeights
from .infos import Infos
from .intercept import stepping
from .kept_run import KeptRun
from .learning_probe import LearningProbe
from .logged_metrics import LoggedMetrics
from .mirror import ScriptMirror
from .policy import PolicyProbe
from .replay_use import ReplayUse
from .script_lanes import ScriptLanes
from .step_log import StepLog
from .task import WatchedActions, describe_script

OBSERVED = 1.0
"""Seconds between two steps in which the policy is observed while nobody looks."""
ITERATION, MAX_DELAY = 1.0, 1.5
"""Seconds of an iteration (unless a log ends it), and seconds between two publications without a viewer."""
MOST_SAID = 3
"""Findings that are printed when a script without an app in front ends."""
MARK_PERIOD = 10.0  # s between two events about new environments
SHARE = 0.006
"""The largest share of the training's time for publishing, without drawing."""
IN_TURN = {"SyncVectorEnv", "DummyVecEnv"}
"""Vector environments that step one environment after the other."""
_open: weakref.WeakSet[WatchedScript] = weakref.WeakSet()


@dataclass(frozen=True)
class ShownEnvs:
    """What a session shows: N environments of one kind.

    Attributes:
        kind: The class of the environments' object.
        task: What the environments are called.
        actions: The space of one environment's actions; None if it is unknown.
        render: Draws an environment; None if they cannot be drawn.
        observation: What the first environment observed first.
        make_log: Makes the log of their steps, from their number and how actions are kept.
        begins_at_once: Whether the step that ends an episode resets the environment.
        begins_later: Whether the next step does, and ignores its action.
        parts: Number of parts of a reward; 0 if rewards are numbers.
        action: A first action, if the space is unknown.
        shared: Whether one picture shows all environments, as of agents in one place.
        agents: Returns the names of the environments so far, if each is an agent.
        layers: The wrappers of one environment, and the environment within them; none if it is out of reach.
        workers: The ids of the processes that step the environments, one each; none if it is this process.
    """

    kind: str
    task: str
    actions: Any
    render: Render | None
    observation: Any
    make_log: Callable[[int, Any], StepLog]
    begins_at_once: bool = False
    begins_later: bool = False
    parts: int = 0
    action: Any = None
    shared: bool = False
    agents: Callable[[], tuple[str, ...]] = tuple
    layers: Sequence[Any] = ()
    workers: Sequence[int] = ()


class ScriptCommands(BaseCommands):
    """The commands to a watched script."""

    def __init__(self, script: WatchedScript) -> None:
        super().__init__(script.services, Profiler("script", stepping, lambda: script.workers))
        self._script = script

    def handle(self, viewer: Viewer, request: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Answer one command of a viewer, who sees its effect at the next step."""
        answer = super().handle(viewer, request)
        self._script.step_log.watched |= self._script.view.has_viewers
        self._script.process_soon()
        return answer

    def unknown(self, name: str) -> str:
        """Return an error message for an unknown command, or one that a script does not have."""
        if hasattr(Commands, f"do_{name}") or hasattr(Commands, f"as_{name}"):
            return f"{name} works only in trainings that pac-tui runs, and this is a watched script"
        return super().unknown(name)


class WatchedScript:
    """A session that shows environments of a script, until the process ends. Others of their kind may replace them.

    The threads that step the environments call its methods, one at a time: they hold `lock`.

    Args:
        name: The name of the session.
        environments: What it shows.
        num_envs: Number of environments N.

    Attributes:
        name: The name of the session.
        services: What viewers see, and how they control it.
        mirror: The buffer with the environments' steps.
        step_log: Where steps are noted.
        lock: Held by the thread that processes steps.
        stopped: Whether a viewer has asked to watch no longer.
    """

    def __init__(self, name: str, environments: ShownEnvs, num_envs: int) -> None:
        remove_dead_sessions()
        self._shown, self.name = replace(environments, observation=None, action=None, layers=()), name
        task, self.directory = self._describe(environments), new_directory()
        self.services = services = Services(
            task,
            self.directory,
            stop=self.stop,
            waiting=self._while_waiting,
            on_breakpoint=self._on_breakpoint,
        )
        self.events, self.gate, self.clock, self.timer = services.events, services.gate, services.clock, services.timer
        self.monitor, self.view, self.state = services.monitor, services.view, services.state
        self.counter, self.debugger = services.counter, services.debugger
        self.lock = threading.RLock()
        self._metrics, self._replay = LoggedMetrics(), ReplayUse()
        self.stopped = self._broken = self._left_out = self._looked = False
        self._iterated = self._marked = perf_counter()
        self._iteration_due = self._learned_due = self._iterated + ITERATION
        self.state.backend = environments.kind
        self._run = KeptRun(name, environments.task, keep=requested.keep)
        # Before the telemetry, since viewers that find it send commands.
        self._server = ControlServer(self.directory, ScriptCommands(self).handle, services.viewers)
        self._shared_time = 0.0
        self._probe, self._learning, self._weights = PolicyProbe(num_envs, 0, 0), LearningProbe(), CalledWeights()
        self.mirror = self._mirror(num_envs)
        self.step_log = self.mirror.step_log
        self._publish_segment()
        if task.note:
            self.events.add(Level.INFO, task.note)
        if self._run.problem:
            self.events.add(Level.WARNING, self._run.problem)
        services.set_phase(Phase.RUNNING, "")
        self._stepping = threading.get_native_id()
        lanes = ScriptLanes(lambda: services.worker_timing.wanted, lambda: self._stepping, lambda: self.workers)
        services.timeline.add_lanes(lanes.lanes)
        checks = (self._run.write, lanes.update, services.worker_timing.update)
        self.sampler = SystemSampler(services, *checks, workers=lambda: self.workers, name="script")
        self.sampler.start()
        self.clock.start()
        _open.add(self)
        self._at_exit = Finalize(None, self._exit, exitpriority=10)  # unlike atexit, at a worker's exit, too
        if requested.output:
            with suppress(OSError):  # the output can still be read where it is
                os.link(requested.output, self.directory / "session.log")
        if not requested.quiet:
            shown = printable(name)
            print(f"pac-tui: watching {shown}: pac-tui attach {shown}", file=sys.stderr)  # noqa: T201 - a script has no other place

    @property
    def workers(self) -> Sequence[int]:
        """The ids of the processes that step the environments; none if it is this process."""
        return self._shown.workers

    def _describe(self, shown: ShownEnvs) -> Task:
        """Return the task that the environments are."""
        self._read = WatchedActions(shown.actions, shown.action)
        names = self._read.names(shown.task, shown.layers, shown.observation)
        self._boards = WatchedBoards(
            shown.render, shown.observation, text=self._read.text, shared=shown.shared, names=names
        )
        task = describe_script(
            shown.task, self._read, self._boards, begins_at_once=shown.begins_at_once, reward_parts=shown.parts
        )
        return replace(task, agents=shown.agents())

    def _mirror(self, num_envs: int, before: ScriptMirror | None = None) -> ScriptMirror:
        """Return a buffer and a log for N environments."""
        task = self.services.task
        action = np_dtype(task) if self._read.reads else None
        log = self._shown.make_log(num_envs, action) if before is None else before.step_log
        log.num_envs, log.lock = num_envs, self.lock
        log.flatten = self._read.flatten
        log.wanted = self._boards.in_use  # their own threads draw them
        read = self._read if self._read.reads else None
        mirror = ScriptMirror(task, log, read, begins_later=self._shown.begins_later, before=before)
        log.attention, log.wait, log.process = self.gate.attention, self.pass_gate, self._process
        log.on_new_keys, log.begun = self.find_numbers, self.debugger.diagnosis.evidence.stepped.begin
        log.seeded = self.debugger.diagnosis.evidence.stepped.seed
        return mirror

    def _publish_segment(self) -> None:
        """Show the environments of the mirror in a new telemetry segment. Counts and curves go on."""
        mirror, shown, task = self.mirror, self._shown, self.services.task
        self._looked_at = memoryview(mirror.buffer["looked_at"][0])
        self.services.open_segment(
            mirror.environments,
            run=self.name,
            trainer="script",
            backend=shown.kind,
            device="",
            seed=0,
            watched=True,
            folder=self._run.path,
        )
        self.monitor.begin(mirror)
        self._probe.stop()
        choices = 0 if task.bounds or len(task.choices) > 1 else task.num_actions
        self._probe = PolicyProbe(mirror.environments, choices, len(task.bounds))
        self._probe.layers.named = self._boards.parts.vector
        self.debugger.policy = self._probe
        self.process_soon()

    # -- environments that come and go --------------------------------------------------------------------------------

    def _grow(self, num_envs: int) -> None:
        """Show more environments, whose steps may be in the log already."""
        self.counter.count()
        self.services.task = replace(self.services.task, agents=self._shown.agents())
        self.mirror = self._mirror(num_envs, self.mirror)
        self._publish_segment()

    def show(self, environments: ShownEnvs, num_envs: int) -> None:
        """Show other environments of the same kind instead; the ones before are gone."""
        with self.lock:
            self.step_log.settle_all()
            self._flush()
            self.counter.count()
            self._shown = replace(environments, observation=None, action=None, layers=())
            self.state.backend = environments.kind
            self.services.task = task = self._describe(environments)
            self.services.rewinder.update_task(task)
            self.debugger.update_task(task)
            self.mirror = self._mirror(num_envs)
            self.step_log = self.mirror.step_log
            self._publish_segment()
            self.monitor.update_task(task, self.services.writer)
            self.mark_new()

    def mark_new(self) -> None:
        """Say that environments were replaced; not more often than people want to read."""
        now = perf_counter()
        if now >= self._marked + MARK_PERIOD:
            self._marked = now
            steps = f"{self.counter.counts.steps:,}"
            self.events.add(Level.INFO, f"{self._shown.task}: new environments after {steps} steps")

    def begin(self, mask: Any = None) -> None:
        """Record that the masked environments of a batch, or all, have begun an episode."""
        with self.lock:
            if not self.step_log.ended:
                self.step_log.inside += perf_counter() - max(self.step_log.left, self.timer.last)
                self._flush()
                if self.mirror.interrupts(mask):
                    self.monitor.counter.count()  # numbers episodes by the one that runs now
                self.mirror.begin(mask)

    # -- stepping -----------------------------------------------------------------------------------------------------

    def _on_breakpoint(self, text: str, env: int) -> None:
        self.services.break_at(text, env)
        self._broken = True

    def _hold(self) -> None:
        """Wait after a breakpoint hit before the script gets the result of the step, which may end the script."""
        self._broken, self.monitor.publisher.actions_chosen = False, False
        self._share_time()
        self.services.hold()
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
                fields = (Field(name, "float32") for name in names)
                task = self.services.task
                self.services.update_task(replace(task, info=(*task.info, *fields)))
            except SharedMemoryFull as error:
                self.events.add(Level.WARNING, f"{', '.join(names)} cannot be shown: {error}")
        self.services.write_events()

    def pass_gate(self) -> None:
        """Wait until the next step is allowed. After a wait, process the step at once: the next one will wait, too."""
        if self.gate.wait_seconds:
            with self.lock:
                self._share_time()
            self.process_soon()
        self.services.pass_gate()

    def process_soon(self) -> None:
        """Process steps after the next one, even if that is not due yet."""
        self.step_log.due = 0.0

    def _share_time(self) -> None:
        """Attribute the time since the last call to Python, except the time spent in environments."""
        self.timer.lap("python")
        passed = self.timer.seconds["python"] - self._shared_time  # less than inside if the first step began before
        self.timer.move("python", "environment", min(self.step_log.inside, passed))
        self._shared_time = self.timer.seconds["python"]
        self.step_log.inside = 0.0

    def _process(self, now: float) -> None:
        """Do what need not happen after every step."""
        with self.lock:
            begun, self._stepping = thread_time(), threading.get_native_id()
            observed = None
            with suppress(Exception):  # an error about the policy must not stop the rest
                observed = self._probe.finish()
                self._probe.observe(0.0 if self._probe.compares else OBSERVED)
                self._learning.install()
            self._share_time()
            every = self.debugger.needs_every_step
            self.step_log.watch(watched=self.view.has_viewers or every, every=every)
            drawing = self._flush()
            if observed is not None:
                row, output = observed
                if self._read.reads:
                    self._probe.choices.chosen(self._newest_actions())
                self.debugger.history.keep_entropy(row, self.counter.uncounted, output.entropy)
            if self.stopped:
                self.close()
                return
            if now >= self._iteration_due:
                self._end_iteration(now)
            elif now >= self._learned_due:  # the script logs less often
                self.debugger.diagnosis.evidence.log(self._learned(now), self.counter.counts.steps, every=True)
            spent = thread_time() - begun - drawing
            self._look()
            due = self.monitor.publisher.due if self.view.has_viewers else now + MAX_DELAY
            self.step_log.due = max(min(due, self._iteration_due), now + spent / SHARE)
            if self._broken:
                self._hold()
            if (
                self._probe.observes or self.debugger.needs_every_step
            ):  # read last, since other threads call `process_soon` after changing it
                self.process_soon()

    def _newest_actions(self) -> Any:
        """Return the actions of all environments in the newest step."""
        buffer = self.mirror.buffer
        return buffer["action"][buffer.order.newest - 1]

    def _look(self) -> None:
        """While a viewer watches, find out how environments are drawn; publish other boards in a new segment."""
        mirror, known = self.mirror, self.services.task
        if any(map(self._boards.look, self.view.displayed(mirror.environments).nonzero()[0].tolist())):
            task = replace(known, **self._boards.facts)
            renew(mirror.buffer, (*task.boards, *task.last_boards, *task.large_fields), mirror.environments)
            if task.observation != known.observation:
                mirror.observe(task.observation)
            self.services.update_task(task)
            self._looked_at = memoryview(mirror.buffer["looked_at"][0])
        for text in self._boards.take_notes():
            self.events.add(Level.WARNING, text)

    def _flush(self) -> float:
        """Pass new steps to the monitor and draw displayed environments; return how long drawing took, in s."""
        drawing = 0.0
        if self.step_log.rows > self.mirror.environments:
            self._grow(self.step_log.rows)
        mirror = self.mirror
        while mirror.flush():
            drawing += self._draw()
            mirror.buffer["observation"][mirror.buffer.order.newest, mirror.unknown, :1] = math.nan
            if mirror.seen is not None:
                begins = None if self.step_log.one_by_one else int(not self.services.task.begins_at_once)
                self.debugger.diagnosis.evidence.stepped.observe(mirror.seen[0], mirror.ends, begins)
            if mirror.seen is not None and self.step_log.watched and (numbers := self._boards.parts.vector):
                observations, infos = mirror.seen
                self.debugger.history.keep_seen(self.counter.uncounted, observations[..., :numbers], infos)
            self.monitor.step()
        return drawing

    def _draw(self) -> float:
        """Draw displayed environments and copy the observation of the focus; return how long that took, in s."""
        mirror, env = self.mirror, self.view.focus(self.mirror.environments)
        if env is not None:
            observation = self.step_log.observation(env)
            mirror.buffer["observation"][mirror.buffer.order.newest, env] = self._boards.parts.numbers(observation)
            self._draw_last(env)
        if not self._looked_at.tobytes().rstrip(b"\0"):
            return 0.0
        return self._boards.draw(mirror.buffer, self.step_log, spare=self.gate.wait_seconds)

    def _draw_last(self, env: int) -> None:
        """Show the last observation of an episode that the newest step has ended in an environment, if it is known."""
        last, buffer = self.step_log.last_observation(env), self.mirror.buffer
        if last is not None:
            buffer["final_observation"][buffer.order.newest, env] = self._boards.parts.numbers(last)
            self._boards.draw_last(buffer, last, env)

    def _while_waiting(self) -> None:
        if not len(self.services.viewers):
            self.gate.resume()  # nobody is left who could
        with self.lock:
            self._flush()
            publisher = self.monitor.publisher
            chosen = publisher.actions_chosen
            publisher.actions_chosen = chosen and self.mirror.decide(self.step_log.next_actions())
            self.services.wait()
            publisher.actions_chosen = chosen
            if self.gate.paused:
                self._look()
                self.monitor.redraw(self._draw)

    # -- curves -------------------------------------------------------------------------------------------------------

    def _end_iteration(self, now: float, *, last: bool = False) -> None:
        """Add a point to the curves. If the script logs, an iteration lasts from log to log."""
        self._iterated = now
        self._iteration_due = float("inf") if self._metrics else now + ITERATION
        if last:
            self._learning.look_last()
        row, counter = self.monitor.end_iteration({**self._learned(now), **self._metrics.take()}), self.counter
        if last:
            self.monitor.diagnose()
        found = self.debugger.diagnosis.findings
        self._run.add(row, counter.counts.totals(), self.clock.now(), self.mirror.environments, found)

    def _learned(self, now: float) -> dict[str, float]:
        """Return what is known of the script's learning, and note which environments it is about."""
        self._learned_due = now + ITERATION
        found = {
            **self._learning.take(),
            **self._weights.take(self._probe.called, self._learning.heads),
            **self._probe.metrics,
            **self._probe.choices.metrics,
            **self._replay.take(sys._getframe()),  # noqa: SLF001 - the only way to the model
        }
        self._probe.metrics = {}
        evidence = self.debugger.diagnosis.evidence
        evidence.stepped.kinds = self.step_log.kinds
        evidence.in_turn = self.step_log.one_by_one or self._shown.kind in IN_TURN
        if not self._shown.shared and not self._shown.agents():
            timed = self.step_log.timed.copy()  # as its deques, other threads append to it
            evidence.stepped.timed = {env: times.copy() for env, times in timed.items()}
        evidence.main = all(self.counter.counts.steps >= other.counter.counts.steps for other in tuple(_open))
        return found

    def log(self, metrics: Mapping[str, Any]) -> None:
        """Show those of the metrics that are numbers as curves, from the next step on."""
        left_out = self._metrics.add(metrics)
        if left_out:
            self.events.add(Level.WARNING, left_out)
        self._iteration_due = self._iterated + ITERATION
        self.step_log.due = min(self.step_log.due, self._iteration_due)

    # -- the end ------------------------------------------------------------------------------------------------------

    def stop(self) -> None:
        """Stop watching; the script continues at its own speed."""
        self.stopped = True
        self.gate.set_speed(0)
        self.gate.resume()

    def close(self, error: BaseException | None = None, *, interrupted: bool = False) -> None:
        """Publish how the script ended, and remove everything that the session created."""
        with self.lock:
            if self.step_log.ended:
                return
            self.step_log.settle_all()
            self._flush()
            if self._metrics or self._run.folder is not None:  # also what the script has logged last
                self._end_iteration(perf_counter(), last=True)
            self._probe.stop()
            self._learning.remove()
            self._weights.remove()
            self.step_log.end()
            self._at_exit.cancel()
            _open.discard(self)
            self.gate.close()
            failure = "" if error is None else f"{type(error).__name__}: {error}"
            self.services.set_phase(Phase.FAILED if failure else Phase.ENDED, failure or "ended")
        self.sampler.stop()
        self._server.close()
        state = "interrupted" if interrupted or self.stopped else "failed" if failure else "completed"
        self._run.close(state, failure, self.services.writer.segment, requested.output)
        remove_directory(self.directory)
        if not requested.quiet:
            for found in gravest_first(self.debugger.diagnosis.findings)[:MOST_SAID]:
                if found.lasts and found.severity > Severity.NOTE:
                    print(f"pac-tui: {found.severity.name.lower()}: {printable(found.text)}", file=sys.stderr)  # noqa: T201 - as above

    def _exit(self) -> None:
        """Show viewers how the process ended."""
        error = getattr(sys, "last_value", None)
        interrupted = isinstance(error, KeyboardInterrupt)
        self.close(None if interrupted else error, interrupted=interrupted)

    def forget(self) -> None:
        """Stop watching in a fork of the watched process."""
        self._probe.stop()
        self._learning.remove()
        self._weights.remove()
        self.step_log.end()
        self._run.forget()


def np_dtype(task: Task) -> Any:
    """Return the dtype of a task's actions."""
    import numpy as np

    return np.dtype(next(item.dtype for item in task.fields if item.name == "action"))


def script_name() -> str:
    """Return the name of the running script: its file without the extension, or the folder of a `__main__.py`."""
    if not sys.argv or sys.argv[0] in {"", "-c", "-m"}:
        return "python"
    path = Path(sys.argv[0]).absolute()
    return path.parent.name if path.stem == "__main__" else path.stem


def free_name(name: str) -> str:
    """Return a name that no running session has: the given one, or with a number after it."""
    taken = running_names()
    numbered = (f"{name}-{number}" for number in itertools.count(2))
    return next(free for free in itertools.chain([name], numbered) if free not in taken)


def log(metrics: Mapping[str, Any]) -> None:
    """Show metrics in every session of this process.

    Raises:
        BadParameter: A value is not a number.
    """
    if _open:
        log_numbers({str(name): _number(name, value) for name, value in metrics.items()})


def log_numbers(metrics: Mapping[str, Any]) -> None:
    """Show those of the metrics that are numbers in every session of this process."""
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
