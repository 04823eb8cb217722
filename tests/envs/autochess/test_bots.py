"""The scripted players."""

from __future__ import annotations

import numpy as np
import pytest

from pac.envs.autochess.bag import player
from pac.envs.autochess.bots import SKILLS, bot_turn
from pac.envs.autochess.kernels import play_round
from pac.envs.autochess.layout import ALIVE, OVER, RANK, SEATS, STAGE, WORDS
from pac.envs.autochess.rounds import begin
from pac.envs.autochess.views import new_work

from .states import violations


def play_bots(seed: int, skills: list[int]) -> list[int]:
    """Let eight bots play a game; returns their ranks."""
    game, work = np.zeros(WORDS, np.int64), new_work()
    begin(game, np.uint64(seed))
    while not game[OVER]:
        for seat in range(SEATS):
            if game[player(seat) + ALIVE]:
                bot_turn(game, player(seat), skills[seat])
        play_round(game, 0, SEATS, work)
        assert violations(game[None]) == []
    assert 20 <= game[STAGE] <= 45
    return [int(game[player(seat) + RANK]) for seat in range(SEATS)]


def mean_ranks(games: int) -> list[float]:
    """Mean rank of each strength, over games in which the strengths sit in random order, one of them twice."""
    random = np.random.default_rng(0)
    ranks: list[list[int]] = [[] for _ in SKILLS]
    for seed in range(games):
        skills = random.permutation([*range(len(SKILLS)), seed % len(SKILLS)]).tolist()
        for skill, rank in zip(skills, play_bots(seed, skills), strict=True):
            ranks[skill].append(rank)
    return [float(np.mean(found)) for found in ranks]


@pytest.mark.thorough
def test_the_strong_bots_beat_the_weak_ones():
    """In a few games the three strongest rank before the three weakest."""
    ranks = mean_ranks(20)
    assert max(ranks[4:]) < min(ranks[:3])


@pytest.mark.slow
def test_bots_are_ordered_by_strength():
    """Over 600 games each bot's mean rank is better than that of the next weaker one."""
    ranks = mean_ranks(600)
    assert ranks == sorted(ranks, reverse=True), ranks
