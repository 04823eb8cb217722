"""All steps of a rollout as one CUDA graph, and those of a pass of the update: captured once, replayed later.

A graph repeats launches with the same addresses and the same numbers. So everything that changes between rollouts is
in tensors whose addresses stay the same: the weights, the buffer, the number of the first step, which keys the random
numbers of the actions, and what was computed of the rollout, with the order of the minibatches.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, Protocol

import torch
from torch import Tensor

from ..nets.distribution import ActionNoise
from ..nets.precision import forget_prepared
from ..ranks import Ranks
from ..trainer import LaunchedEnvs, Timer
from .rollout import Actor, OnDecision, final_values, values_after
from .settings import PpoSettings
from .storage import RolloutStorage
from .update import Pass, PpoLearner, take_steps


class Graph(Protocol):
    """Repeats what a function has launched on a device."""

    def capture(self, launch: Callable[[], None]) -> None:
        """Record what `launch` launches, without executing it."""

    def replay(self) -> None:
        """Launch all of it again, without waiting."""


class DirectGraph:
    """On the CPU, where nothing can be captured: a replay calls the function."""

    def __init__(self) -> None:
        self._launch: Callable[[], None] = lambda: None

    def capture(self, launch: Callable[[], None]) -> None:
        """Keep the function."""
        self._launch = launch

    def replay(self) -> None:
        """Call the function."""
        self._launch()


class CudaGraph:
    """A graph of PyTorch's operations and of kernels that are launched on PyTorch's current stream."""

    def __init__(self) -> None:
        self._graph: Any = torch.cuda.CUDAGraph()

    def capture(self, launch: Callable[[], None]) -> None:
        """Capture this thread's launches; other threads may use the GPU meanwhile."""
        with torch.cuda.graph(self._graph, capture_error_mode="thread_local"):
            launch()

    def replay(self) -> None:
        self._graph.replay()


def graph_on(device: torch.device) -> Graph:
    """Return what captures on a device."""
    return CudaGraph() if device.type == "cuda" else DirectGraph()


class CapturedRollout:
    """Collects rollouts, whose steps the device makes without the host.

    Args:
        actor: Decides.
        envs: The environments, on the device.
        storage: Where to collect.
        noise: The random numbers of the actions.
        ranks: The processes of the training: each rollout is replayed by all of them, or by none.
        notify: Called with a sentence for people.
    """

    def __init__(
        self,
        actor: Actor,
        envs: LaunchedEnvs,
        storage: RolloutStorage,
        noise: ActionNoise,
        *,
        ranks: Ranks,
        notify: Callable[[str], None],
    ) -> None:
        self._actor, self._envs, self._storage, self._noise = actor, envs, storage, noise
        self._ranks, self._notify = ranks, notify
        device = storage.buffer.device
        self._graph = graph_on(device)
        self._first_step = torch.zeros((), dtype=torch.int64, device=device)
        self._known_step = 0  # the value of `_first_step` once the device has done everything
        self._outputs: Tensor | None = None
        self._warm = self._captured = False

    def is_possible(self) -> bool:
        """Return whether the next rollout can be collected as a whole; asked once before each.

        The first one cannot: it compiles kernels. Nor can one in which something happens between two steps.
        """
        warm, self._warm = self._warm, True
        return not self._ranks.any(not warm or self._envs.stepwise)

    @torch.inference_mode()
    def collect(self, first_step: int, *, timer: Timer, on_decision: OnDecision) -> Tensor:
        """Step the environments T times, as `rollout` does; return the same.

        Args:
            timer: Gets the time of all steps as that of the environments.
            on_decision: Called with the policy's outputs and values of the last step.
        """
        storage = self._storage
        if not self._captured:
            self._graph.capture(self._launch)
            self._captured = True
            self._notify(f"captured the {storage.steps} steps of a rollout as a graph")
        if first_step != self._known_step:
            self._first_step.fill_(first_step)
        self._known_step = first_step + storage.steps
        self._envs.run_captured(storage.first, storage.steps, self._graph.replay)
        assert self._outputs is not None
        on_decision(self._outputs, storage.values[storage.steps - 1])
        values_at_ends = values_after(self._actor.policy, storage, final_values(self._actor.policy, storage))
        timer.lap("inference")
        return values_at_ends

    def _launch(self) -> None:
        """Launch the steps, and then the update of the number of the first step."""
        forget_prepared(self._actor.policy)  # else a replay would use what was computed from the weights of now
        storage, uniform = self._storage, self._noise.uniform(self._first_step, self._storage.steps)
        for step in range(storage.steps):
            self._outputs = self._actor.decide(storage, step, uniform[step])
            storage.publish(step)
            self._envs.launch(storage.first + step)
        self._first_step.add_(storage.steps)


class CapturedPasses:
    """Makes the passes of an update as replays of one captured pass.

    A pass is made step by step where it cannot be a replay: in the first update, which compiles kernels, in updates of
    several processes, which add gradients on the host, and where rows took no decision, so that sizes differ.

    Args:
        notify: Called with a sentence for people.

    Attributes:
        captured: The tensors of the captured pass; None before.
    """

    def __init__(self, notify: Callable[[str], None]) -> None:
        self.captured: Pass | None = None
        self._notify = notify
        self._graph: Graph | None = None
        self._settings: PpoSettings | None = None
        self._warm = self._refused = False
        self._replays = False

    def begin(self, learner: PpoLearner, first: Pass) -> Pass:
        """Begin an update; return the tensors that `run` works on, which contain those of `first`."""
        possible, self._warm = self._warm and not self._refused and capturable(learner, first), True
        if possible and (self.captured is None or self._settings is not learner.settings):
            possible = self._capture(learner, first)
        self._replays = possible and self.captured is not None and alike(self.captured, first)
        if not self._replays or self.captured is None:
            self._direct = learner, first
            return first
        for here, new in zip(tensors_of(self.captured), tensors_of(first), strict=True):
            if here is not new and here.data_ptr() != new.data_ptr():
                here.copy_(new)
        self._policy = learner.policy
        return self.captured

    def run(self) -> None:
        """Make a pass, in the order that the tensors have now."""
        if not self._replays:
            take_steps(*self._direct)
            return
        assert self._graph is not None
        self._graph.replay()
        forget_prepared(self._policy)

    def _capture(self, learner: PpoLearner, first: Pass) -> bool:
        """Capture a pass over tensors like those of an update; return whether that was possible."""
        device = first.totals.device
        # Observations and masks are where the environments write them, in every rollout.
        own: Any = {name: getattr(first.batch, name).clone() for name in COPIED}
        here: Any = {name: getattr(first, name).clone() for name in ("order", "fresh", "entropy", "clip", "totals")}
        work = replace(first, batch=replace(first.batch, **own), **here)
        self.captured = self._graph = None  # releases the memory of an earlier one
        graph = graph_on(device)
        try:
            graph.capture(lambda: take_steps(learner, work))
        except RuntimeError as error:
            self._refused = True
            self._notify(f"the update cannot be captured as a graph, and is made step by step: {error}")
            return False
        self.captured, self._graph, self._settings = work, graph, learner.settings
        self._notify(f"captured the {len(work.sizes):,} gradient steps of a pass as a graph")
        return True


IN_PLACE = ("observations", "masks")
COPIED = ("index", "actions", "logprobs", "advantages", "returns")


def capturable(learner: PpoLearner, first: Pass) -> bool:
    """Return whether a pass is launched by this process alone, without numbers that the host computes."""
    alone = learner.gradients.ranks.size == 1 and first.batch.sequences is None
    return alone and not (learner.settings.normalize_advantage and learner.settings.normalize_per_minibatch)


def tensors_of(work: Pass) -> list[Tensor]:
    """Return the tensors of a pass without sequences."""
    owners: tuple[Any, ...] = (work.batch, work)
    found = [getattr(owner, each.name) for owner in owners for each in fields(owner)]
    return [each for each in found if isinstance(each, Tensor)]


def alike(captured: Pass, other: Pass) -> bool:
    """Return whether a captured pass can be replayed with the tensors of another one copied into its own."""
    if captured.sizes != other.sizes:
        return False
    pairs = zip(tensors_of(captured), tensors_of(other), strict=True)
    where = [(getattr(work.batch, name), name) for work in (captured, other) for name in IN_PLACE]
    places = [None if tensor is None else tensor.data_ptr() for tensor, _ in where]
    return places[:2] == places[2:] and all(one.shape == two.shape for one, two in pairs)
