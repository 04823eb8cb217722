"""The commands that a viewer may send.

Methods named `as_...` concern the viewer itself, and every viewer may call them. Methods named `do_...` change the
training, and only the viewer that has control may call them. The annotations of the methods are the schema by which
arguments are checked.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, cast

from ...backends.profiling import allocations
from ...backends.profiling.asking import MOST_SECONDS
from ...envs import PacError
from ...envs.errors import brief
from ...envs.schema import Bounds, InvalidValue, Length, checked_arguments
from ..diagnosis.rules import ENVIRONMENTS, LEARNING, SPEED
from ..limits import MAX_ENVS
from ..past.episode_file import SUFFIX, write
from ..past.rebuilding import passage
from ..past.rewinder import save_state
from ..runs.checkpoint import save as save_checkpoint
from ..runs.folder import PAST, STATES
from ..telemetry.declared import MOST_SECONDS as MOST_TIME
from ..telemetry.records import MAX_STEPS_BACK
from ..telemetry.segment_layout import MAX_PROCESSES
from ..telemetry.snapshot import ViewRequest
from ..telemetry.throughput import WINDOW
from .control import CommandRefused
from .kernels import MOST_SECONDS as MOST_KERNELS
from .kernels import KernelRecorder
from .memory import Part, buffer_part, memory_of, trainer_parts
from .num_envs_planner import BASELINE_ENVS
from .profiler import Profiler
from .services import Services
from .tracing import Tracing
from .viewers import Viewer

if TYPE_CHECKING:  # a watched script need not import them
    from ..trainer import Trainer
    from .checkpoint_manager import CheckpointManager
    from .environments import SessionEnvs
    from .live_settings import LiveSettings
    from .run_record import RunRecord
    from .training_setup import TrainingSetup

PARTS_PERIOD = 5.0
"""Seconds for which it is known what a trainer keeps."""
MAX_COUNTS = 32
MAX_TEXT = 200  # characters
MAX_COMPONENTS = 4096  # of an action
MAX_NUMBER = 1e300

Answer: TypeAlias = Mapping[str, Any] | None
Text: TypeAlias = Annotated[str, Length(most=MAX_TEXT)]
Whole: TypeAlias = Annotated[int, Bounds(ge=-(2**31), lt=2**31)]
Number: TypeAlias = Whole | Annotated[float, Bounds(ge=-MAX_NUMBER, le=MAX_NUMBER)]
Action: TypeAlias = Number | Annotated[list[Number], Length(most=MAX_COMPONENTS)]
Names: TypeAlias = Annotated[list[Text], Length(most=MAX_COUNTS)]
StepCount: TypeAlias = Annotated[int, Bounds(ge=1, lt=2**31)]
NumEnvs: TypeAlias = Annotated[int, Bounds(ge=1, le=MAX_ENVS)]
Counts: TypeAlias = Annotated[list[NumEnvs], Length(1, MAX_COUNTS)]
EpisodeNumber: TypeAlias = Annotated[int, Bounds(ge=0, lt=2**63)]
Back: TypeAlias = Annotated[int, Bounds(ge=0, le=MAX_STEPS_BACK)]
Limit: TypeAlias = Annotated[float, Bounds(ge=0, le=MAX_NUMBER)]
Sampled: TypeAlias = Annotated[float, Bounds(ge=0.1, le=MOST_SECONDS)]
Followed: TypeAlias = Annotated[float, Bounds(ge=1, le=allocations.MOST_SECONDS)]
Recorded: TypeAlias = Annotated[float, Bounds(ge=0.1, le=MOST_KERNELS)]
Lead: TypeAlias = Annotated[float, Bounds(ge=0, le=MOST_KERNELS)]
Speed: TypeAlias = Annotated[float, Bounds(ge=0, le=MAX_NUMBER)]
Since: TypeAlias = Annotated[float, Bounds(ge=0, le=MOST_TIME)]
StepCounts: TypeAlias = Annotated[list[EpisodeNumber], Length(most=MAX_PROCESSES)]


class BaseCommands:
    """Executes commands in the threads of the control server: it only sets values that the training thread reads."""

    def __init__(self, services: Services, profiler: Profiler | None = None) -> None:
        self._tracing = Tracing(services)
        self._services, self._viewers, self._gate = services, services.viewers, services.gate
        self._state, self._monitor, self._debugger = services.state, services.monitor, services.debugger
        self._profiler = profiler or Profiler()

    def handle(self, viewer: Viewer, request: Mapping[str, Any]) -> Answer:
        """Answer one command of a viewer.

        Raises:
            CommandRefused: The command is unknown or cannot be executed now.
        """
        name = request["command"]
        if not isinstance(name, str) or len(name) > MAX_TEXT:
            raise CommandRefused(f"the name of a command must be a short text, got {brief(name)}")
        arguments = {key: value for key, value in request.items() if key != "command"}
        own, command = (getattr(type(self), f"{kind}_{name}", None) for kind in ("as", "do"))
        try:
            if own is not None:
                return own(self, viewer, **checked_arguments(own, arguments, skip=2))  # type: ignore[no-any-return]
            if command is None:
                raise CommandRefused(self.unknown(name))
            self._check(viewer, name)
            return command(self, **checked_arguments(command, arguments, skip=1))  # type: ignore[no-any-return]
        except InvalidValue as error:
            raise CommandRefused(f"{name} {error.sentence(arguments)}") from None

    def unknown(self, name: str) -> str:
        """Return an error message for an unknown command."""
        known = ", ".join(sorted(method[3:] for method in dir(self) if method[:3] in {"as_", "do_"}))
        return f"{name!r} is not a command; known: {known}"

    def _check(self, viewer: Viewer, name: str) -> None:
        controller = self._viewers.controller
        if controller not in {None, viewer}:
            raise CommandRefused(f"{controller.name} controls this training; press c to take control")
        if self._state.ending and name != "stop":
            raise CommandRefused("the session is ending")

    def _check_env(self, env: int) -> None:
        count = self._monitor.num_envs
        if not 0 <= env < count:
            raise CommandRefused(f"environments are numbered 1 to {count:,}, got {env + 1:,}")

    def as_join(self, viewer: Viewer, /, name: Text) -> Mapping[str, Any]:
        """Join with a name; the first viewer gets control."""
        return {"number": self._viewers.join(viewer, name)}

    def as_control(self, viewer: Viewer, /) -> None:
        """Take control."""
        self._viewers.take_control(viewer)

    def as_look(self, viewer: Viewer, /, **look: Any) -> None:
        """Set what the viewer displays; only this is published in detail."""
        found = ViewRequest(**checked_arguments(ViewRequest, look))
        viewer.look = found = replace(found, seat=min(found.seat, self._services.task.players - 1))
        self._services.update_view()
        if found.focus is not None and (found.back or found.last):
            self._services.rewinder.request(found.focus, found.back, found.seat, begun=not found.last)

    def as_detach(self, _viewer: Viewer, /) -> None:
        """Let the training continue without a viewer."""
        self._viewers.linger = math.inf

    def as_profile(self, _viewer: Viewer, /, seconds: Sampled) -> Answer:
        """Sample the stacks of all processes for some seconds, and answer then."""
        return self._profiler.sample(seconds)

    def as_stacks(self, _viewer: Viewer, /) -> Answer:
        """Return the stacks of all threads of all processes."""
        return self._profiler.stacks()

    def as_memory(self, _viewer: Viewer, /) -> Answer:
        """Return the memory of each process over time, what each part of it is, and the GPU; see `memory_of`."""
        return memory_of(self._debugger.diagnosis.evidence.machine, self._services.directory, self._parts())

    def _parts(self) -> list[Part]:
        """Return what is known of this process's own memory and of the buffer."""
        return []

    def as_allocations(self, _viewer: Viewer, /, seconds: Followed) -> Answer:
        """Follow the allocations of all processes for some seconds, and answer which lines have kept memory.

        The steps per second before and meanwhile say what that costs.
        """
        before = float(self._services.writer.array("state")["sps"])
        steps = self._steps()
        begun = time.monotonic()
        found = self._profiler.allocations(seconds)
        during = (self._steps() - steps) / (time.monotonic() - begun)
        return {"processes": found, "before": before if math.isfinite(before) else None, "during": during}

    def _steps(self) -> int:
        return self._services.counter.counts.steps

    def as_trace(self, _viewer: Viewer, /, after: Since = 0.0, counts: StepCounts | None = None) -> Answer:
        """Return what all threads, processes and workers did since the last such answer; see `Tracing.part`."""
        return self._tracing.part(after, counts or ())

    def do_pause(self) -> None:
        """Close the gate."""
        self._gate.pause()

    def do_resume(self) -> None:
        """Open the gate."""
        self._debugger.run_to_end_of_episode(None)

    def do_step(self, count: StepCount = 1) -> None:
        """Step all environments `count` times, then pause."""
        self._gate.step(count)

    def do_episode(self, env: Whole) -> None:
        """Run until environment `env` ends its episode, then pause."""
        self._check_env(env)
        self._debugger.run_to_end_of_episode(env)

    def do_break(self, text: Text) -> Mapping[str, Any]:
        """Add a breakpoint."""
        return {"number": self._debugger.breakpoints.add(text, self._monitor.num_envs)}

    def do_switch_break(self, number: Whole) -> None:
        """Disable a breakpoint, or enable it again."""
        self._debugger.breakpoints.toggle(number)

    def do_unbreak(self, number: Whole) -> None:
        """Remove a breakpoint."""
        self._debugger.breakpoints.remove(number)

    def do_speed(self, sps: Speed) -> None:
        """Limit the steps per second of all environments together; 0 is no limit."""
        self._gate.set_speed(sps)
        self._state.speed = sps

    def do_findings(
        self, environments: Limit = 1.0, learning: Limit = 1.0, speed: Limit = 1.0, muted: Names | None = None
    ) -> None:
        """Set by how much less sensitive the rules of each group are than usual; 0 mutes them, as do their names."""
        groups = {ENVIRONMENTS: environments, LEARNING: learning, SPEED: speed}
        self._debugger.diagnosis.tolerances = groups | dict.fromkeys(muted or (), 0.0)

    def do_stop(self) -> None:
        """Save, and end the session."""
        self._services.stop()


class Commands(BaseCommands):
    """The commands to a session: also its environments, its baseline and its checkpoints."""

    def __init__(
        self,
        setup: TrainingSetup,
        services: Services,
        envs: SessionEnvs,
        record: RunRecord,
        checkpoints: CheckpointManager,
        *,
        live: LiveSettings,
        kernels: KernelRecorder,
    ) -> None:
        super().__init__(services)
        self._kernels = kernels
        self._looked, self._kept = -math.inf, list[Part]()
        self._live, self._seed = live, setup.config.seed
        self._ranks, self._planner = setup.ranks, setup.planner
        self._envs, self._record, self._checkpoints = envs, record, checkpoints

    def do_speed(self, sps: Speed) -> None:
        """Limit the steps per second of all environments together; 0 is no limit."""
        if sps and self._planner.sweeping:
            raise CommandRefused("a measurement is running, and a speed limit would distort it; try again afterwards")
        super().do_speed(sps)

    def do_record(self, env: Whole) -> Mapping[str, Any]:
        """Record the next episode of environment `env`; a second call cancels that."""
        self._check_env(env)
        recorder = self._debugger.recorder
        if recorder is None or self._services.task.shared:
            raise CommandRefused("this trainer has no episodes to record")
        return {"recording": recorder.want(env)}

    def as_keep_episode(
        self, _viewer: Viewer, /, env: Whole, episode: EpisodeNumber, length: StepCount
    ) -> Mapping[str, Any]:
        """Write an episode that has ended, and has this length in steps, to a file that can be replayed."""
        recorder = self._debugger.recorder
        if recorder is None or self._services.task.shared or not 0 <= env < self._monitor.num_envs:
            raise CommandRefused("this episode cannot be replayed: its environment no longer exists")
        try:
            path = recorder.keep(env, episode, length, self._debugger.history)
        except (PacError, OSError) as error:
            raise CommandRefused(f"this episode cannot be replayed: {error}") from error
        return {"path": str(path.resolve())}

    def as_save_state(self, _viewer: Viewer, /, env: Whole, back: Back = 0) -> Mapping[str, Any]:
        """Write the files of the state of an environment `back` steps ago, in a paused session."""
        task = self._services.task
        if not task.state_files:
            raise CommandRefused("this task has no files of a state")
        if not self._gate.paused:
            raise CommandRefused("pause the session to save a state (Space)")
        self._check_env(env)
        try:
            paths = save_state(task, self._services.rewinder, self._record.source.entry(STATES), env, back)
        except (PacError, OSError) as error:
            raise CommandRefused(f"this state cannot be saved: {error}") from error
        return {"paths": [str(path.resolve()) for path in paths]}

    def as_kernels(self, _viewer: Viewer, /, seconds: Recorded, lead: Lead = 0.0) -> Answer:
        """Record the kernels of the GPU, or the operators of PyTorch on the CPU, and answer with all of them.

        The steps per second without that are measured for `lead` seconds before, or are those that are displayed.
        """
        before, steps, begun = float(self._services.writer.array("state")["sps"]), self._steps(), time.monotonic()
        if lead:
            time.sleep(lead)
            before = (self._steps() - steps) / (time.monotonic() - begun)
        return self._kernels.record(seconds, before)

    def _parts(self) -> list[Part]:
        backend = self._envs.backend
        if backend is None:
            return []
        now, buffer = time.monotonic(), backend.buffer
        if now > self._looked + PARTS_PERIOD:
            self._looked, self._kept = now, trainer_parts(self._debugger.policy, buffer)
        return [buffer_part(buffer, buffer.order, shared=backend.segment is not None), *self._kept]

    def as_keep_past(self, _viewer: Viewer, /, env: Whole, back: Back = 0) -> Mapping[str, Any]:
        """Write the steps around that of `back` steps ago of a paused environment, and the policy, into the run.

        Nothing of the training changes. The answer has the file, and the number of that step in it.
        """
        task, history, policy = self._services.task, self._debugger.history, self._debugger.policy
        if not self._gate.paused:
            raise CommandRefused("pause the session first (Space)")
        self._check_env(env)
        number = self._ranks.first_env(history.num_envs) + env
        step, run = max(0, history.now - back), self._record.source
        try:
            episode, at = passage(task, self._seed, history, env, step, number=number, run=run.name)
            folder = run.entry(PAST)
            folder.mkdir()
            path = folder / f"env{number + 1}{SUFFIX}"
            write(path, episode)
            if policy is not None:
                tensors, data = cast("Trainer", policy).policy_state()
                save_checkpoint(folder, self._services.counter.counts.steps, tensors, self._policy(data), keep=1)
        except (PacError, OSError) as error:
            raise CommandRefused(f"these steps cannot be played again: {error}") from error
        return {"path": str(path.path.resolve()), "at": at, "policy": policy is not None}

    def _policy(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return what is saved with the weights of the policy."""
        return {**self._record.identity, "data": data}

    def do_restart(self, num_envs: NumEnvs) -> None:
        """Restart with another number of environments."""
        self._check_decides()
        self._envs.restart(num_envs)

    def do_baseline(self) -> None:
        """Measure the fps of one environment, then return to the current N."""
        self._check_measurable()
        if self._monitor.num_envs == 1:
            raise CommandRefused("only one environment is running; its fps becomes the baseline within a few seconds")
        self._envs.sweep((BASELINE_ENVS,), WINDOW)

    def do_act(self, env: Whole, action: Action, seat: Whole = 0) -> None:
        """Step all environments once, with a person's action instead of the policy's in one seat."""
        control, backend = self._debugger.manual_control, self._envs.backend
        if backend is None or not self._gate.paused:
            raise CommandRefused("pause the session to play by hand (Space)")
        if control.requested is not None:
            raise CommandRefused("the previous step is still running")
        control.request(env, seat, action, backend.buffer, self._services.counter.newest)
        self._gate.step(1)

    def do_sweep(self, counts: Counts) -> None:
        """Measure the fps at several N for some seconds each, then return to the current N."""
        self._check_measurable()
        self._envs.sweep(sorted(set(counts)))

    def do_cancel_sweep(self) -> None:
        """Cancel a sweep and return to the N from before."""
        self._envs.cancel_sweep()

    def _check_decides(self) -> None:
        if not self._ranks.is_writer:
            raise CommandRefused("only rank 0 can change the number of environments; attach to it")

    def _check_measurable(self) -> None:
        self._check_decides()
        if self._planner.sweeping:
            raise CommandRefused("a measurement is already running")
        if self._state.speed:
            raise CommandRefused("a speed limit would distort the measurement; remove it first")

    def do_set(self, name: Text, text: Text) -> Mapping[str, Any]:
        """Change a setting of the trainer between two iterations."""
        if not self._ranks.is_writer:
            raise CommandRefused("only rank 0 can change settings; attach to it")
        return self._live.request(name, text)

    def do_checkpoint(self) -> None:
        """Save a checkpoint at the end of the iteration."""
        self._checkpoints.wanted = True
