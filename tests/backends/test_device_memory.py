"""Environments in the memory of a device, which the host reads and writes only on request."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import cast

import numpy as np
import pytest

from pac.backends import make
from pac.backends.core.base import Backend
from pac.backends.core.errors import BackendUnavailable
from pac.backends.core.memory import TooManyEnvironments
from pac.backends.device.memory import DeviceMemory
from pac.envs import BadParameter
from pac.envs.errors import IllegalAction, ImpossibleState

NUM_ENVS, SLOTS = 5, 4


@pytest.fixture
def envs() -> Iterator[Backend]:
    """Yield started environments in memory that the host does not share."""
    with closing(make("drmario:level=2", NUM_ENVS, "device", slots=SLOTS, device="apart", workers=2)) as made:
        made.start()
        yield made


def memory_of(envs: Backend) -> DeviceMemory:
    """Return the memory of the environments."""
    return cast("DeviceMemory", envs.buffer)


def act(envs: Backend, slot: int) -> None:
    """Write the first legal actions into a slot."""
    envs.buffer["action"][slot] = envs.action_masks().argmax(axis=1)


@pytest.mark.thorough
def test_a_step_copies_nothing(envs: Backend) -> None:
    """No byte is copied between host and device by steps within a rollout."""
    memory = memory_of(envs)
    for slot in range(SLOTS - 1):
        memory.tensors["action"][slot] = memory.tensors["action"].new_tensor(envs.action_masks().argmax(axis=1))
        before = memory.transferred
        if slot < SLOTS - 2:
            envs.advance(slot)
            assert memory.transferred == before
    envs.advance(SLOTS - 2)
    assert envs.order.full


def test_what_is_indexed_is_what_is_copied(envs: Backend) -> None:
    """An index of a field copies its part alone."""
    memory = memory_of(envs)
    before = memory.transferred
    part = envs.buffer["state"][0, 1:3]
    assert part.dtype == np.uint64
    assert memory.transferred - before == part.nbytes == 2 * part[0].nbytes


def test_parts_can_be_written(envs: Backend) -> None:
    """A number, a row and a selection of rows are written on the device."""
    returns = envs.buffer["episode_return"]
    returns[1] = np.arange(NUM_ENVS)
    returns[1, 2] = 7
    returns[1, np.array([0, 4])] = 9
    assert returns[1].tolist() == [9, 1, 7, 3, 9]
    assert returns[1, np.array([True, False, True, False, False])].tolist() == [9, 7]


def test_an_illegal_action_is_an_error_of_its_rollout(envs: Backend) -> None:
    """The step that ends the rollout names environment, action and step; all other environments were stepped."""
    for slot in range(SLOTS - 1):
        act(envs, slot)
        if slot == 1:
            envs.buffer["action"][slot, 3] = envs.task.num_actions
        if slot < SLOTS - 2:
            envs.advance(slot)
    with pytest.raises(IllegalAction, match=r"environment 3 expects an action .*; this was step 2 of a rollout"):
        envs.advance(SLOTS - 2)
    others = np.arange(NUM_ENVS) != 3
    assert envs.buffer["episode_length"][SLOTS - 1, others].tolist() == [3] * (NUM_ENVS - 1)


def test_a_nan_is_found_on_the_device(envs: Backend) -> None:
    """A reward that is not a number is a warning at the end of the rollout."""
    for slot in range(SLOTS - 1):
        act(envs, slot)
        envs.advance(slot)
    envs.buffer["reward"][2, 4] = np.nan
    envs.carry()
    assert any("environment 5 returned a reward that is NaN" in event.text for event in envs.drain_events())


@pytest.mark.parametrize(("backend", "device"), [("inline", "cpu"), ("device", "apart")])
def test_states_are_restored(backend: str, device: str) -> None:
    """Environments continue from saved states as they did before; states that are impossible change nothing."""
    with closing(make("drmario:level=2", NUM_ENVS, backend, slots=SLOTS, device=device)) as envs:
        envs.start()
        begun = {name: np.array(envs.buffer[name][0]) for name in ("state", "observation", "action_mask")}
        played = []
        for _ in range(2):
            for slot in range(SLOTS - 1):
                act(envs, slot)
                envs.advance(slot)
            played.append([np.array(envs.buffer[name][1:]).tobytes() for name in (*begun, "reward", "episode_length")])
            envs.carry()
            assert envs.restore(begun["state"])
            for name, array in begun.items():
                assert np.array_equal(envs.buffer[name][0], array), name
            impossible = begun["state"].copy()
            impossible[1] = 2**63
            with pytest.raises(ImpossibleState, match=r"drmario cannot be in the state that .* for environment 1"):
                envs.restore(impossible)
            assert np.array_equal(envs.buffer["state"][0], begun["state"])
        assert played[0] == played[1]


@pytest.mark.thorough
def test_what_was_written_last_can_be_read_after_the_end() -> None:
    """A session that has ended is still shown."""
    envs = make("kuhn", NUM_ENVS, "device", slots=SLOTS, device="apart")
    envs.start()
    episodes = envs.buffer["episode"][0]
    envs.close()
    assert np.array_equal(envs.buffer["episode"][0], episodes)
    assert not memory_of(envs).tensors


def test_only_the_device_backend_has_memory_elsewhere() -> None:
    """Other backends refuse the device; without a GPU or its compiler, the error has the reason."""
    with pytest.raises(BadParameter, match="the shm backend cannot write into memory of the device 'cuda'"):
        make("drmario", 2, "shm", device="cuda")
    with pytest.raises(BackendUnavailable, match="cannot run drmario here"):
        make("drmario", 2, "device", device="cuda:99", strict=True)


@pytest.mark.thorough
@pytest.mark.parametrize("backend", ["inline", "device"])
def test_what_only_a_gpu_does_is_a_warning_elsewhere(backend: str) -> None:
    """The CPU runs the fights of auto-chess instead; with `strict`, it is an error."""
    with closing(make("autochess:combat=device", 2, backend)) as envs:
        expected = "combat=device needs environments on a GPU (--backend device --device cuda), using the CPU"
        assert [event.text for event in envs.drain_events()] == [expected]
    with pytest.raises(BackendUnavailable, match="combat=device needs environments on a GPU"):
        make("autochess:combat=device", 2, backend, strict=True)


def test_too_many_environments_are_refused_before_anything_is_allocated() -> None:
    """The error says how much they need, how much there is, and how many fit."""
    with pytest.raises(TooManyEnvironments, match=r"N=1,000,000,000 needs about .* are available: use at most"):
        make("drmario", 1_000_000_000, "device", slots=SLOTS, device="apart")
