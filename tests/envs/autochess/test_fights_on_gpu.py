"""Fights as threads of a GPU."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numba import njit

from pac.envs.autochess import views as at
from pac.envs.autochess.combat import fight
from pac.envs.autochess.display import load
from pac.envs.autochess.layout import FILM_WORDS, NOBODY

from .test_combat import random_lines, team

FIGHTS = 100_000


@njit
def fight_all(arrays):
    """Run the fights one after the other."""
    one, other, sizes, seeds, arena, result, film = arrays
    for index in range(len(seeds)):
        counts = sizes[index]
        fight(one[index], counts[0], other[index], counts[1], seeds[index], arena[index], result[index], film[index])


def random_fights(count: int) -> tuple[np.ndarray, ...]:
    """Teams of random creatures, each with 1 to 3 stars, and all that a fight needs."""
    random = np.random.default_rng(7)
    sizes = random.integers(1, at.SIDE_SIZE + 1, (count, 2))
    teams = [
        np.array([team(random_lines(random, size), int(random.integers(1, 4))).reshape(-1) for size in column])
        for column in sizes.T
    ]
    film = np.zeros((count, FILM_WORDS), np.int64)
    load(film[0], NOBODY)
    film[:] = film[0]
    work = (np.zeros((count, words), np.int64) for words in (at.ARENA_WORDS, at.RESULT_WORDS))
    return (*teams, sizes, random.integers(0, 1 << 62, count), *work, film)


@pytest.mark.gpu
@pytest.mark.timeout(600)
def test_a_hundred_thousand_fights_equal_those_of_the_cpu():
    """Every word of arena and result, for random teams."""
    from pac.envs.cuda import compiled_for_device, cuda, fight_kernel

    arrays = random_fights(FIGHTS)
    tensors = [torch.from_numpy(array.copy()).cuda() for array in arrays]
    kernel = compiled_for_device(fight_kernel())
    kernel[-(-FIGHTS // 64), 64](*(cuda.as_cuda_array(tensor) for tensor in tensors))
    torch.cuda.synchronize()
    fight_all(arrays)
    assert len({tuple(row) for row in arrays[5]}) > FIGHTS // 10
    for array, tensor in zip(arrays, tensors, strict=True):
        assert np.array_equal(array, tensor.cpu().numpy())
