"""Hands that are stepped: against the twins, as described, and as a picture."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from pac.envs import BadParameter, find
from pac.envs.fields import DECIDES, WAITS
from pac.envs.poker.layout import BOARD, HANDS, HISTORY, NODE, STEPS
from pac.envs.poker.task import game_of
from pac.envs.poker.tree import DECISION, SHOWDOWN, STREET

from ..begun import begun, legal_actions
from .cards.twin import worth

SPECS = [
    *("kuhn", "leduc", "liars_dice", "holdem:betting=fcpa"),
    *(
        pytest.param(spec, marks=pytest.mark.thorough)
        for spec in ("liars_dice:faces=2", "holdem:stack=20,betting=wide")
    ),
]
COUNT = 6


class Table:
    """Some hands of a task, stepped in place by random legal actions."""

    def __init__(self, spec: str, seed: int = 3) -> None:
        self.task, self.buffers, self.hands = begun(spec, COUNT, seed=seed)
        self.game = game_of(self.task)
        self._generator = np.random.default_rng(seed)

    def row(self, name: str) -> np.ndarray:
        """A field's present rows; of seats, by environment and seat."""
        item = next(item for item in self.task.fields if item.name == name)
        rows = item.decode(self.buffers[name][0])
        by_seat: np.ndarray = rows.reshape(COUNT, 2, *rows.shape[1:]) if item.per == "seat" else rows
        return by_seat

    def step(self) -> np.ndarray:
        """Choose for all seats, step, and return what was chosen, by environment and seat."""
        chosen = legal_actions(self.task, self.buffers, 0, self._generator)
        self.buffers["action"][0] = chosen
        self.hands.step(0)
        return chosen.reshape(COUNT, 2)


def winner(table: Table, state: np.ndarray, node: int) -> int:
    """Who wins a showdown, by the rules: 1 for the first seat, -1 for the second, 0 for none."""
    one, other, board = state[HANDS], state[HANDS + 2], state[BOARD]
    if table.task.name == "holdem":
        sevens = [[*state[first : first + 2], *state[BOARD : BOARD + 5]] for first in (HANDS, HANDS + 2)]
        best = [worth(np.array(list(combinations(seven, 5)))).max() for seven in sevens]
        return int(np.sign(best[0] - best[1]))
    if table.task.name == "leduc":
        best = [10 if card // 2 == board // 2 else card // 2 for card in (one, other)]
        return int(np.sign(best[0] - best[1]))
    if table.task.name == "kuhn":
        return int(np.sign(one - other))
    faces = int(table.task.values["faces"])
    bid, second = divmod(int(table.game.tree.result[node]), 2)
    shown = sum(int(die) in {bid % faces, faces - 1} for die in (one, other))
    holds = shown >= bid // faces + 1
    return 1 if holds != bool(second) else -1


@pytest.mark.thorough
@pytest.mark.parametrize("spec", SPECS)
def test_hands_follow_the_tree(spec):
    """Who decides, what the mask allows, what a hand costs and who wins it are what tree and rules say."""
    table, ends = Table(spec), 0
    tree, nodes = table.game.tree, [0] * COUNT
    for _ in range(120):
        masks, before = table.row("action_mask").copy(), table.row("state").copy()
        for env, node in enumerate(nodes):
            assert table.row("active")[env, tree.player[node]] == DECIDES
            assert table.row("active")[env, 1 - tree.player[node]] == WAITS
            allowed = [action.number for action in tree.actions_of(node)]
            assert np.flatnonzero(masks[env, tree.player[node]]).tolist() == allowed
        chosen = table.step()
        for env, node in enumerate(nodes):
            player = tree.player[node]
            numbers = [action.number for action in tree.actions_of(node)]
            below = tree.below(node, numbers.index(int(chosen[env, player])))
            while tree.kind[below] == STREET:
                below = tree.below(below, 0)
            over = tree.kind[below] != DECISION
            nodes[env] = 0 if over else below
            assert table.row("pot")[env] == tree.paid[below].sum()
            assert table.row("terminated")[env].tolist() == [over, over]
            chips = 0.0
            if over:
                ends += 1
                folded = 1 if tree.player[below] else -1
                sign = winner(table, before[env], below) if tree.kind[below] == SHOWDOWN else folded
                chips = sign * tree.paid[below].min()
            assert table.row("reward")[env].tolist() == [chips, -chips]
    assert ends > COUNT


@pytest.mark.thorough
@pytest.mark.parametrize("spec", SPECS)
def test_what_a_seat_sees(spec):
    """Its own cards, the open ones, the chips and the whole history; never the other's cards."""
    table = Table(spec)
    task, tree = table.task, table.game.tree
    for _ in range(40):
        table.step()
        for env in np.flatnonzero(table.row("outcome") == 0).tolist():
            state = table.row("state")[env]
            edges = state[HISTORY : HISTORY + state[STEPS]] - 1
            for seat in range(2):
                seen = {name: table.row("observation")[env, seat, lo:hi] for name, (lo, hi) in task.slices.items()}
                assert seen["seat"].argmax() == seat
                held = [state[HANDS + 2 * seat + card] for card in range(2 if task.name == "holdem" else 1)]
                assert np.flatnonzero(seen["hand"]).tolist() == sorted(held)
                assert seen["street"].argmax() == table.row("street")[env]
                numbers = np.flatnonzero(seen["history"]) % task.num_actions
                assert numbers.tolist() == [tree.actions[edge].number for edge in edges]
                most, opened = tree.paid.max(), {0: 0, 1: 3, 2: 4, 3: 5}[int(table.row("street")[env])]
                assert np.isclose(seen["chips"][:2].sum() * most, table.row("pot")[env])
                if task.name == "holdem":
                    assert np.flatnonzero(seen["board"]).tolist() == sorted(state[BOARD : BOARD + opened])


def test_the_history_tells_streets_apart():
    """A check on the second street stands elsewhere than one on the first."""
    table, found = Table("leduc"), set()
    lo, hi = table.task.slices["history"]
    for _ in range(60):
        table.step()
        found |= {tuple(np.flatnonzero(row)) for row in table.row("observation")[:, 0, lo:hi]}
    groups = {place // table.task.num_actions for places in found for place in places}
    assert {0, 1, 4, 5} <= groups


def test_what_a_waiting_seat_answers_makes_no_difference():
    """Only the seat whose turn it is is asked."""
    one, other = Table("leduc"), Table("leduc")
    for answer, table in ((0, one), (2, other)):
        table.buffers["action"][0, ::2], table.buffers["action"][0, 1::2] = 1, answer
        table.hands.step(0)
    assert np.array_equal(one.row("state"), other.row("state"))


def test_all_deals_are_equally_likely():
    """Over many hands each of Leduc's 120 deals comes about as often as the others."""
    _, buffers, _ = begun("leduc", 12_000, seed=5)
    deals = [tuple(cards) for cards in buffers["state"][0][:, [HANDS, HANDS + 2, BOARD]].tolist()]
    counts = np.unique(deals, axis=0, return_counts=True)[1]
    assert len(counts) == 120
    assert ((counts - 100) ** 2 / 100).sum() < 200  # 119 degrees of freedom: beyond it once in 200,000 times


def words(table: Table, env: int) -> str:
    return "\n".join("".join(chr(cell & 0x1FFFFF) for cell in line) for line in table.row("hand")[env])


@pytest.mark.parametrize("spec", SPECS)
def test_the_picture_tells_the_hand(spec):
    """Chips, pot, cards and actions stand in it as they are."""
    table = Table(spec)
    for _ in range(30):
        table.step()
        for env in np.flatnonzero(table.row("outcome") == 0).tolist():
            text, state = words(table, env), table.row("state")[env]
            edges = state[HISTORY : HISTORY + state[STEPS]] - 1
            paid = table.game.tree.paid[state[NODE]].astype(int)
            shown = [table.game.tree.actions[edge].name.replace("raise ", "r").replace("bet ", "b") for edge in edges]
            pot = f"pot{table.row('pot')[env]:8.0f}" if table.game.tree.paid.max() > 1 else "pot"
            assert (pot in text) == (table.task.name != "liars_dice")
            assert table.task.name != "holdem" or all(f" {chips} of " in text for chips in paid)
            assert text.count("▸") == 1
            assert [word for word in text.split() if word in shown] == shown


def test_games_by_their_tasks():
    """A game of a task is built once; for a task without one, an error names those that have one."""
    assert game_of(find("leduc")) is game_of(find("leduc:suits=yes"))
    assert game_of(find("leduc:suits=no")).rows == 288
    assert game_of(find("holdem:betting=fcpa,flop=10,turn=20,river=30")).buckets == (169, 10, 20, 30)
    with pytest.raises(BadParameter, match=r"drmario .* holdem, kuhn, leduc, liars_dice"):
        game_of(find("drmario"))


@pytest.mark.parametrize("spec", SPECS)
def test_no_hand_is_longer_than_its_layout(spec):
    """The history has room for every hand of the tree."""
    task = find(spec)
    tree = game_of(task).tree
    depth = np.zeros(len(tree.kind), np.int64)
    for node in range(len(tree.kind)):
        for action in range(tree.degree[node]):
            below = tree.below(node, action)
            same = tree.street[below] == tree.street[node]
            depth[below] = (depth[node] + 1) * same
    lo, hi = task.slices["history"]
    assert depth.max() <= (hi - lo) // task.num_actions // tree.streets
