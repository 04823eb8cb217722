"""One environment stepped by request: the same episodes as everywhere, without autoreset."""

from __future__ import annotations

import numpy as np
import pytest

from pac.backends import BackendBusy, BadAction, make
from pac.backends.servers.hosting import STILL, HostedEnvironment
from pac.envs import PacError, find
from pac.envs.task import ASKED

AFTER_A_RESET = {"action", "active", "episode", "status", "heartbeat", "final_observation"}
"""The fields that a reset may leave unchanged."""


def choose(host: HostedEnvironment, rng: np.random.Generator) -> list[int]:
    """Return a random legal action for every seat."""
    return [int(rng.choice(np.flatnonzero(row))) for row in host.mask()]


@pytest.mark.parametrize(("spec", "env"), [("kuhn", 2), ("treasure:turns=10", 1), ("CartPole-v1", 0)])
def test_the_episodes_are_those_of_the_reference(spec, env):
    """Through ends and resets, every field has the bytes that the same environment has on `inline`."""
    task = find(spec)
    host, envs = HostedEnvironment(task, env, 7), make(task, env + 1, "inline", seed=7)
    rng, ends = np.random.default_rng(3), 0
    mine = {item.name: slice(env * task.players, None) if item.per == "seat" else env for item in task.fields}
    envs.start()
    if "looked_at" not in envs.buffer:
        envs.buffer["final_drawn"][0, env] = ASKED
    host.reset()
    for _ in range(120):
        if host.ended:
            ends += 1
            assert np.array_equal(host.stored("observation"), envs.buffer["final_observation"][0, mine["action"]])
            assert not host.mask().any()
            host.reset()
            assert not any(host.stored(name).any() for name in STILL if name in envs.buffer)
        actions = choose(host, rng)
        envs.buffer["action"][0] = envs.action_masks().argmax(axis=1)
        envs.buffer["action"][0, mine["action"]] = actions
        host.step(actions)
        envs.advance(0)
        for item in task.fields:
            there = f"final_{item.name}" if host.ended and f"final_{item.name}" in envs.buffer else item.name
            if not host.ended or item.name != "action_mask":
                assert host.stored(item.name).tobytes() == envs.buffer[there][0, mine[item.name]].tobytes(), item
    assert ends > 1
    envs.close()
    host.close()


@pytest.mark.parametrize("spec", ["drmario:level=20", "treasure:turns=10", "CartPole-v1"])
def test_a_reset_after_an_end_starts_the_next_episode(spec):
    """Its observation, mask, numbers and boards are those that a reset of the next episode writes."""
    task, rng = find(spec), np.random.default_rng(1)
    host, other = HostedEnvironment(task, 3, 5), HostedEnvironment(task, 3, 5)
    host.reset()
    while not host.ended:
        host.step(choose(host, rng))
    host.reset()
    other.reset()
    other.reset()
    for item in task.fields:
        if item.name not in AFTER_A_RESET and item not in task.last_boards:
            assert np.array_equal(host.stored(item.name), other.stored(item.name)), item.name


def test_a_seed_begins_at_its_first_episode(toy):
    """A reset with a seed forgets what was played, and the last episode's end."""
    host, fresh = HostedEnvironment(toy("Counter", length=1), 4, 1), HostedEnvironment(toy("Counter", length=1), 4, 8)
    host.reset()
    host.step([0])
    host.reset(seed=8)
    fresh.reset()
    assert host.stored("episode") == 0
    assert np.array_equal(host.decoded("observation"), fresh.decoded("observation"))


def test_calls_in_the_wrong_order(toy):
    """Neither a step before a reset nor one after an end is taken; the error says what to do."""
    host = HostedEnvironment(toy("Counter", length=1))
    with pytest.raises(BackendBusy, match="no episode has begun; reset it first"):
        host.step([0])
    with pytest.raises(BackendBusy, match="cannot be observed"):
        host.observe()
    host.reset()
    host.step([0])
    with pytest.raises(BackendBusy, match="its episode has ended; reset it first"):
        host.step([0])
    assert host.observe()[0].tolist() == host.stored("final_observation").tolist()


def test_bad_actions(toy):
    """Too few actions, one out of range, or one that the mask forbids, are refused, and the episode goes on."""
    host, masked = HostedEnvironment(toy("Counter")), HostedEnvironment(find("kuhn"))
    host.reset()
    masked.reset()
    for actions, text in (([], "expected 1 actions"), ([4], "0 to 3"), ([-1], "0 to 3")):
        with pytest.raises(BadAction, match=text):
            host.step(actions)
    host.step([3])
    assert host.decoded("observation")[0, 0] == 1
    with pytest.raises(PacError, match="action_mask"):
        masked.step([int(row.argmin()) for row in masked.mask()])
    masked.step(choose(masked, np.random.default_rng(0)))
    assert masked.stored("episode_length") == 1


def test_boards_are_drawn_on_request(toy):
    """Boards are drawn while they are requested."""
    host = HostedEnvironment(toy("Painted"))
    host.reset()
    assert not host.stored("picture").any()
    host.request_boards(watched=True)
    host.step([0])
    assert host.stored("picture").any()
