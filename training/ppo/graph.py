"""All steps of a rollout as one CUDA graph, which is captured once and replayed for every later rollout.

A graph repeats launches with the same addresses and the same numbers. So everything that changes between rollouts is
in tensors whose addresses stay the same: the weights, the buffer, and the number of the first step,
which keys the random numbers of the actions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch import Tensor

from ..nets.distribution import ActionNoise
from ..ranks import Ranks
from ..trainer import LaunchedEnvs, Timer
from .rollout import Actor, OnDecision, final_values, values_after
from .storage import RolloutStorage


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
        self._graph: Graph = CudaGraph() if device.type == "cuda" else DirectGraph()
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
        storage, uniform = self._storage, self._noise.uniform(self._first_step, self._storage.steps)
        for step in range(storage.steps):
            self._outputs = self._actor.decide(storage, step, uniform[step])
            storage.publish(step)
            self._envs.launch(storage.first + step)
        self._first_step.add_(storage.steps)
