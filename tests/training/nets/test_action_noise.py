"""The random numbers that choose actions: what they depend on, and that they are random."""

import math

import numpy as np
import pytest
import torch

from pac.envs.native import draw, stream
from pac.training.nets.distribution import ACTIONS, BITS, ActionNoise, normal

STEPS = 400


def noise(num_envs: int = 64, *, first_env: int = 0, seed: int = 7, players: int = 2, numbers: int = 3) -> ActionNoise:
    return ActionNoise(
        seed, first_env=first_env, num_envs=num_envs, players=players, numbers=numbers, device=torch.device("cpu")
    )


def test_they_are_those_of_splitmix64() -> None:
    """Row r takes its numbers, in order, from stream r of the compiled generator."""
    found = noise(num_envs=2).uniform(5, 2)
    for row in range(4):
        memory = np.array([stream(np.uint64(7 ^ ACTIONS), np.uint64(row))], np.uint64)
        drawn = [int(draw(memory, 0)) >> (64 - BITS) for _ in range(7 * 3)]
        expected = [(number + 1) / 2**BITS for number in drawn[15:]]
        assert found[:, row].flatten().tolist() == expected


def test_steps_and_environments_can_be_split() -> None:
    """Halves of the environments, by global number, and of the steps have the numbers of the whole."""
    whole = noise(num_envs=8).uniform(0, 6)
    halves = [noise(num_envs=4, first_env=first).uniform(start, 3) for start in (0, 3) for first in (0, 4)]
    assert torch.equal(whole, torch.cat([torch.cat(halves[:2], 1), torch.cat(halves[2:], 1)]))


@pytest.mark.parametrize("seed", [0, -1, 2**64 - 1, 2**70])
def test_every_seed_is_accepted_and_gives_other_numbers(seed: int) -> None:
    """Seeds that do not fit into 64 bits with a sign included."""
    assert not torch.equal(noise(seed=seed).uniform(0, 2), noise(seed=1).uniform(0, 2))


def test_they_are_uniform() -> None:
    """Their counts in 64 bins pass a chi-squared test, and all are in (0, 1]."""
    numbers = noise().uniform(0, STEPS)
    counts = torch.histc(numbers, bins=64, min=0, max=1)
    expected = numbers.numel() / 64
    statistic = float((counts - expected).square().sum() / expected)
    assert float(numbers.min()) > 0
    assert float(numbers.max()) <= 1
    assert abs(statistic - 63) < 4 * math.sqrt(2 * 63)


def test_they_are_independent_of_their_neighbours() -> None:
    """Numbers of the next step, seat, environment and component do not correlate."""
    numbers = noise().uniform(0, STEPS) - 0.5
    for shift, axis in ((1, 0), (1, 1), (2, 1), (1, 2)):
        length = numbers.shape[axis] - shift
        one, other = numbers.narrow(axis, 0, length), numbers.narrow(axis, shift, length)
        correlation = float((one * other).mean() * 12)
        assert abs(correlation) < 4 / math.sqrt(one.numel())


def test_normal_numbers_have_the_moments_of_the_normal_distribution() -> None:
    """Mean 0, variance 1, kurtosis 3."""
    uniform = noise(numbers=2).uniform(0, STEPS)
    drawn = normal(uniform[..., 0], uniform[..., 1]).double()
    deviation = 1 / math.sqrt(drawn.numel())
    assert abs(float(drawn.mean())) < 4 * deviation
    assert abs(float(drawn.square().mean()) - 1) < 4 * math.sqrt(2) * deviation
    assert abs(float(drawn.pow(4).mean()) - 3) < 4 * math.sqrt(96) * deviation
    assert torch.isfinite(drawn).all()
