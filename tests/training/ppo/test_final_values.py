"""The values of last observations: the same as if every step of the rollout had kept its own."""

from contextlib import closing
from typing import Any

import numpy as np
import pytest
import torch

from pac.backends import make
from pac.backends.core.layout import Layout
from pac.envs import Task, find
from pac.envs.fields import FINAL_OBSERVATION
from pac.training.nets.compute_threads import ComputeThreads
from pac.training.nets.device_buffer import DeviceBuffer
from pac.training.nets.distribution import ActionNoise
from pac.training.ppo.policy import PpoPolicy
from pac.training.ppo.rollout import Actor, FinalValues, ResidentFinalValues, rollout
from pac.training.ppo.settings import PpoSettings
from pac.training.ppo.storage import RolloutStorage
from pac.training.trainer import Timer

from ..corridor import corridor

CPU = torch.device("cpu")


class KeepingEnvs:
    """Environments of which the last observations of every step are kept."""

    def __init__(self, envs: Any) -> None:
        self.envs, self.last = envs, np.array(envs.buffer[FINAL_OBSERVATION])

    def advance(self, slot: int) -> None:
        self.envs.advance(slot)
        self.last[slot + 1] = self.envs.buffer[FINAL_OBSERVATION][slot + 1]


def policy_of(task: Task) -> PpoPolicy:
    settings = PpoSettings.for_task(task, {"threads": 1})
    return PpoPolicy(task, settings, torch.Generator().manual_seed(0)).eval()


def collected(task: Task, envs: Any, num_envs: int, steps: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Collect a rollout; return its final values, and those of all last observations of truncated episodes."""
    policy = policy_of(task)
    kept, buffer = KeepingEnvs(envs), DeviceBuffer(task, envs.buffer, CPU)
    noise = ActionNoise(
        0, first_env=0, num_envs=num_envs, players=task.players, numbers=policy.distribution.numbers, device=CPU
    )
    envs.start(0)
    found = rollout(
        Actor(policy, ComputeThreads(CPU, 1)),
        kept,  # type: ignore[arg-type]
        RolloutStorage(task, buffer),
        noise.uniform(0, steps),
        timer=Timer(),
        on_decision=lambda _outputs, _values: None,
    )
    where = (envs.buffer["truncated"][1:] > envs.buffer["terminated"][1:]).nonzero()
    expected = torch.zeros(steps, num_envs)
    with torch.inference_mode():
        expected[where] = policy.value(torch.from_numpy(kept.last[1:][where]))
    assert len(where[0]) > num_envs
    buffer.close()
    return found, expected


@pytest.mark.session
@pytest.mark.parametrize("backend", ["inline", "threads", "shm", "socket", "http"])
def test_the_values_are_those_of_last_observations_of_every_step(backend: str) -> None:
    """Bit for bit, on every backend, although the buffer has the last observations of one step."""
    task = find("frames:steps=16")
    with closing(make(task, 8, backend, strict=True, slots=41, seed=3, workers=2)) as envs:
        assert torch.equal(*collected(task, envs, 8, 40))


def test_a_full_table_is_evaluated_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Episodes that are truncated more often than the table has rows have their values, too."""
    monkeypatch.setattr("pac.training.ppo.rollout.LEAST_ROWS", 1)
    with closing(make(corridor(), 4, "inline", slots=101, seed=1)) as envs:
        found, expected = collected(corridor(), envs, 4, 100)
    assert torch.count_nonzero(expected) > 2 * 4
    assert torch.allclose(found, expected, atol=1e-6)
    assert torch.equal(found == 0, expected == 0)


@pytest.mark.parametrize("kind", [FinalValues, ResidentFinalValues])
def test_only_truncated_episodes_have_values(kind: type[FinalValues | ResidentFinalValues]) -> None:
    """Not terminated ones, also if they were truncated at once, nor those of the step before the rollout."""
    task = corridor()
    policy, buffer = policy_of(task), Layout(task, 3, 5).map()
    storage = RolloutStorage(task, DeviceBuffer(task, buffer, CPU))
    finals = kind(policy, storage)
    buffer["truncated"][0, 0] = buffer["truncated"][4, 1:] = buffer["terminated"][4, 2] = buffer["outcome"][4] = 1
    for step in range(4):
        buffer[FINAL_OBSERVATION][step + 1] = [5 + step, 7]
        finals.add(step)
    with torch.inference_mode():
        found = finals.values()
        assert found[3, 1] == policy.value(torch.tensor([[8, 7]], dtype=torch.uint8))[0]
    assert found.nonzero().tolist() == storage.data().truncated.nonzero().tolist() == [[3, 1]]
    assert storage.data().terminated.nonzero().tolist() == [[3, 2]]


def test_a_person_who_takes_over_truncates_after_the_step() -> None:
    """The last observation is the one that the person found."""
    task = corridor()
    policy, buffer = policy_of(task), Layout(task, 2, 4).map()
    finals = FinalValues(policy, RolloutStorage(task, DeviceBuffer(task, buffer, CPU)))
    for step in range(3):
        finals.add(step)
    buffer["truncated"][2, 1] = 1
    buffer["observation"][2, 1] = [9, 6]
    with torch.inference_mode():
        found = finals.values()
        assert found[1, 1] == policy.value(torch.tensor([[9, 6]], dtype=torch.uint8))[0]
    assert np.argwhere(found.numpy()).tolist() == [[1, 1]]
