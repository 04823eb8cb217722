"""PPO in bfloat16, as it computes on GPUs; the CPU has the type, too."""

from typing import Any

import pytest
import torch
from torch import Tensor

from pac.envs import Field, Task, find
from pac.training.nets.line_convolution import VARIANT
from pac.training.nets.precision import precision_on
from pac.training.ppo import update
from pac.training.ppo.evaluate import PpoPlayer
from pac.training.ppo.policy import PpoPolicy
from pac.training.ppo.settings import PpoSettings
from pac.training.ppo.trainer import PPO

from ..alone import context, equal, started
from ..corridor import corridor
from .test_policy import task

ROUNDING = 2.0**-8
"""The largest relative change by rounding to bfloat16, which has 8 significant bits."""
LAYERS = 4
SMALL: dict[str, Any] = {"batch": 64, "minibatch": 32, "epochs": 1, "threads": 1}
NETWORKS = {
    "vector": task(Field("observation", "float32", (4,))),
    "board": task(Field("observation", "uint8", (5, 6, 7), encoding="bits")),
    "cells": find("drmario"),
    "image": task(Field("observation", "uint8", (4, 44, 44), low=0, high=255)),
}


def observations(of: Task, seed: int) -> Tensor:
    """Return 64 stored rows."""
    random, shape = torch.Generator().manual_seed(seed), (64, *of.observation.stored_shape)
    if of.observation.dtype == "float32":
        return torch.randn(shape, generator=random)
    return torch.randint(0, 256, shape, dtype=torch.uint8, generator=random)


def gradient(of: Task, dtype: torch.dtype, stored: Tensor, *, signed: bool = False, **options: Any) -> Tensor:
    """Return the gradient of a sum over outputs and values, all parameters one after the other."""
    policy = PpoPolicy(of, PpoSettings.for_task(of, options), torch.Generator().manual_seed(0), dtype)
    if policy.memory:
        begins = torch.zeros(4, 16, dtype=torch.bool)
        outputs = policy.unrolled(stored, None, torch.zeros(16, policy.memory), begins)
    else:
        outputs = policy(stored, None)
    assert {each.dtype for each in (*outputs, *policy.parameters())} == {torch.float32}
    weights = [torch.linspace(-1, 1, each.numel()).view_as(each) if signed else each for each in outputs]
    loss = torch.stack([(each * weight).sum() for each, weight in zip(outputs, weights, strict=True)]).sum()
    return torch.cat([each.flatten() for each in torch.autograd.grad(loss, list(policy.parameters()))])


@pytest.mark.parametrize("memory", [0, 8])
@pytest.mark.parametrize("name", NETWORKS)
def test_gradients_are_those_of_float32_but_for_rounding(name: str, memory: int) -> None:
    """Within a rounding per layer, forward and backward; and an eighth of what another minibatch changes."""
    of = NETWORKS[name]
    here, other = (observations(of, seed) for seed in (1, 2))
    exact, rounded = (gradient(of, dtype, here, memory=memory) for dtype in (torch.float32, torch.bfloat16))
    assert 0 < (rounded - exact).norm() < 2 * LAYERS * ROUNDING * exact.norm()
    signed: dict[str, Any] = {"signed": True, "memory": memory}
    exact, rounded = (gradient(of, dtype, here, **signed) for dtype in (torch.float32, torch.bfloat16))
    assert (rounded - exact).norm() < (gradient(of, torch.float32, other, **signed) - exact).norm() / 8


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("num_envs", [1, 5])
def test_ratios_of_the_first_minibatch_are_one(num_envs: int, precision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exactly, whatever the number of rows when acting; from stored log-probabilities they are but for rounding."""
    seen: list[Tensor] = []
    made = update.clipped_surrogate

    def noted(log_ratio: Tensor, *rest: Tensor) -> tuple[Tensor, ...]:
        seen.append(log_ratio.detach().abs().amax())
        return made(log_ratio, *rest)

    monkeypatch.setattr(update, "clipped_surrogate", noted)
    given = context(find("drmario"), batch=64, minibatch=64, epochs=1, threads=1, precision=precision)
    with started(PPO, given, num_envs) as trainer:
        trainer.iterate()
        assert max(seen) == 0
        seen.clear()
        trainer.learner.updates += 1  # as if another policy had acted
        trainer.iterate()
        assert 0 < max(seen) < 1e-5


def test_a_training_in_bfloat16_resumes_and_is_read_in_float32() -> None:
    """Its state is float32; a resumed training has the same bytes, and a player or a training in float32 takes it."""
    of = corridor()
    given = [context(of, precision=precision, **SMALL) for precision in ("bfloat16", "bfloat16", "float32")]
    with started(PPO, given[0], iterations=2) as one:
        tensors, data = one.state()
        one.owner.open(8)
        one.iterate()
        expected = one.state()
    assert not any(each.dtype == torch.bfloat16 for each in tensors.values())
    results = []
    for each in given[1:]:
        with started(PPO, each) as two:
            two.load_state(tensors, data)
            two.owner.open(8)
            two.iterate()
            results.append(two.state())
    assert equal(expected[0], results[0][0])
    assert not equal(expected[0], results[1][0])
    with started(PpoPlayer, given[0]) as player:
        player.load_state(tensors, data)
        player.iterate()
        assert player.policy.dtype == torch.float32


def test_threads_change_no_action_in_bfloat16() -> None:
    """The actions are those of one thread."""
    taken = []
    for threads in (1, 2):
        given = context(corridor(), precision="bfloat16", **SMALL | {"threads": threads})
        with started(PPO, given, 40, iterations=2) as trainer:
            taken.append(trainer.owner.envs.buffer["action"].copy())
    assert (taken[0] == taken[1]).all()


def test_auto_is_bfloat16_on_gpus_that_multiply_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """From compute capability 8.0 on."""
    cuda = torch.device("cuda")
    for capability, expected in (((7, 5), "float32"), ((8, 0), "bfloat16"), ((9, 0), "bfloat16")):
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _, found=capability: found)
        assert precision_on("auto", cuda) == expected
        assert precision_on("float32", cuda) == "float32"
    assert precision_on("auto", torch.device("cpu")) == "float32"


@pytest.mark.parametrize("multiplies", [False, True])
def test_auto_is_bfloat16_for_large_images_on_cpus_that_multiply_in_it(
    multiplies: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other networks stay in float32, and so does everything if somebody wants that."""
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: multiplies)
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: False)
    cpu = torch.device("cpu")
    assert precision_on("auto", cpu, large_images=True) == ("bfloat16" if multiplies else "float32")
    assert precision_on("auto", cpu) == "float32"
    assert precision_on("float32", cpu, large_images=True) == "float32"


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_the_layers_of_a_gpu_give_what_those_of_the_cpu_do(monkeypatch: pytest.MonkeyPatch, precision: str) -> None:
    """The whole policy, from packed bits or planes, with halves joined or not, up to rounding."""
    of, dtype = NETWORKS["cells"], getattr(torch, precision)
    stored = observations(of, 1)
    expected = gradient(of, dtype, stored)
    monkeypatch.setattr(VARIANT, "everywhere", True)
    for bits, together, wide in ((True, True, True), (False, True, False), (True, False, False)):
        monkeypatch.setattr(VARIANT, "bits", bits)
        monkeypatch.setattr(VARIANT, "joined", together)
        monkeypatch.setattr(VARIANT, "wide_sums", wide)
        bound = 1e-5 if precision == "float32" else 2 * LAYERS * ROUNDING
        assert (gradient(of, dtype, stored) - expected).norm() < bound * expected.norm()
