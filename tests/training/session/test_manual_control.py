"""An environment that a person plays: which action is taken, and that nothing is learned from it."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from pac.backends import BadAction
from pac.envs.fields import DECIDES, PLAYED
from pac.envs.task import allocate
from pac.training.nets.device_buffer import DeviceBuffer
from pac.training.ppo.gae import gae
from pac.training.ppo.storage import RolloutStorage
from pac.training.session.manual_control import ManualControl

from ...toys import toy

TOY = toy(shape=(2,), num_actions=10, masked=True, players=2)
LEGAL = np.packbits(np.arange(10) != 7, bitorder="little")


@pytest.fixture
def buffer():
    """Three environments of two seats, four steps."""
    made = allocate(TOY, 3, slots=5)
    made["active"][:] = DECIDES
    made["action_mask"][:] = LEGAL
    made["observation"][:] = np.arange(5)[:, None, None]
    made["reward"][:] = 1
    return made


def test_the_action_is_taken_once(buffer):
    """In the requested seat, at the next step; the policy chooses the one after it."""
    control = ManualControl(TOY)
    control.request(1, 0, 9, buffer, 0)
    control.apply(buffer, 2)
    assert buffer["action"][2].tolist() == [0, 0, 9, 0, 0, 0]
    assert (control.played, control.requested) == (1, None)
    control.apply(buffer, 3)
    assert control.played is None
    assert not buffer["action"][3].any()


def test_nothing_is_learned_from_the_action_and_its_rewards(buffer):
    """The decision is excluded from the loss, and the one before it is bootstrapped from the value estimate."""
    values = torch.arange(30.0).reshape(5, 6)

    def advantages(rewards):
        buffer["reward"][3:, 2] = rewards
        experience = RolloutStorage(TOY, DeviceBuffer(TOY, buffer, torch.device("cpu"))).data()
        finals = torch.zeros(4, 6)
        finals[1, 2] = values[2, 2]  # of the observation that the person found
        found, _ = gae(
            rewards=experience.rewards, values=values, terminated=experience.terminated,
            truncated=experience.truncated, active=experience.active, out=experience.out, final_values=finals,
            discounts=torch.ones(4, 6), gae_lambda=0.95,
        )  # fmt: skip
        return experience, found

    control = ManualControl(TOY)
    for slot in (2, 3):
        control.request(1, 0, 1, buffer, 0)
        control.apply(buffer, slot)
    poor, before = advantages(0.0)
    assert poor.active[:, 2].tolist() == [True, True, False, False]
    assert poor.active[:, [0, 1, 3, 4, 5]].all()
    _, after = advantages(1000.0)
    assert torch.equal(before[:2], after[:2])
    assert before[1, 2] == 1 + values[2, 2] - values[1, 2]


@pytest.mark.parametrize(
    ("env", "seat", "action", "sentence"),
    [
        (3, 0, 1, "environments are numbered 1 to 3, got 4"),
        (0, 2, 1, "seats are numbered 1 to 2, got 3"),
        (0, 0, 10, "0 to 9, got 10"),
        (0, 0, 1.5, "got 1.5"),
        (0, 0, [1, 2], "one number, got 2"),
        (0, 0, 7, "action 7 is not legal now"),
    ],
)
def test_an_impossible_action_is_refused(buffer, env, seat, action, sentence):
    """With a sentence, and nothing is requested."""
    control = ManualControl(TOY)
    with pytest.raises(BadAction, match=sentence):
        control.request(env, seat, action, buffer, 0)
    assert control.requested is None


@pytest.mark.parametrize("terminated", [0, 1])
def test_another_seat_is_played(buffer, terminated):
    """Only the requested one; an episode that has terminated is not marked as truncated."""
    buffer["terminated"][2, 3] = terminated
    control = ManualControl(TOY)
    control.request(1, 1, 9, buffer, 0)
    control.apply(buffer, 2)
    assert buffer["action"][2].tolist() == [0, 0, 0, 9, 0, 0]
    assert buffer["active"][2].tolist() == [DECIDES] * 3 + [PLAYED] + [DECIDES] * 2
    assert buffer["truncated"][2].tolist() == [0, 0, 0, 1 - terminated, 0, 0]


def test_an_action_with_several_components_needs_each_to_be_legal():
    """Each component has its own range and its own part of the mask."""
    task = replace(TOY, choices=(3, 7))
    made = allocate(task, 1)
    made["action_mask"][:] = LEGAL
    control = ManualControl(task)
    for action, sentence in (([3, 0], "0 to 2, got 3"), ([0, 4], "not legal now"), (1, "2 numbers, got 1")):
        with pytest.raises(BadAction, match=sentence):
            control.request(0, 1, action, made, 0)
    control.request(0, 1, [2, 6], made, 0)
    control.apply(made, 0)
    assert made["action"][0].tolist() == [[0, 0], [2, 6]]


def test_continuous_numbers_are_clipped_to_their_bounds():
    """As those of the policy; NaN is refused."""
    task = replace(TOY, bounds=((-1.0, 1.0), (0.0, 9.0)), masked=False)
    made = allocate(task, 1)
    control = ManualControl(task)
    with pytest.raises(BadAction, match="must be finite"):
        control.request(0, 0, [0.5, float("nan")], made, 0)
    control.request(0, 0, [-3, 4.5], made, 0)
    control.apply(made, 0)
    assert made["action"][0].tolist() == [[-1.0, 4.5], [0.0, 0.0]]


def test_an_action_that_is_no_longer_legal_is_ignored(buffer):
    """For example, after a restart with other environments."""
    control = ManualControl(TOY)
    before = {**buffer, "action": np.zeros((5, 20), np.int64), "action_mask": np.full((5, 20, 2), 255, np.uint8)}
    for env, action in ((1, 7), (9, 1)):
        control.request(env, 0, action, before, 0)
        control.apply(buffer, 2)
        assert control.played is None
    assert not buffer["action"].any()
    assert (buffer["active"] == DECIDES).all()
