"""Random walks through the trees of games."""

from __future__ import annotations

import random
from collections.abc import Iterator

from pac.envs.poker.tree import DECISION, STREET, Action, Tree


def walk(tree: Tree, seed: int) -> Iterator[tuple[int, Action | None]]:
    """Yield the nodes of a random hand, each with what is done there; nothing at its end."""
    generator, node = random.Random(seed), 0
    while tree.kind[node] in {DECISION, STREET}:
        edge = generator.randrange(tree.degree[node])
        yield node, tree.actions_of(node)[edge]
        node = tree.below(node, edge)
    yield node, None
