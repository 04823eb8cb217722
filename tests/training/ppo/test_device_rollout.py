"""PPO with the environments in the memory of the policy's device."""

from typing import Any, cast

import pytest
import torch

from pac.backends.device.memory import DeviceMemory
from pac.training.nets.wait_guard import Wait, WaitGuard

from .device_training import training


@pytest.mark.session
@pytest.mark.parametrize("spec", ["frames:steps=16", "kuhn", "autochess:players=8"])
def test_memory_of_a_device_does_not_change_what_is_learned(spec: str) -> None:
    """The weights are the same, bit for bit; episodes of some of these games are truncated."""
    found = []
    for device in ("cpu", "apart"):
        with training(spec, device) as trainer:
            for _ in range(4):
                metrics = trainer.iterate()
            found.append((metrics, {name: each.clone() for name, each in trainer.policy.state_dict().items()}))
    (here, weights), (there, others) = found
    assert here == there
    assert all(torch.equal(weights[name], others[name]) for name in weights)


@pytest.mark.thorough
def test_a_rollout_copies_no_byte_and_waits_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Actions, observations and results stay where they are until the rollout's last step."""
    with training("drmario:level=2", "apart", iterations=1) as trainer:
        envs = cast("Any", trainer._envs)
        memory, advance = cast("DeviceMemory", envs.buffer), envs.advance
        moved: list[int] = []
        waits: list[Wait] = []

        def counted(slot: int) -> None:
            moved.append(memory.transferred)
            advance(slot)

        monkeypatch.setattr(envs, "advance", counted)
        with WaitGuard(waits.append):
            trainer._collect()
    assert len(moved) == 8
    assert moved[0] == moved[-1]
    assert len({wait.where for wait in waits if "rollout.py" in wait.where}) == 0


@pytest.mark.gpu
@pytest.mark.timeout(600)
def test_a_rollout_on_a_gpu_copies_no_byte() -> None:
    """PyTorch's profiler sees no copy to the host within the steps of a rollout."""
    with training("drmario:level=2", "cuda", num_envs=256, policy="cuda", iterations=1) as trainer:
        envs = cast("Any", trainer._envs)
        storage, advance = trainer._storages[0], envs.advance
        seen: list[str] = []

        def profiled(slot: int) -> None:
            if slot == storage.first:
                torch.cuda.synchronize()
                profiler.start()
            advance(slot)
            if slot == storage.first + storage.steps - 2:
                profiler.stop()
                seen.extend(event.key for event in profiler.key_averages())

        profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA], acc_events=True)
        envs.advance = profiled
        trainer._collect()
    assert seen
    assert not [key for key in seen if "DtoH" in key or "HtoD" in key]
