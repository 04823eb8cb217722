"""The trainer: it collects a rollout, estimates advantages and updates the policy, again and again."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, ClassVar, cast

import numpy as np
import torch
from torch import Tensor

from ...envs import BadParameter
from ...envs.fields import Array
from ...envs.slots import rollout_spans
from ..device import keep_memory
from ..nets.compute_threads import ComputeThreads
from ..nets.distribution import Gaussian, Product
from ..nets.policy_trainer import PolicyTrainer
from ..nets.precision import dtype_on
from ..nets.saliency import gradient_by_input
from ..nets.weights import copied, load_weights
from ..trainer import BufferSpec, Context, Envs, Interrupted, LaunchedEnvs, Metrics, Saliency, Stopped
from .graph import CapturedPasses, CapturedRollout
from .learning import Rollout, RolloutLearner
from .overlap import OverlapTimes, Threaded, Updates
from .policy import PpoPolicy
from .rollout import Actor, rollout
from .settings import PpoSettings
from .storage import RolloutStorage, SlotValues

ACTING = "acting."
"""What the names of the acting policy's tensors begin with in a checkpoint, if they are not those that learn."""


MEMORY = "memory"
"""The name of what a recurrent policy remembers in a checkpoint."""


class PPO(PolicyTrainer[PpoPolicy]):
    """PPO with action masks.

    With `overlap`, an iteration learns from the rollout of the iteration before, in a thread, while it collects. There
    are two policies: `policy` acts, with the weights from before that update, and `learner.policy` is trained. They are
    the same object without it.

    Attributes:
        learner: Learns from rollouts.
        steps: Steps of each environment in rollouts that were learned from, or are being learned from.
    """

    runs_updates: ClassVar[type[Updates]] = Threaded

    def __init__(self, context: Context) -> None:
        self.settings = settings = PpoSettings.read("ppo", context.settings)
        if settings.overlap and context.ranks.size > 1:
            raise BadParameter(
                "ppo.overlap: several processes cannot learn together while they collect; set it to false"
            )
        if settings.overlap and settings.cuda_graph:
            raise BadParameter(
                "ppo.cuda_graph: no graph is captured while another thread learns; set ppo.overlap to false"
            )
        if settings.memory and settings.cuda_graph:
            raise BadParameter("ppo.cuda_graph: no graph has a memory; set it to false, or ppo.memory to 0")
        device = torch.device(context.device)
        keep_memory()
        threads = ComputeThreads(device, settings.threads)
        shuffle = torch.Generator().manual_seed(context.seed)
        dtype = dtype_on(settings.precision, device)
        policy = PpoPolicy(context.task, settings, shuffle, dtype)
        super().__init__(context, policy, policy.distribution)
        self._actor = Actor(self.policy, threads)
        trained = self.policy
        if settings.overlap:
            trained, threads = deepcopy(self.policy), ComputeThreads(device, settings.threads)
        self.learner = RolloutLearner(trained, settings, threads, context.ranks, shuffle)
        self._updates: Updates | None = None
        if settings.overlap:
            self._times = OverlapTimes(context)
            self._updates = self.runs_updates(self._times.timed(self.learner.learn), device)
        self._storages: list[RolloutStorage] = []
        self._captured: CapturedRollout | None = None
        self._values: SlotValues | None = None
        self._value_unit = 1.0
        self._unlearned: Rollout | None = None
        self._version = 0  # updates of the acting policy
        self._memory = torch.zeros(0)  # `(R, memory)` before the next step, of a recurrent policy
        self.steps = 0

    def buffer(self, num_envs: int) -> BufferSpec:
        """Return a buffer for a rollout, or with `overlap` for two."""
        rollouts = 2 if self._updates else 1
        slots = rollouts * (self.settings.steps(self._all_rows(num_envs)) + 1)
        return BufferSpec(slots, rollouts=rollouts, on_device=True)

    def _all_rows(self, num_envs: int) -> int:
        return num_envs * self._context.task.players * self._context.ranks.size

    def attach(self, envs: Envs) -> None:
        """Collect from environments from now on."""
        advice = self.settings.advice_for_gpu(self._all_rows(envs.environments))
        if self._context.device.startswith("cuda") and advice:
            self._context.notify(advice)
        super().attach(envs)
        buffer, order = self._buffer, envs.order
        assert buffer is not None
        values = self._values = SlotValues(order.slots, buffer.rows, buffer.device, resident=buffer.resident)
        spans = rollout_spans(order.slots, order.rollouts)
        memory = self.policy.memory
        self._storages = [RolloutStorage(self._context.task, buffer, span, values, memory=memory) for span in spans]
        if self._memory.shape != (buffer.rows, memory):  # else it is that of a checkpoint
            self._memory = torch.zeros(buffer.rows, memory)
        self._memory = self._memory.to(buffer.device)
        if self.settings.cuda_graph:
            self._captured = self._new_graph(self._storages[0])
            self.learner.passes = CapturedPasses(self._context.notify)

    def _new_graph(self, storage: RolloutStorage) -> CapturedRollout:
        if not storage.buffer.resident:
            raise BadParameter(
                "ppo.cuda_graph: a graph contains no steps on the host; use --backend device --device cuda, or set it "
                "to false"
            )
        assert self._noise is not None
        envs, context = cast("LaunchedEnvs", self._envs), self._context
        return CapturedRollout(self._actor, envs, storage, self._noise, ranks=context.ranks, notify=context.notify)

    def iterate(self) -> Metrics:
        """Collect a rollout and learn from it, or with `overlap` from the one before."""
        if self._updates is not None:
            return self._collect_while_learning(self._updates)
        collected = self._collect()
        timer, ranks = self._context.timer, self._context.ranks
        waited = ranks.waited
        metrics = self.learner.learn(collected)
        self._version, self._value_unit = self.learner.updates, float(self.value_unit)
        self.steps += collected.storage.steps
        timer.lap("learner")
        timer.move("learner", "ranks", ranks.waited - waited)
        return metrics

    def _collect(self) -> Rollout:
        assert self._envs is not None
        assert self._noise is not None
        timer = self._context.timer
        if self._envs.order.full:
            self._envs.carry()
        storage = next(each for each in self._storages if each.first == self._envs.order.newest)
        if self.policy.memory:
            storage.memory[0] = self._memory
        timer.lap("python")
        if self._captured is not None and self._captured.is_possible():
            finals = self._captured.collect(self.steps, timer=timer, on_decision=self._on_decision)
        else:
            uniform = self._noise.uniform(self.steps, storage.steps)
            finals = rollout(self._actor, self._envs, storage, uniform, timer=timer, on_decision=self._on_decision)
        if self.policy.memory:
            self._memory = storage.remembered(storage.steps)
        return Rollout(storage, finals, self._version)

    def _collect_while_learning(self, updates: Updates) -> Metrics:
        self._times.begin_iteration()
        self._begin_update(updates)
        try:
            collected = self._collect()
        except (Interrupted, Stopped):
            if updates.is_running:
                self._context.notify("the running update is completed first")
            raise
        finally:  # an interrupted rollout is lost, and the update is not
            self._times.collected()
            metrics = updates.result()
            times = self._times.met()
        self._unlearned = collected
        return metrics | times if metrics else {}

    def _begin_update(self, updates: Updates) -> None:
        """Begin to learn from the last rollout, if that has not begun; act with the newest weights from now on."""
        unlearned, self._unlearned = self._unlearned, None
        if unlearned is not None:
            self.policy.load_state_dict(self.learner.policy.state_dict())
            self._version, self._value_unit = self.learner.updates, float(self.value_unit)
            self.steps += unlearned.storage.steps
            updates.begin(unlearned)

    def _learn_all(self) -> None:
        """Learn from the last rollout now, if that is not done; the training goes on as if nothing had happened."""
        if self._updates is not None:
            self._begin_update(self._updates)
            self._updates.wait()

    def _on_decision(self, outputs: Tensor, values: Tensor) -> None:
        self.decided = outputs, values

    def values(self, slots: slice) -> Array | Tensor | None:
        """Return the values of the observations of some slots, `(slots, R)`; a tensor if the environments have them."""
        if self._values is None:
            return None
        found = self._values.host[slots] * self._value_unit
        return found if self._values.resident else found.numpy()

    def saliency(self, row: int, observation: Array, mask: Array | None, action: Array | None) -> Saliency | None:
        """Return the gradient of the chosen action's logits, or with continuous actions of the value."""
        if self._buffer is None:
            return None
        memory, device = self._remembered(row), self._buffer.device
        packed = torch.from_numpy(mask[None]).to(device) if mask is not None else None
        chosen = None if action is None else torch.from_numpy(np.array(action)).to(device)

        def target(decoded: Tensor) -> Tensor:
            nonlocal chosen
            outputs, value = self.policy.of_decoded(decoded, packed, memory)
            if isinstance(self._distribution, Gaussian):
                return value[0] * self.value_unit
            if chosen is None:
                chosen = self._distribution.best(outputs.detach())[0]
            parts = self._distribution.parts(outputs) if isinstance(self._distribution, Product) else (outputs,)
            return torch.stack([part[0, at] for part, at in zip(parts, chosen.long().view(-1), strict=True)]).sum()

        gradient = gradient_by_input(self.policy.decode, self._context.task.observation, observation, target)
        if isinstance(self._distribution, Gaussian):
            return Saliency(gradient, "value")
        assert chosen is not None
        return Saliency(gradient, "logit", chosen.cpu().numpy())

    def _remembered(self, row: int) -> Tensor | None:
        """Return what a recurrent policy remembers before its next decision for a row, `(1, memory)`."""
        if not self.policy.memory or self._envs is None or self._buffer is None:
            return None
        slot = self._envs.order.newest
        storage = next(each for each in self._storages if each.first <= slot <= each.first + each.steps)
        memory = storage.memory[slot - storage.first, row : row + 1]
        return memory.masked_fill(self._buffer.begins(slot)[row], 0.0)

    @property
    def decisions(self) -> int:
        """Decisions that were learned from so far."""
        return self.learner.decisions

    @property
    def value_unit(self) -> float | Tensor:
        """What one unit of a value is in the environment's rewards."""
        return self.policy.value_unit

    def change_settings(self, settings: Mapping[str, Any]) -> None:
        """Use other settings from the next update on. The last rollout is learned from before, as for a checkpoint."""
        self._learn_all()
        self.settings = PpoSettings.read("ppo", settings)
        self.learner.change_settings(self.settings)

    def detach(self) -> None:
        """Learn from the last rollout, and release the buffer; the episodes that follow are new ones."""
        self._learn_all()
        if self._envs is not None:  # else those of a checkpoint go on
            self.restart_episodes()
        self._release()

    def restart_episodes(self) -> None:
        """Forget the rewards and what is remembered of the running episodes."""
        self.learner.restart_episodes()
        self._memory = torch.zeros_like(self._memory)

    def finish(self) -> Metrics:
        """Learn from the last rollout, unless that is done; return the metrics of the last update."""
        if self._updates is None:
            return {}
        self._learn_all()
        return self._updates.result()

    def close(self) -> None:
        """Wait for the running update, and release the buffer."""
        if self._updates is not None:
            self._updates.close()
        self._release()

    def _release(self) -> None:
        self._unlearned = self._values = self._captured = self.learner.passes = None
        self._storages.clear()
        super().detach()

    def state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return copies of the weights, Adam's moments and the state of the shuffling generator, and the counters.

        All are those of the end of the last iteration: a discarded rollout changes nothing. With `overlap`, the
        rollout of that iteration is learned from before, since the next one is collected in parallel to that update.

        Raises:
            NonFiniteWeights: A weight is NaN or infinite.
        """
        self._learn_all()
        tensors, data = self.learner.state()
        data["steps"] = self.steps
        if self.policy.memory:
            tensors[MEMORY] = copied(self._memory)
        if self._updates is not None:
            tensors |= {ACTING + name: copied(value) for name, value in self.policy.state_dict().items()}
            data |= {"acting_updates": self._version, "metrics": self._updates.metrics}
        return tensors, data

    def load_state(self, tensors: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        """Continue from what `state` returned.

        Version 0.1.0 saved a generator per thread for actions, and no steps. Its checkpoints load; the actions that
        follow are drawn as if the environments had made no steps yet.

        Raises:
            WrongCheckpoint: It is of another network.
        """
        saved = {name: torch.as_tensor(tensor) for name, tensor in tensors.items()}
        self.learner.load_state(saved, data)
        self._memory = saved.get(MEMORY, self._memory)
        self._version = self.learner.updates
        if self._updates is not None:
            self.policy.load_state_dict(self.learner.policy.state_dict())
        if self._updates is not None and "acting_updates" in data:
            load_weights(self.policy, saved, ACTING)
            self._version = int(data["acting_updates"])
            self._updates.metrics = dict(data["metrics"])
        self._value_unit = float(self.value_unit)
        self.steps = int(data.get("steps", 0))
