"""A recurrent policy: what it remembers, against one that is run again from the beginning of each episode."""

from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from pac.backends import make
from pac.envs import BadParameter, Task
from pac.envs.fields import FINAL_OBSERVATION
from pac.training.nets.compute_threads import ComputeThreads
from pac.training.nets.device_buffer import DeviceBuffer
from pac.training.nets.distribution import ActionNoise
from pac.training.playing import play_episodes
from pac.training.ppo.policy import PpoPolicy
from pac.training.ppo.rollout import Actor, rollout
from pac.training.ppo.settings import PpoSettings
from pac.training.ppo.storage import RolloutStorage
from pac.training.ppo.trainer import PPO
from pac.training.ppo.update import PpoBatch, evaluated_units
from pac.training.trainer import Timer

from ..alone import context, started
from ..corridor import corridor
from ..recall import recall

CPU = torch.device("cpu")
STEPS = 48


class Keeping:
    """Environments of which the last observations of every step are kept."""

    def __init__(self, envs: Any) -> None:
        self.envs, self.last = envs, np.array(envs.buffer[FINAL_OBSERVATION])

    def advance(self, slot: int) -> None:
        self.envs.advance(slot)
        self.last[slot + 1] = self.envs.buffer[FINAL_OBSERVATION][slot + 1]


class Collected:
    """A rollout of a recurrent policy."""

    def __init__(self, task: Task, threads: int = 1, **options: Any) -> None:
        settings = PpoSettings.for_task(task, {"memory": 8, **options})
        self.policy = PpoPolicy(task, settings, torch.Generator().manual_seed(0))
        with closing(make(task, 40, "inline", slots=STEPS + 1, seed=3)) as envs:
            kept, buffer = Keeping(envs), DeviceBuffer(task, envs.buffer, CPU)
            numbers = self.policy.distribution.numbers
            noise = ActionNoise(0, first_env=0, num_envs=40, players=task.players, numbers=numbers, device=CPU)
            storage = RolloutStorage(task, buffer, memory=self.policy.memory)
            envs.start(0)
            self.finals = rollout(
                Actor(self.policy, ComputeThreads(CPU, threads)),
                kept,  # type: ignore[arg-type]
                storage,
                noise.uniform(0, STEPS),
                timer=Timer(),
                on_decision=lambda _outputs, _values: None,
            )
            data = storage.data()
            self.data = replace(
                data, **{name: value.clone() for name, value in vars(data).items() if value is not None}
            )
            self.last = torch.from_numpy(kept.last)
            buffer.close()

    @torch.inference_mode()
    def expected(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Values of all observations, and of last ones of truncated episodes, remembered from their beginnings on."""
        steps, rows = self.data.rewards.shape
        observations = self.data.observations.view(steps, rows, -1)
        masks = self.data.masks.view(steps, rows, -1) if self.data.masks is not None else None
        values, finals = torch.zeros(steps, rows), torch.zeros(steps, rows)
        for row in range(rows):
            memory = torch.zeros(1, self.policy.memory)
            for step in range(steps):
                mask = masks[step, row : row + 1] if masks is not None else None
                _, value, memory = self.policy.remember(observations[step, row : row + 1], mask, memory)
                values[step, row] = value
                if self.data.truncated[step, row]:
                    finals[step, row] = self.policy.value(self.last[step + 1, row : row + 1], memory)
                if self.data.truncated[step, row] or self.data.terminated[step, row]:
                    memory = torch.zeros(1, self.policy.memory)
        return values, finals


@pytest.mark.parametrize("threads", [1, 2])
def test_each_episode_is_remembered_from_its_beginning(threads: int) -> None:
    """Nothing of the one before; the last observation of a truncated episode follows what was remembered of it."""
    found = Collected(corridor(), threads)
    values, finals = found.expected()
    assert int(found.data.truncated.sum()) > 20
    assert int(found.data.terminated.sum()) > 5
    torch.testing.assert_close(found.data.values[:-1], values, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(found.finals, finals, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("players", [1, 2])
def test_sequences_give_what_steps_gave(players: int) -> None:
    """Whole ones of all rows, in any order, so the probability ratio of the first minibatch is 1."""
    task = corridor(players)
    found = Collected(task)
    zeros = torch.zeros_like(found.data.rewards)
    batch = PpoBatch.of(found.data, zeros, zeros, 16)
    assert batch.units == 3 * 40 * players
    units = torch.randperm(batch.units)[:50]
    with torch.inference_mode():
        (logits, values, _), decisions = evaluated_units(found.policy, batch, units)
    assert sorted(decisions.tolist()) == sorted(batch.decisions(units).tolist())
    assert len(decisions) == 50 * 16
    logprob, _, _ = found.policy.distribution.likelihood(logits, batch.actions[decisions])
    torch.testing.assert_close(logprob, batch.logprobs[decisions], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(values, found.data.values[:-1].flatten()[batch.index[decisions]], atol=1e-5, rtol=1e-5)


def test_rows_that_take_no_decision_are_left_out() -> None:
    """They remember what they observe, and nothing is learned from their steps."""
    found = Collected(corridor())
    data = replace(found.data, active=torch.arange(STEPS).remainder(3).bool().unsqueeze(1).expand(-1, 40))
    zeros = torch.zeros_like(data.rewards)
    batch = PpoBatch.of(data, zeros, zeros, 16)
    with torch.inference_mode():
        (_, values, _), decisions = evaluated_units(found.policy, batch, torch.arange(batch.units))
    assert len(decisions) == int(data.active.sum())
    torch.testing.assert_close(values, data.values[:-1].flatten()[batch.index[decisions]], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(("memory", "learns"), [(16, True), (0, False)])
def test_a_cue_is_recalled_by_a_memory_only(memory: int, learns: bool) -> None:
    """Also by the player of the trained policy, which takes the most likely actions."""
    task = recall(memory=memory)
    with started(PPO, context(task), 16) as trainer:
        while trainer.decisions < 30_000:
            trainer.iterate()
        state = trainer.policy_state()
    played = play_episodes("ppo", task, context(task).settings, state, episodes=200, seed=5)
    mean = float(np.mean([episode.returns[0] for episode in played]))
    assert mean > 0.95 if learns else 0.3 < mean < 0.7


def test_a_graph_has_no_memory() -> None:
    """Clear before anything starts."""
    with pytest.raises(BadParameter, match=r"ppo\.memory"):
        PPO(context(corridor(cuda_graph=True, memory=4)))
