"""Tables of a game, and what is learned into them."""

import numpy as np

from pac.training.mccfr.solving.sampling import SamplingSolver


def tables(game):
    """Return an empty table and no updates."""
    return np.zeros((game.entries, 2), np.float32), np.zeros(game.rows, np.uint32)


def learned(game, iterations, seed=0, **options):
    """Return the tables after some iterations of one sampler."""
    table, updates = tables(game)
    SamplingSolver(game, table, updates, seed, **options).run(0, iterations)
    return table, updates
