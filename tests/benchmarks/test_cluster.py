"""The model of many processes."""

import numpy as np
import pytest

from .cluster import BATCH, Costs, Network
from .lone_rank import train


def test_a_ring_sends_all_data_twice_whatever_its_size():
    """R ranks send 2 (R - 1) messages of a share of the data, one after the other."""
    network = Network(latency=1e-3, bandwidth=1e6)
    assert network.all_reduce(1, 1e6) == 0
    assert network.all_reduce(2, 1e6) == pytest.approx(2 * (1e-3 + 0.5))
    assert network.all_reduce(100, 1e6) == pytest.approx(2 * 99 * (1e-3 + 0.01))


def test_each_part_takes_as_long_as_on_the_slowest_rank():
    """Each rank takes as long as in one of the iterations that were measured at the same time."""
    equal = Costs([np.full((3, 4), 0.125)], [8] * 4)
    assert equal.computing(1) == equal.computing(100) == 0.5
    uneven = Costs([np.array([[0.1, 0.3], [0.3, 0.1]])], [8, 8])
    assert uneven.computing(1) == pytest.approx(0.4)
    assert uneven.computing(2) == pytest.approx(0.5, abs=0.03)  # half of the pairs differ, and take 0.6 s
    assert uneven.computing(100) == pytest.approx(0.6)
    drifting = Costs([np.full((3, 2), 0.1), np.full((3, 2), 0.2)], [8, 8])
    assert drifting.computing(100) == pytest.approx(0.3)  # the machine was slower once, for all


def test_an_iteration_takes_its_parts_and_sums():
    """All ranks make their decisions in it."""
    costs, network = Costs([np.full((1, 2), 0.25)], [8, 1000]), Network(latency=1e-2, bandwidth=1e6)
    assert costs.rate(1, network) == BATCH / 0.5
    assert costs.rate(2, network) == pytest.approx(2 * BATCH / (0.5 + 2 * (0.02 + 504e-6)))


@pytest.mark.session
def test_a_rank_alone_notes_what_it_computes_before_each_sum():
    """It agrees before each step, and adds the gradients of each minibatch."""
    found = train("CartPole-v1", 4, 0.1, {"batch": 32, "minibatch": 16, "epochs": 2})
    assert all(len(seconds) == len(found["sizes"]) for seconds in found["seconds"])
    assert found["seconds"]
    assert min(map(min, found["seconds"])) > 0
    steps, updates = 32 // 4, 4
    assert sum(size == max(found["sizes"]) for size in found["sizes"]) == updates
    assert len(found["sizes"]) > steps + updates
