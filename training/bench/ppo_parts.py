"""Measures the parts of PPO: forward pass, rollout, advantages, one epoch, and memory."""

from __future__ import annotations

import resource
import sys

import torch

from ...backends import make
from ...backends.core.layout import Layout
from ...envs import Task
from ..nets.compute_threads import ComputeThreads
from ..nets.device_buffer import DeviceBuffer
from ..nets.distribution import ActionNoise
from ..nets.gradient_step import GradientStep
from ..nets.weights import Adam, placed
from ..ppo.gae import gae, step_discounts
from ..ppo.learning import Rollout
from ..ppo.policy import PpoPolicy
from ..ppo.rollout import Actor, rollout
from ..ppo.settings import PpoSettings
from ..ppo.storage import RolloutStorage
from ..ppo.update import STATISTICS, Coefficients, PpoBatch, PpoLearner, update
from ..ranks import SingleRank
from ..trainer import Timer
from .facts import Results
from .turns import timed

DECISIONS = 8_192
"""Decisions of a measured rollout, if it has more than `LEAST_STEPS` steps."""
LEAST_STEPS = 2
MINIBATCH = 1_024
CPU = torch.device("cpu")


def ppo_parts(task: Task, num_envs: int, backend: str = "inline", threads: int = 1) -> Results:
    """Measure one rollout and one update with one epoch, and their parts.

    Args:
        task: A task with one seat.
        num_envs: Number of environments N.
        backend: What steps them.
        threads: Threads of the policy, and workers of the backend.
    """
    steps = max(LEAST_STEPS, DECISIONS // num_envs)
    settings = PpoSettings.for_task(
        task, {"batch": steps * num_envs, "minibatch": MINIBATCH, "epochs": 1, "threads": threads}
    )
    found: Results = {}
    generator, compute = torch.Generator().manual_seed(0), ComputeThreads(CPU, threads)
    policy = placed(PpoPolicy(task, settings, generator), CPU)
    envs = make(task, num_envs, backend, strict=True, slots=steps + 1, seed=0, workers=threads)
    buffer = DeviceBuffer(task, envs.buffer, CPU)
    noise = ActionNoise(0, first_env=0, num_envs=num_envs, players=1, numbers=policy.distribution.numbers, device=CPU)
    storage, actor = RolloutStorage(task, buffer), Actor(policy, compute)
    envs.start(0)
    found["forward_rows_per_second"] = num_envs / timed(lambda: actor.decide(storage, 0, noise.uniform(0, 1)[0]))[0]
    found["collect_seconds"], finals = timed(
        lambda: rollout(
            actor, envs, storage, noise.uniform(0, steps), timer=Timer(), on_decision=lambda _outputs, _values: None
        )
    )
    found["collected_steps_per_second"] = steps * num_envs / found["collect_seconds"]
    collected = Rollout(storage, finals, version=0)
    update_seconds, parts = timed(lambda: _update(policy, settings, collected, generator, compute))
    found |= {**parts, "update_seconds": update_seconds, "steps": steps}
    found["buffer_bytes"] = Layout(task, num_envs, steps + 1).size
    scale = 1 if sys.platform == "darwin" else 1024
    found["peak_memory_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale
    buffer.close()
    envs.close()
    return found


def _update(
    policy: PpoPolicy, settings: PpoSettings, collected: Rollout, generator: torch.Generator, threads: ComputeThreads
) -> Results:
    """Learn from a rollout as PPO does; return the seconds of the advantages and of an epoch."""
    data = collected.storage.data()
    gae_seconds, (advantages, returns) = timed(
        lambda: gae(
            rewards=data.rewards,
            values=data.values,
            terminated=data.terminated,
            truncated=data.truncated,
            active=data.active,
            out=data.out,
            final_values=collected.final_values,
            discounts=step_discounts(data.frames, data.active, settings.gamma, per_frame=settings.gamma_per_frame),
            gae_lambda=settings.gae_lambda,
        )
    )
    adam = Adam(policy, fused=True)
    adam.learning_rate = 1e-4
    gradients = GradientStep(
        adam,
        threads,
        SingleRank(),
        rows_at_once=policy.network.rows_at_once,
        max_norm=settings.max_grad_norm,
        statistics=len(STATISTICS) - 1,
    )
    learner, batch = PpoLearner(policy, gradients, settings, generator), PpoBatch.of(data, advantages, returns)
    epoch_seconds, _ = timed(lambda: update(learner, batch, len(batch.index), Coefficients(entropy=0.01, clip=0.2)))
    return {"gae_seconds": gae_seconds, "epoch_seconds": epoch_seconds}
