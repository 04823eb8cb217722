"""The device backend: one parallel launch per step, with the rules and the bytes of `inline`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any, cast

import numpy as np
import pytest
import torch

from pac.backends import make
from pac.backends.device.backend import DeviceBackend
from pac.backends.device.sync import DeviceDiffers
from pac.envs import find
from pac.envs.errors import IllegalAction
from pac.envs.fields import FINAL_OBSERVATION

from .playing import trajectory

GAMES = {"drmario:level=2": 30, "drmario-frames": 40, "autochess": 120, "autochess:players=8": 40, "frames": 60}
GAMES |= {"treasure:turns=10": 20, "staghunt:turns=10": 20, "gameboy": 90, "gameboy:game=walk": 125}
GAMES |= {"kuhn": 20, "leduc": 20, "liars_dice": 20, "holdem": 20}
"""Numbers of steps in which episodes end, except in those that are `ENDLESS`."""
ENDLESS = {"drmario-frames", "autochess:players=8"}
SLOTS = 9


def compare(spec: str, num_envs: int, steps: int, workers: int, device: str = "cpu") -> None:
    """Step `inline` and `device` with the same random actions, and compare every byte of every field."""
    games = ((spec.removesuffix(":combat=device"), "inline", "cpu"), (spec, "device", device))
    skipped = {FINAL_OBSERVATION} if device != "cpu" else set()  # devices have those of all slots
    found = []
    for game, backend, where in games:
        options: dict[str, Any] = {"slots": SLOTS, "seed": 5, "workers": workers, "device": where, "strict": True}
        with closing(make(game, num_envs, backend, **options)) as envs:
            found.append(trajectory(envs, steps, sorted(set(envs.buffer) - skipped)))
            ended = np.any(envs.buffer["episode"][0])
    assert found[0] == found[1]
    assert ended or spec in ENDLESS


@pytest.mark.parametrize(
    ("spec", "num_envs", "device"),
    [
        *((spec, 7, "apart") for spec in GAMES),
        *((spec, 7, "cpu") for spec in ("drmario:level=2", "autochess:players=8", "gameboy")),
        ("kuhn", 1, "cpu"),
    ],
)
@pytest.mark.thorough
def test_every_native_game_equals_inline(spec, num_envs, device):
    """Also in tensors that the host reads and writes only on request, as it does on a GPU, and with idle threads."""
    compare(spec, num_envs, GAMES[spec], 3, device)


@pytest.mark.gpu
@pytest.mark.timeout(900)
@pytest.mark.parametrize("spec", [*GAMES, "autochess:combat=device"])
@pytest.mark.parametrize("steps", [160, pytest.param(10_000, marks=pytest.mark.slow)])
def test_every_native_game_equals_inline_on_a_gpu(spec, steps):
    """The same with CUDA kernels, for a number of environments that does not fill its last block of threads."""
    compare(spec, 200, steps, 3, "cuda")


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("spec", GAMES)
@pytest.mark.parametrize("num_envs", [1, 7, 64])
def test_ten_thousand_steps_equal_inline(spec, num_envs):
    """The same for long."""
    compare(spec, num_envs, 10_000, 2)


def test_an_illegal_action_leaves_the_other_environments_alone():
    """The error names the first environment with one; all others are stepped as if nothing had happened."""
    task = find("drmario:level=2")
    with (
        closing(make(task, 6, "device", slots=4, seed=5, workers=2)) as envs,
        closing(make(task, 6, "inline", slots=4, seed=5)) as legal,
    ):
        for each in (envs, legal):
            each.start()
            each.buffer["action"][0] = each.action_masks().argmax(axis=1)
            each.buffer["action"][0, 4] = each.action_masks()[4].argmax()
        envs.buffer["action"][0, 4] = (~envs.action_masks()[4]).argmax()
        with pytest.raises(IllegalAction, match="environment 4 expects an action that its action_mask allows"):
            envs.advance(0)
        legal.advance(0)
        others = np.arange(6) != 4
        assert np.array_equal(envs.buffer["observation"][1, others], legal.buffer["observation"][1, others])
        assert not envs.buffer["reward"][1, 4].any()
        assert envs.buffer["episode_length"][1].tolist() == [1, 1, 1, 1, 0, 1]


@pytest.mark.parametrize("device", ["cpu", "apart"])
def test_environments_in_python_use_inline(toy, device):
    """In memory of the host; the reason is in the warning: nothing compiles them."""
    with closing(make(toy("Counter"), 2, "device", device=device)) as envs:
        assert (envs.name, envs.buffer.device, envs.buffer.tensors) == ("inline", "cpu", None)
        assert any("it is not a native game" in event.text for event in envs.drain_events())


def test_a_machine_without_openmp_uses_threads(monkeypatch):
    """Numba's own layer of threads would end the process where two threads run a loop."""
    monkeypatch.setattr("pac.envs.openmp.unavailable", lambda: "Numba found no OpenMP")
    with closing(make("drmario", 2, "device")) as envs:
        assert envs.name == "threads"


def test_pytorch_keeps_its_number_of_threads():
    """Numba starts its threads with the same OpenMP, where each thread has a number of its own."""
    torch.set_num_threads(1)
    with closing(make("drmario", 4, "device", workers=2)) as envs:
        envs.start()
        envs.buffer["action"][0] = envs.action_masks().argmax(axis=1)
        envs.advance(0)
        assert torch.get_num_threads() == 1


@pytest.fixture(params=["cpu", "apart", pytest.param("cuda", marks=pytest.mark.gpu)])
def compared(request: pytest.FixtureRequest) -> Iterator[DeviceBackend]:
    """Yield started environments whose steps are compared."""
    with closing(make("drmario:level=2", 3, "device", slots=4, seed=5, first_env=2, device=request.param)) as made:
        device = cast("DeviceBackend", made)
        device.check_each_step()
        yield device


@pytest.mark.thorough
def test_equal_steps_are_counted(compared: DeviceBackend) -> None:
    """Also after episodes have ended, and from restored states."""
    trajectory(compared, 40)
    assert compared.restore(np.array(compared.buffer["state"][0]), compared.order.newest)
    compared.buffer["action"][compared.order.newest] = compared.action_masks().argmax(axis=1)
    compared.advance(compared.order.newest)
    assert compared.sync_check is not None
    assert compared.sync_check.report().startswith(
        "device-sync: 41 steps are equal to those of the CPU; comparing took"
    )


def test_a_difference_names_field_and_environment(compared: DeviceBackend) -> None:
    """A state that was changed behind the environments' back leads to another board."""
    trajectory(compared, 1)
    compared.buffer["state"][0, 1, 0] = compared.buffer["state"][0, 1, 0] ^ np.uint64(1)
    compared.buffer["action"][1] = compared.action_masks().argmax(axis=1)
    with pytest.raises(DeviceDiffers, match=r"after 2 steps, \w+ of environment 1 is"):
        compared.advance(1)
