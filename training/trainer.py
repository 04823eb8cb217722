"""The interface between a session and an algorithm: what the session calls, and what it provides."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

from ..backends.system.segment import Segment
from ..envs import PacError, Task
from ..envs.fields import Array, Buffers
from ..envs.slots import SlotOrder
from ..envs.unknown import UNKNOWN
from .ranks import Ranks, SingleRank

Metrics: TypeAlias = dict[str, float]
PHASES = ("environment", "transport", "inference", "learner", "python", "ranks")
KEPT_LAPS = 256


class Stopped(Exception):
    """The session is to end. Raised by a step; the algorithm does not catch it."""


class Interrupted(Exception):
    """The session has something to do between two steps, such as a restart. Raised by a step; discards the rollout."""


class NonFiniteWeights(PacError):
    """Weights are NaN or infinite, so a checkpoint of them would be useless."""

    title = "Not a number"


class ProcessFailed(PacError):
    """A process that the trainer started has failed. The step that raises this was not made and can be repeated.

    Attributes:
        index: Index of its arguments in the call of `Context.start_processes`; -1 of a process of another rank.
    """

    title = "A process of the trainer failed"

    def __init__(self, index: int = -1, text: str = "a process of another rank has failed") -> None:
        super().__init__(text)
        self.index = index


class Envs(Protocol):
    """The environments as a trainer sees them: a buffer and a step. Backends are such, alone or behind a gate."""

    @property
    def buffer(self) -> Buffers:
        """The arrays of the task's fields, `(slots, rows, ...)`."""

    @property
    def order(self) -> SlotOrder:
        """Which slots were written, and which follow."""

    @property
    def segment(self) -> Segment | None:
        """The shared memory with the buffer; None if the buffer is in memory of this process."""

    @property
    def environments(self) -> int:
        """Number of environments N; rows are N x players."""

    def advance(self, slot: int) -> None:
        """Step all environments by the actions of `slot`; the results are in the next slot.

        Raises:
            Stopped: The session is to end.
            Interrupted: The session wants the training thread between two steps.
            ProcessFailed: A process of the trainer has failed.
        """

    def hold(self) -> None:
        """Wait while the session is paused, without a step; a trainer that waits for others calls it meanwhile.

        Raises:
            Stopped, Interrupted, ProcessFailed: As `advance`.
        """

    def carry(self) -> None:
        """Copy the last slot of a rollout to the first slot of the next one."""


class LaunchedEnvs(Envs, Protocol):
    """Environments on a device, whose steps can be part of a graph."""

    @property
    def stepwise(self) -> bool:
        """Whether something happens between two steps now, such as a pause: then a rollout is not replayed."""

    def launch(self, slot: int) -> None:
        """Launch the step of a slot, without recording it."""

    def run_captured(self, slot: int, steps: int, play: Callable[[], None]) -> None:
        """Make all steps of a rollout, from `slot` on, by `play`, which repeats the captured launches."""


class Lap(NamedTuple):
    """A phase that a thread went through, from `begin` to `end` in s of the monotonic clock."""

    phase: str
    begin: float
    end: float


class ParentSession(Protocol):
    """The session, as a process of its trainer sees it."""

    @property
    def task(self) -> Task:
        """What is trained on."""

    @property
    def buffer(self) -> Buffers:
        """The arrays of the task's fields, `(slots, rows, ...)`, in shared memory. Only read them."""

    def pass_gate(self, done: int | None = None) -> None:
        """Wait until the next step is allowed: not while the session is paused, nor faster than its speed limit.

        Args:
            done: What the process has done so far, such as gradient steps, for viewers; by default how often this
                method was called.

        Raises:
            Stopped: The session or its trainer ends this process. The function need not catch it.
        """

    def lap(self, phase: str) -> None:
        """Attribute the time since the last call to a phase, of at most 16 characters, for the process's timeline."""

    def check(self) -> None:
        """Raise `Stopped` if this process is to end. A process that has nothing to do calls it from time to time."""


class TrainerProcesses(Protocol):
    """Processes that a trainer started. The session supervises them."""

    def check(self) -> None:
        """Raise `ProcessFailed` if one has failed, once per failure. `Envs.advance` does the same."""

    def restart(self, index: int) -> None:
        """Start a process again after it has ended."""

    def close(self) -> None:
        """Stop all of them, after 2 s by force."""


class StartProcesses(Protocol):
    """Starts processes that map the buffer of environments and pass the session's gate."""

    def __call__(
        self,
        function: str,
        arguments: Sequence[Mapping[str, Any]],
        envs: Envs,
        *,
        names: Sequence[str] = (),
        devices: Sequence[str] = (),
    ) -> TrainerProcesses:
        """Start one process for each of `arguments`, without waiting for them.

        Args:
            function: `module:function`, called in the process as `(session, arguments)`, where `session` is a
                `ParentSession`.
            arguments: JSON data for each process.
            envs: The environments whose buffer they map, which is in a `BufferSpec.segment`.
            names: What to call the processes.
            devices: Where they compute.

        Raises:
            BadParameter: The buffer is not in shared memory.
        """


def _no_processes(*_arguments: object, **_options: object) -> TrainerProcesses:
    raise PacError("processes can be started only in a session")


class Timer:
    """Attributes all time of a thread to phases.

    Args:
        clock: Returns the time in s.
        kept: How many of the last laps to keep.

    Attributes:
        seconds: Time per phase so far.
        last: When the last lap ended, by the clock.
        laps: The last laps, oldest first.
        skipped: The last times that were attributed to no phase, oldest first.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.perf_counter,
        *,
        phases: Sequence[str] = PHASES,
        kept: int = KEPT_LAPS,
    ) -> None:
        self.seconds = dict.fromkeys(phases, 0.0)
        self._clock = clock
        self.last = clock()
        self.laps: deque[Lap] = deque(maxlen=kept)
        self.skipped: deque[Lap] = deque(maxlen=kept)

    def lap(self, phase: str) -> float:
        """Attribute the time since the last lap to `phase`; return it, in s."""
        now = self._clock()
        spent = now - self.last
        self.seconds[phase] += spent
        self.laps.append(Lap(phase, self.last, now))
        self.last = now
        return spent

    def last_laps(self) -> deque[Lap]:
        """Return a copy of the last laps; any thread may call it."""
        return self.laps.copy()

    def keep(self, count: int) -> None:
        """Keep so many laps from now on, if fewer are kept; any thread may call it."""
        if (self.laps.maxlen or 0) < count:
            self.laps = deque(self.laps.copy(), maxlen=count)

    def laps_until_now(self, phase: str) -> list[Lap]:
        """Return the last laps, and that of `phase`, which is not over yet."""
        return [*self.laps.copy(), Lap(phase, self.last, self._clock())]

    def move(self, source: str, target: str, seconds: float) -> None:
        """Attribute `seconds` of `source` to `target` instead."""
        self.seconds[source] -= seconds
        self.seconds[target] += seconds

    def skip(self) -> None:
        """Attribute the time since the last lap to no phase, because the training waited."""
        begin, self.last = self.last, self._clock()
        if self.skipped and self.skipped[-1].end == begin:
            begin = self.skipped.pop().begin
        self.skipped.append(Lap("", begin, self.last))


@dataclass(frozen=True)
class PolicyOutput:
    """What the policy computed for one row at the last step.

    Attributes:
        value: The value estimate.
        entropy: Entropy of the action distribution, in nats.
        actions: The most likely actions, most likely first; for an action with several components, the most likely
            choice of each.
        means: The mean of each component of a continuous action, in the environment's units.
        deviations: Their standard deviations.
        values: Of a policy that chooses by values: those of the actions, highest first.
        ranges: The lowest and the highest return that is likely for each of the actions; empty if unknown.
        epsilon: Of such a policy: the probability of a random action.
        critics: Several estimates of the value of the action that was taken, if there are several.
    """

    value: float
    entropy: float
    actions: Sequence[int]
    probabilities: Sequence[float]
    means: Sequence[float] = ()
    deviations: Sequence[float] = ()
    values: Sequence[float] = ()
    ranges: Sequence[tuple[float, float]] = ()
    epsilon: float = UNKNOWN
    critics: Sequence[float] = ()


@dataclass(frozen=True)
class Saliency:
    """What a policy's choice depends on.

    Attributes:
        gradient: That of a number by each number of a seat's observation as the network gets it, in the observation's
            shape.
        of: The number: `logit` of the action, `Q` (the value of the action), or `value` of the state; of a script, also
            `output`, which may be either, or the first `mean`. Empty if it is unknown.
        action: The action, `(*action_shape)`; None of the value of a state.
        step: The step whose observation it is.
        given: Of a script: what its first layer was given, in the shape of the gradient; None if it is the observation.
        named: Whether these numbers have the names of those that are observed.
        note: Why it is unknown, if `of` is empty; else what else is to be said.
    """

    gradient: Array
    of: str
    action: Array | None = None
    step: int = -1
    given: Array | None = None
    named: bool = True
    note: str = ""


@dataclass(frozen=True)
class BufferSpec:
    """The buffer that a trainer needs.

    Attributes:
        slots: Number of slots, one more than the steps of a rollout.
        ring: Whether slot 0 follows the last slot, as in a replay; then `carry` is not called.
        rollouts: Number of rollouts that the slots hold; a thread can learn from one while another one is written.
        segment: Whether it is in shared memory, where other processes can map it.
        on_device: Whether the environments may be on the policy's device, with a buffer that has `tensors`.
    """

    slots: int
    ring: bool = False
    rollouts: int = 1
    segment: bool = False
    on_device: bool = False

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of `pac.backends.make` for this buffer, except for its device."""
        return {"slots": self.slots, "ring": self.ring, "rollouts": self.rollouts, "segment": self.segment}


@dataclass(frozen=True)
class Context:
    """What a session gives to a trainer.

    Attributes:
        task: The task to train on.
        settings: The trainer's validated settings, as plain data.
        device: `cpu`, `cuda:0`, `mps`.
        seed: The run's seed.
        timer: Measures the phases of the training thread.
        show_lane: Shows phases as a lane of the timeline, instead of an earlier one of that name. Called with the name
            and a function that returns the last laps, oldest first; `training` is the lane of the training thread.
        notify: Called with a sentence for people.
        progress: Called with what is being prepared, if that takes long, and the share of it that is done; raises
            `Stopped` if the session is to end.
        ranks: The processes of the training, which decide together.
        start_processes: Starts processes that the session supervises.
        frames_left: Returns how many more frames the limit of the run allows, for trainers whose steps have many.
    """

    task: Task
    settings: Mapping[str, Any]
    device: str
    seed: int
    timer: Timer
    show_lane: Callable[[str, Callable[[], Iterable[Lap]]], None] = lambda _name, _laps: None
    notify: Callable[[str], None] = lambda _text: None
    progress: Callable[[str, float], None] = lambda _what, _share: None
    ranks: Ranks = SingleRank()  # noqa: RUF009 - it has no state
    start_processes: StartProcesses = _no_processes
    frames_left: Callable[[], float] = lambda: math.inf


class Policy(Protocol):
    """An object that knows the outputs of a policy: a trainer, or the observer of a script."""

    def inspect(self, row: int) -> PolicyOutput | None:
        """Return what the policy computed for a row at the last step; None if that is unknown."""

    def saliency(self, row: int, observation: Array, mask: Array | None, action: Array | None) -> Saliency | None:
        """Return what the policy's choice for a row depends on, see `Trainer.saliency`; None if that is unknown."""

    def values(self, slots: slice) -> Any:
        """Return the value estimates of some slots, `(slots, rows)`, in an array or where the buffer is.

        None without estimates.
        """


class Trainer(ABC):
    """One algorithm, driven iteration by iteration. It does not catch `Stopped` and `Interrupted`.

    The environments belong to the session: it makes them with a buffer that the trainer describes, lends them, and
    takes them back before it closes them, at the end or to go on with another N.
    """

    @abstractmethod
    def buffer(self, num_envs: int) -> BufferSpec:
        """Return the buffer that N environments need.

        Raises:
            TooManyEnvironments: The trainer cannot use as many.
        """

    @abstractmethod
    def attach(self, envs: Envs) -> None:
        """Use environments with such a buffer from now on; their first episodes begin after this call."""

    @abstractmethod
    def detach(self) -> None:
        """Let go of the environments, which are about to be closed; keep what was learned, optimizer and counters.

        There may be none, and others may follow.
        """

    def restart_episodes(self) -> None:  # noqa: B027 - few trainers remember something of episodes
        """Note that all environments have begun new episodes, since those of a checkpoint could not be restored."""

    @abstractmethod
    def iterate(self) -> Metrics:
        """Collect once and learn once; return the metrics, each of which becomes a curve."""

    def inspect(self, row: int) -> PolicyOutput | None:  # noqa: ARG002
        """Return what the policy computed for a row at the last step; None if there is no policy."""
        return None

    def saliency(
        self,
        row: int,  # noqa: ARG002
        observation: Array,  # noqa: ARG002
        mask: Array | None,  # noqa: ARG002
        action: Array | None,  # noqa: ARG002
    ) -> Saliency | None:
        """Return what the policy's choice depends on, with the present weights; None if the trainer cannot say.

        It is called between two steps, in the thread that trains, and leaves no trace.

        Args:
            row: The seat.
            observation: Its newest observation as the buffer stores it, `(*stored_shape)`.
            mask: The packed bits of its legal actions; None where all are.
            action: The action that was chosen for it, in the environment's unit; None if that is not known, for the
                most likely one.
        """
        return None

    def probabilities(self, row: int) -> Any:  # noqa: ARG002
        """Return the probability of each action for a row at the last step, `(num_actions,)`.

        None if there is no policy, or if its actions are not single choices.
        """
        return None

    def values(self, slots: slice) -> Any:  # noqa: ARG002
        """Return the value estimates of some slots of the running rollout, as `Policy.values` says."""
        return None

    @abstractmethod
    def state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what a checkpoint contains, as of the end of the last iteration: tensors by name, and JSON data.

        Tensors are copies, or a `StreamedArray` where a copy would be too large.

        Raises:
            NonFiniteWeights: What was learned is useless.
        """

    def policy_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the part of `state` that a player loads, as copies; must not change anything.

        Raises:
            NonFiniteWeights: What was learned is useless.
        """
        return self.state()

    @abstractmethod
    def load_state(self, tensors: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        """Continue from what `state` returned."""

    def change_settings(self, settings: Mapping[str, Any]) -> None:
        """Use other settings from now on; called between two iterations, only if its settings have some in `LIVE`.

        The training that follows must equal one that was stopped here and resumed with these settings.

        Args:
            settings: All settings, validated, as plain data. Only those in `LIVE` may differ.
        """
        raise NotImplementedError

    def finish(self) -> Metrics:
        """Return metrics for the final report."""
        return {}

    def close(self) -> None:
        """Let go of the environments, and stop threads and processes. Nothing follows."""
        self.detach()


class OwnedEnvs(Envs, Protocol):
    """Environments as their owner sees them."""

    def start(self, slot: int = 0) -> None:
        """Start an episode in every environment and write the first observations into `slot`."""

    def close(self) -> None:
        """Stop the workers."""


AnyEnvs = TypeVar("AnyEnvs", bound=OwnedEnvs)


def open_envs(trainer: Trainer, num_envs: int, make: Callable[[int, BufferSpec], AnyEnvs]) -> AnyEnvs:
    """Make environments for a trainer that has none, lend them to it, and start an episode in each.

    Args:
        num_envs: Number of environments N.
        make: Makes them; the caller closes them after `Trainer.detach`.
    """
    envs = make(num_envs, trainer.buffer(num_envs))
    trainer.attach(envs)
    envs.start(0)
    return envs
