"""PPO against itself at cards: what it learns is measured by how much a best response wins from it."""

import numpy as np
import pytest
import torch

from pac.envs import Task, allocate, find
from pac.envs.fields import Array
from pac.envs.poker.layout import BOARD, DEAL, HANDS, HISTORY, NODE, STEPS
from pac.envs.poker.task import game_of
from pac.envs.poker.tree import DECISION
from pac.training.mccfr.solving.exact import nash_conv
from pac.training.ppo.trainer import PPO

from ..alone import context, started

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def states_of(task: Task) -> tuple[Array, Array, Array]:
    """Return a hand's state at every decision with every deal, the first entry and the actions there."""
    game = game_of(task)
    tree, deals = game.tree, game.deals
    assert deals is not None
    paths: dict[int, list[int]] = {0: []}
    for node in range(len(tree.kind)):
        for edge in range(tree.first[node], tree.first[node] + tree.degree[node]):
            paths[int(tree.child[edge])] = paths[node] + [edge + 1] * bool(tree.kind[node] == DECISION)
    states, entries, nodes = [], [], []
    for node in np.flatnonzero(tree.kind == DECISION).tolist():
        for deal in range(len(deals.hands)):
            state = np.zeros(task.state.shape[0], np.int64)  # type: ignore[union-attr]
            state[[NODE, DEAL, STEPS, BOARD]] = node, deal, len(paths[node]), deals.board[deal]
            state[[HANDS, HANDS + 2]] = deals.hands[deal]
            state[HISTORY : HISTORY + len(paths[node])] = paths[node]
            states.append(state)
            entries.append(game.entry(node, int(deals.bucket[deal, tree.street[node], tree.player[node]])))
            nodes.append(node)
    return np.array(states), np.array(entries), np.array(nodes)


def strategy_of(trainer: PPO, task: Task) -> Array:
    """Return the policy's probabilities, `(entries,)`, by showing it every decision with every deal."""
    game = game_of(task)
    states, entries, nodes = states_of(task)
    count = len(states)
    buffers = allocate(task, count)
    buffers["state"][0] = states
    task.make(0, count, buffers, 0).show(0)  # type: ignore[attr-defined]
    rows = 2 * np.arange(count) + game.tree.player[nodes]
    with torch.no_grad():
        seen, mask = (torch.from_numpy(buffers[name][0, rows]) for name in ("observation", "action_mask"))
        logits, _ = trainer.policy(seen, mask)
    chances = torch.softmax(logits, -1).numpy()
    found = np.zeros(game.entries, np.float64)
    for row, (entry, node) in enumerate(zip(entries, nodes, strict=True)):
        numbers = [action.number for action in game.tree.actions_of(int(node))]
        found[entry : entry + len(numbers)] = chances[row, numbers]
    return found


@pytest.mark.parametrize(
    ("spec", "decisions", "first", "then"), [("kuhn", 50_000, 0.8, 0.35), ("leduc", 130_000, 4.0, 2.3)]
)
def test_self_play_gets_harder_to_exploit(spec, decisions, first, then):
    """A best response wins much less from the learned policy than from the first one, which plays nearly at random."""
    task = find(spec)
    with started(PPO, context(task), 128) as trainer:
        assert nash_conv(game_of(task), strategy_of(trainer, task)) > first
        while trainer.iterate()["decisions"] < decisions:
            pass
        assert nash_conv(game_of(task), strategy_of(trainer, task)) < then
