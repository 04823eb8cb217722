"""Compiled trees, and where the information sets of a game stand."""

from __future__ import annotations

import numpy as np
import pytest

from pac.envs.poker.game import PokerGame
from pac.envs.poker.small import kuhn, leduc, liars_dice
from pac.envs.poker.tree import DECISION, STREET

GAMES = {"kuhn": kuhn(), "leduc": leduc(), "leduc without suits": leduc(suits=False), "liar's dice": liars_dice()}


@pytest.fixture(params=list(GAMES.values()), ids=list(GAMES))
def game(request: pytest.FixtureRequest) -> PokerGame:
    found: PokerGame = request.param
    return found


def places(game: PokerGame) -> list[tuple[int, int, int]]:
    """All information sets: row, first entry, number of actions."""
    tree = game.tree
    return [
        (game.row(node, bucket), game.entry(node, bucket), int(tree.degree[node]))
        for node in np.flatnonzero(tree.kind == DECISION).tolist()
        for bucket in range(game.buckets[tree.street[node]])
    ]


@pytest.mark.parametrize(
    ("name", "nodes", "rows"),
    [("kuhn", 9, 12), ("leduc", 90, 936), ("leduc without suits", 90, 288), ("liar's dice", 8191, 24_576)],
)
def test_sizes(name, nodes, rows):
    """The games have as many information sets as the literature says."""
    assert (len(GAMES[name].tree.kind), GAMES[name].rows) == (nodes, rows)


def test_every_node_stands_below_one_before_it(game):
    """A node has one parent, which comes first; only the root has none."""
    tree = game.tree
    parents = np.full(len(tree.kind), -1)
    for node in range(len(tree.kind)):
        for action in range(tree.degree[node]):
            below = tree.below(node, action)
            assert (parents[below], below > node) == (-1, True)
            parents[below] = node
    assert np.flatnonzero(parents < 0).tolist() == [0]


def test_rows_and_entries_are_dense(game):
    """Every row is one information set's, and its actions' entries lie between those of the rows around it."""
    found = sorted(places(game))
    assert [row for row, _, _ in found] == list(range(game.rows))
    ends = np.cumsum([count for _, _, count in found]).tolist()
    assert [entry for _, entry, _ in found] == [0, *ends[:-1]]
    assert ends[-1] == game.entries


def test_a_buckets_rows_lie_together(game):
    """On a street a player's decisions with one bucket are one stretch of rows."""
    tree = game.tree
    for street, player in np.ndindex(*tree.decisions.shape):
        nodes = np.flatnonzero((tree.kind == DECISION) & (tree.street == street) & (tree.player == player))
        for bucket in range(game.buckets[street]):
            rows = [game.row(node, bucket) for node in nodes.tolist()]
            assert rows == list(range(rows[0], rows[0] + len(nodes)))


def test_actions_have_numbers_of_their_own(game):
    """At a decision no two actions share a number, and an action has its number wherever it can be done."""
    tree = game.tree
    numbers: dict[int, str] = {}
    for node in np.flatnonzero(tree.kind == DECISION).tolist():
        here = [action.number for action in tree.actions_of(node)]
        assert here == sorted(set(here))
        for action in tree.actions_of(node):
            meaning = action.name.replace("check", "call").replace("bet", "raise")
            assert numbers.setdefault(action.number, meaning) == meaning


def test_deals_are_fair(game):
    """Each deal comes once; with the hands exchanged it is as likely, and a showdown ends the other way."""
    deals, dice = game.deals, game.name == "liars_dice"
    assert deals is not None
    index = {(*hands, board): at for at, (hands, board) in enumerate(zip(deals.hands, deals.board, strict=True))}
    assert len(index) == len(deals.hands)
    for (one, two, board), at in index.items():
        other = deals.sign[index[two, one, board]]
        exchanged = -other if not dice else -other.reshape(-1, 2)[:, ::-1].ravel()
        assert deals.sign[at].tolist() == exchanged.tolist()


def test_buckets_are_what_a_player_knows(game):
    """A bucket tells a player's hand, and the board once it is dealt; all buckets occur."""
    deals = game.deals
    assert deals is not None
    for street in range(game.tree.streets):
        for player in range(2):
            seen = deals.hands[:, player].astype(int) * 100 + (deals.board if street else 0)
            if game.name == "leduc" and game.buckets[0] == 3:
                seen = deals.hands[:, player] // 2 * 100 + (deals.board // 2 if street else 0)
            pairs = set(zip(deals.bucket[:, street, player].tolist(), seen.tolist(), strict=True))
            assert len(pairs) == len({bucket for bucket, _ in pairs}) == len({what for _, what in pairs})
            assert {bucket for bucket, _ in pairs} == set(range(game.buckets[street]))


def test_cards_are_dealt_between_streets(game):
    """Below a node that deals, the street is the next one."""
    tree = game.tree
    for node in np.flatnonzero(tree.kind == STREET).tolist():
        assert tree.street[tree.below(node, 0)] == tree.street[node] + 1
