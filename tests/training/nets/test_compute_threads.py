"""Threads that share the rows of a batch."""

from typing import Any

import pytest
import torch

from pac.training.nets.compute_threads import ComputeThreads

from ..alone import weights
from ..corridor import corridor
from ..ppo.test_ppo import training


@pytest.mark.parametrize("size", [1, 2, 3])
def test_compute_threads_return_results_in_order(size: int) -> None:
    """The order does not depend on the threads, and an error in one of them is raised."""
    threads = ComputeThreads(torch.device("cpu"), size)
    assert threads.run(lambda part: part * part, range(7)) == [part * part for part in range(7)]

    def fail(part: int) -> Any:
        return 1 // (part - 6)

    with pytest.raises(ZeroDivisionError):
        threads.run(fail, range(7))


@pytest.mark.thorough
def test_parts_of_a_gradient_add_up_to_the_whole() -> None:
    """A gradient step over two threads' rows is that of one thread, except for rounding."""
    results = []
    for threads, size in ((1, 10_000), (2, 16)):
        with training(corridor(threads=threads), num_envs=3, minibatch=128, epochs=1, max_grad_norm=1e9) as trainer:
            trainer.policy.network.rows_at_once = size
            trainer._actor.threads.size = 1
            trainer.iterate()
            results.append(weights(trainer))
    assert all(torch.allclose(results[0][name], results[1][name], atol=1e-5) for name in results[0])
