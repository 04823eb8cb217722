"""Every step of a device is compared with the CPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import cast

import numpy as np
import pytest

from pac.backends import make
from pac.backends.device.backend import DeviceBackend
from pac.backends.device.sync import DeviceDiffers


@pytest.fixture(params=["cpu", "apart", pytest.param("cuda", marks=pytest.mark.gpu)])
def envs(request: pytest.FixtureRequest) -> Iterator[DeviceBackend]:
    """Yield started environments whose steps are compared."""
    with closing(make("drmario:level=2", 3, "device", slots=4, seed=5, first_env=2, device=request.param)) as made:
        device = cast("DeviceBackend", made)
        device.check_each_step()
        device.start()
        yield device


def step(envs: DeviceBackend) -> None:
    """Make a step with random legal actions."""
    if envs.order.full:
        envs.carry()
    slot = envs.order.newest
    masks = np.unpackbits(envs.buffer["action_mask"][slot], axis=-1, bitorder="little")
    envs.buffer["action"][slot] = masks.argmax(axis=1)
    envs.advance(slot)


def test_equal_steps_are_counted(envs: DeviceBackend) -> None:
    """Also after episodes have ended, and from restored states."""
    for _ in range(40):
        step(envs)
    states = np.array(envs.buffer["state"][0])
    assert envs.restore(states, envs.order.newest)
    step(envs)
    assert envs.sync_check is not None
    assert envs.sync_check.report().startswith("device-sync: 41 steps are equal to those of the CPU; comparing took")


def test_a_difference_names_field_and_environment(envs: DeviceBackend) -> None:
    """A state that was changed behind the environments' back leads to another board."""
    step(envs)
    envs.buffer["state"][0, 1, 0] = envs.buffer["state"][0, 1, 0] ^ np.uint64(1)
    with pytest.raises(DeviceDiffers, match=r"after 2 steps, \w+ of environment 1 is"):
        step(envs)
