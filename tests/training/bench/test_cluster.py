"""The model of many processes."""

from __future__ import annotations

import pytest

from pac.training.bench.cluster import Costs, Network
from pac.training.bench.ranks import NUM_ENVS

COSTS = Costs(iteration=0.5, steps=64, updates=12, gradients=200_000)


def test_a_ring_sends_all_data_twice_whatever_its_size():
    """R ranks send 2 (R - 1) messages of a share of the data, one after the other."""
    network = Network(latency=1e-3, bandwidth=1e6)
    assert network.all_reduce(1, 1e6) == 0
    assert network.all_reduce(2, 1e6) == pytest.approx(2 * (1e-3 + 0.5))
    assert network.all_reduce(100, 1e6) == pytest.approx(2 * 99 * (1e-3 + 0.01))


def test_ranks_wait_for_a_sum_before_each_step_and_gradient_step():
    """What they compute takes as long as in one rank alone."""
    assert COSTS.rate(1, 9.0, 9.0) == 64 * NUM_ENVS / 0.5
    assert COSTS.seconds(8, 1e-3, 2e-3) == pytest.approx(0.5 + 64 * 1e-3 + 12 * 2e-3)
    assert COSTS.rate(8, 1e-3, 2e-3) == pytest.approx(8 * 64 * NUM_ENVS / 0.588)
