"""Environments `lo..hi` of the buffers, stepped by the compiled kernels; and which states are possible."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..driver import Kernels, NativeGame, are_within
from .kernels import reset_envs, show_envs, step_envs
from .layout import AGENT_WORDS, AGENTS, COLUMN, EPISODES, GOAL, ROW, STEPS, TAKEN, TERMS, TREASURE, Grid, Ints
from .views import TABLE, GridViews, views_of

MOST_COUNTED = (1 << 31) - 1


def possible(v: GridViews, states: Ints) -> NDArray[np.bool_]:
    """Return which of `(environments, words)` states are possible.

    In a possible state, every cell has at most one resource or agent, and the plane of the agents shows their places.
    """
    g = v.grid
    counts = {(AGENTS + agent * AGENT_WORDS + TAKEN, TERMS): (0, MOST_COUNTED) for agent in range(g.agents)}
    places = {(AGENTS + agent * AGENT_WORDS + ROW, 2): (0, g.size - 1) for agent in range(g.agents)}
    goals = {(AGENTS + agent * AGENT_WORDS + GOAL, 1): (0, g.size**2 - 1) for agent in range(g.agents)}
    own = {(EPISODES, 1): (0, 1 << 62), (STEPS, 1): (0, g.turns - 1)}
    return are_within({**own, **counts, **places, **goals}, states) & _cells_hold(g, states)


def _cells_hold(g: Grid, states: Ints) -> NDArray[np.bool_]:
    planes = states[:, g.planes :].reshape(len(states), g.kinds + 1, g.lines)
    bits = planes[..., None] >> np.arange(64) & 1
    inside = slice(g.sight, g.sight + g.size)
    once = (bits.sum(axis=1) <= 1).all(axis=(1, 2))
    within = bits.sum(axis=(1, 2, 3)) == bits[:, :, inside, inside].sum(axis=(1, 2, 3))
    agents = states[:, AGENTS : g.planes].reshape(len(states), g.agents, AGENT_WORDS)
    environments = np.arange(len(states))[:, None]
    rows, columns = (agents[..., word].clip(0, g.size - 1) for word in (ROW, COLUMN))
    shown = bits[:, -1, inside, inside]
    there = shown[environments, rows, columns].all(axis=1) & (shown.sum(axis=(1, 2)) == g.agents)
    found: NDArray[np.bool_] = once & within & there
    return found


KERNELS = Kernels(reset_envs, step_envs, show_envs)
GAME = NativeGame(TABLE, views_of, EPISODES, lambda _: KERNELS, possible, (TREASURE,))
