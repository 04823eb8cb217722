"""The random policy, the registry of trainers, and the choice of a device."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pac.envs import BadParameter, UnknownName, find
from pac.envs.fields import Array
from pac.training.device import NoSuchDevice, resolve_device
from pac.training.lone_training import LoneTraining, maker
from pac.training.random_policy import RandomPolicy, draw_legal_actions
from pac.training.ranks import Ranks, SingleRank
from pac.training.trainer import Context, Timer
from pac.training.trainers import build_player, build_trainer, trainer_settings

from .alone import context, started
from .corridor import corridor
from .thread_ranks import on_ranks


def test_only_legal_actions_are_drawn_and_each_equally_often() -> None:
    """Each legal action is drawn equally often, and no other action is drawn."""
    legal = np.array([0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 1], np.uint8)
    masks = np.repeat(np.packbits(legal, bitorder="little")[None], 40_000, axis=0)
    counts = np.array([number.bit_count() for number in range(256)], np.int64)
    actions = np.zeros(len(masks), np.int64)
    streams = np.random.default_rng(7).integers(0, 1 << 64, len(masks), np.uint64)
    draw_legal_actions(streams, 3, counts, masks, actions)
    shares = np.bincount(actions, minlength=len(legal)) / len(actions)
    assert np.allclose(shares, legal / legal.sum(), atol=0.01)


def test_random_policy_plays_and_resumes() -> None:
    """It steps, resizes and continues from its state like other trainers."""
    with started(RandomPolicy, context(corridor(), trainer="random"), 4) as one:
        first = one.iterate()
        one.owner.open(2)
        assert one.iterate()["decisions"] == first["decisions"] * 1.5
        two = RandomPolicy(context(corridor(), trainer="random"))
        two.load_state(*one.state())
        assert two.state() == one.state()


@pytest.mark.parametrize("spec", ["noop", "drmario", "kinds:Arm", "kinds:Levers"])
def test_two_ranks_take_the_actions_of_one_process(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each rank takes the actions that its environments' rows have in one process, of any kind of action."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "backends"))
    task = find(spec)

    def play(ranks: Ranks, count: int) -> Array:
        first = ranks.first_env(count)
        policy = RandomPolicy(Context(task, trainer_settings("random", task, {}), "cpu", 5, Timer(), ranks=ranks))
        with closing(LoneTraining(policy, maker(task, seed=5, first_env=first))) as owner:
            envs: Any = owner.open(count)
            policy.iterate()
            taken: Array = envs.buffer["action"][:-1].copy()
            return taken

    halves = on_ranks(2, lambda ranks: play(ranks, 2))
    assert np.array_equal(np.concatenate(halves, axis=1), play(SingleRank(), 4))


@pytest.mark.session
def test_random_policy_needs_no_torch() -> None:
    """The random policy does not import PyTorch."""
    code = "import sys, pac.training.random_policy, pac.training.trainers; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=120).returncode == 0


def test_trainers_are_found_by_name() -> None:
    """Known trainers are built; an unknown name is an error that lists them."""
    assert isinstance(build_trainer("random", context(corridor(), trainer="random")), RandomPolicy)
    assert type(build_trainer("ppo", context(corridor()))).__name__ == "PPO"
    with pytest.raises(UnknownName, match=r"Did you mean ppo.*random"):
        build_trainer("ppp", context(corridor(), trainer="random"))
    with pytest.raises(UnknownName, match="policy to play"):
        build_player("random", context(corridor(), trainer="random"))


@pytest.mark.parametrize("name", ["gpu", "cuda:x", "cpu:0", "cuda:", ""])
def test_an_unknown_device_is_refused(name: str) -> None:
    """The error lists the valid names of devices. `auto` is an available device, and `cpu` is always available."""
    with pytest.raises(BadParameter, match="auto, cpu, cuda"):
        resolve_device(name)
    assert torch.zeros(1, device=resolve_device("auto")).sum() == 0
    assert resolve_device("cpu") == "cpu"


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_an_unavailable_device_is_refused() -> None:
    """The error contains the reason and what to use instead."""
    with pytest.raises(NoSuchDevice, match="--device cpu"):
        resolve_device("cuda:3")
