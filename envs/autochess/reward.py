"""The reward presets `v1` and `v3`: the reward terms of a round for a player."""

from __future__ import annotations

import numpy as np

from ..native import compiled
from . import layout as at
from .bag import count_units
from .layout import Floats, Ints
from .rounds import interest

V1 = 0
PLACES_V3 = np.array([28, 15, 8, -5, -9, -14, -19, -26], np.float32)
RAMP = 30
"""Stages over which the weight of fights grows under v3."""
GOLD_LIMIT = 55
HOARD_RATE = 0.01
HOARD_CAP = 10.0


@compiled
def fight_term(game: Ints, me: int, preset: int) -> float:
    """Return the term of a fight; under v3, a win counts 0.25 to 3 times and a loss 0.5 to 2 times, by stage."""
    result = game[me + at.RESULT]
    if result == at.DRAW:
        return 0.0
    if preset == V1:
        return 0.5 if result == at.WON else -0.3
    share = float(min(1.0, game[at.STAGE] / RAMP))
    return 0.75 * (0.25 + 2.75 * share) if result == at.WON else -0.5 * (0.5 + 1.5 * share)


@compiled
def tiers_term(game: Ints, me: int) -> float:
    """Return 0.1 for every tier of a kind beyond the most that the player had before."""
    gained = int(max(0, game[me + at.TIERS] - game[me + at.BEST_TIERS]))
    game[me + at.BEST_TIERS] += gained
    return 0.1 * gained


@compiled
def hoard_term(gold: int) -> float:
    """Return the penalty for gold over 55, which is quadratic and at least -10."""
    excess = max(0, gold - GOLD_LIMIT)
    return -min(HOARD_CAP, HOARD_RATE * excess * excess)


@compiled
def round_terms(game: Ints, me: int, preset: int, terms: Floats) -> None:
    """Write the terms of a living player's round, before dead players are removed."""
    terms[at.TERM_FIGHT] = fight_term(game, me, preset)
    if preset == V1:
        terms[at.TERM_INTEREST] = 0.05 * interest(game, me)
        terms[at.TERM_KIND] = tiers_term(game, me)
        terms[at.TERM_KILLS] = 0.02 * game[me + at.KILLS]
        terms[at.TERM_LIFE] = 0.005 * max(0, game[me + at.LIFE]) / 100
        terms[at.TERM_BENCH] = -0.01 * count_units(game, me, 0, at.BENCH)
    else:
        terms[at.TERM_INTEREST] = 0.06 * interest(game, me)
        terms[at.TERM_HOARD] = hoard_term(game[me + at.GOLD])


@compiled
def last_terms(game: Ints, me: int, preset: int, terms: Floats) -> None:
    """Add the term of a player's place, and under v1 of its death."""
    if preset == V1:
        terms[at.TERM_PLACE] = (9 - game[me + at.RANK]) * 2 - 6
        terms[at.TERM_DEATH] = -2.0 if game[me + at.LIFE] <= 0 else 0.0
    else:
        terms[at.TERM_PLACE] = PLACES_V3[game[me + at.RANK] - 1]
