"""What a person sees of a solver: the strategy as it is, and a hand that is played by it."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from pac.envs import find
from pac.envs.poker.cards.notation import CLASSES, card_text
from pac.envs.poker.cards.words import HOLE_CARDS
from pac.envs.poker.layout import NODE
from pac.envs.poker.task import game_of
from pac.training.mccfr.pictures.boards import DisplayedHand, SolverBoards, shown
from pac.training.mccfr.pictures.grids import HOLE_CLASSES, WHOLE, DecisionStrategy, StreetStrategy
from pac.training.mccfr.solving.exact import average_strategy
from pac.training.mccfr.solving.full import Cfr

from ....envs.poker.cards.twin import cards_of


def solved(spec, iterations=200):
    """A game with the tables that exact iterations leave."""
    task = find(spec)
    game = game_of(task)
    cfr = Cfr(game, "cfr+")
    cfr.iterate(iterations)
    return task, game, np.stack([cfr.regrets, cfr.sums], axis=1), np.full(game.rows, iterations, np.uint32)


def drawing(task, table, updates, workers=2):
    """Boards of some workers, and the buffers they are drawn into."""
    panels, boards = shown(task)
    dressed = replace(task, panels=panels, boards=boards)
    buffers = {item.name: np.zeros((1, workers, *item.stored_shape), item.dtype) for item in boards}
    buffers |= {"table": table[None, None], "updates": updates[None, None]}
    return SolverBoards(dressed, 0, workers, buffers, 0), buffers


def test_the_whole_of_kuhn_is_what_its_average_strategy_says():
    """A king never folds to a bet, a jack always does; the columns are the four histories."""
    task, game, table, _ = solved("kuhn")
    whole = StreetStrategy(game, 0, len(task.action_names))
    assert (whole.rows, whole.columns) == (("J", "Q", "K"), ("·", "k", "b", "kb"))
    out = np.zeros((3, 4, 3), np.uint8)
    whole.write(table, out)
    fold, call = task.action_names.index("fold"), task.action_names.index("check or call")
    assert (out[2, 2, call], out[2, 3, call]) == (WHOLE, WHOLE)
    assert (out[0, 2, fold], out[0, 3, fold]) == (WHOLE, WHOLE)
    strategy = average_strategy(game, table)
    for node, column in zip(np.flatnonzero(game.tree.kind == 0).tolist(), (0, 1, 3, 2), strict=True):
        for bucket, (at, action) in product(range(3), enumerate(game.tree.actions_of(node))):
            expected = round(WHOLE * strategy[game.entry(node, bucket) + at])
            assert out[bucket, column, action.number] == pytest.approx(expected, abs=1)


@pytest.mark.thorough
def test_what_is_shown_of_leduc_and_of_liars_dice():
    """Suits do not matter: three hands by six histories, then nine by thirty, in order of what came before.

    Of liar's dice all histories up to a length: nothing bid, and every first bid.
    """
    task, game, table, _ = solved("leduc", 20)
    first, second = (StreetStrategy(game, street, 3) for street in range(2))
    assert (len(first.rows), len(first.columns), len(second.rows), len(second.columns)) == (3, 6, 9, 30)
    assert second.rows[:3] == ("J|J", "J|Q", "J|K")
    assert second.columns[:7] == ("bc/·", "bc/k", "bc/b", "bc/kb", "bc/br", "bc/kbr", "kk/·")
    out = np.zeros((9, 30, 3), np.uint8)
    second.write(table, out)
    assert np.abs(out.astype(int).sum(axis=2) - WHOLE).max() <= 2
    assert task.panels
    dice = find("liars_dice")
    whole = StreetStrategy(game_of(dice), 0, len(dice.action_names))
    assert (whole.rows, whole.columns) == (tuple("123456"), ("·", *dice.action_names[:-1]))


def test_what_nothing_was_learned_of_is_left_empty():
    """An untouched table has no shares, and no hand is played by it."""
    task = find("leduc")
    game = game_of(task)
    boards, buffers = drawing(task, np.zeros((game.entries, 2), np.float32), np.zeros(game.rows, np.uint32))
    buffers["looked_at"][:] = 1
    boards.draw()
    assert not buffers["street0"].any()
    assert not buffers["decision"].any()
    assert not buffers["streets"][..., 0].any()


def test_only_what_is_looked_at_is_drawn():
    """The question is taken back; the other worker's board stays as it was."""
    task, _, table, updates = solved("leduc", 20)
    boards, buffers = drawing(task, table, updates)
    boards.draw()
    assert not buffers["hand"].any()
    buffers["looked_at"][0, 1] = 1
    boards.draw()
    assert not buffers["looked_at"].any()
    assert not buffers["hand"][0, 0].any()
    assert buffers["hand"][0, 1].any()
    assert buffers["decision"][0, 1].sum(axis=0) == pytest.approx([1, 1], abs=0.01)
    assert buffers["streets"][0, 1].tolist() == [[1, 36, 6, 20], [1, 900, 30, 20]]


def test_a_hand_goes_on_by_legal_actions_for_ever(monkeypatch):
    """Hands follow hands, each decision is one of the game's, and its shares are legal."""
    task, game, table, updates = solved("leduc", 20)
    monkeypatch.setattr("pac.training.mccfr.pictures.boards.PACE", 0.0)
    boards, buffers = drawing(task, table, updates, 1)
    pictures = set()
    for _ in range(60):
        buffers["looked_at"][:] = 1
        boards.draw()
        pictures.add(buffers["hand"].tobytes())
    assert len(pictures) > 20
    hand = DisplayedHand(task, game, 3)
    assert game.tree.kind[hand.node] == 0
    assert hand.node == hand._state[NODE]


def test_classes_of_starting_hands_are_those_of_the_grid():
    """Each pair of cards belongs to the class that its letters say."""
    for one, other in (("As", "Ah"), ("Ks", "As"), ("2c", "7d"), ("Td", "9d")):
        high, low = sorted(cards_of(one + other), reverse=True)
        place = HOLE_CARDS.tolist().index([high, low])
        suited = "s" if one[1] == other[1] else "o"
        name = card_text(high)[0] + card_text(low)[0]
        assert CLASSES[HOLE_CLASSES[place]] == (name if name[0] == name[1] else name + suited)


def test_a_decision_of_holdem_weighs_all_pairs_alike():
    """The first decision's grid has the table's shares by class, and the overall share counts pairs of cards."""
    task = find("holdem:betting=fcpa")
    game = game_of(task)
    degree, count = int(game.tree.degree[0]), len(task.action_names)
    table = np.zeros((game.entries, 2), np.float32)
    numbers = [action.number for action in game.tree.actions_of(0)]
    for bucket in range(169):
        table[game.entry(0, bucket) + (bucket % degree), 1] = 3.0
    decision = DecisionStrategy(game, table, 0, (HOLE_CLASSES, np.ones(1326, np.bool_)), count)
    out = np.zeros((13, 13, count), np.uint8)
    decision.write_classes(out)
    assert all(out.reshape(169, count)[bucket, numbers[bucket % degree]] == WHOLE for bucket in range(169))
    pairs = [int((HOLE_CLASSES % degree == at).sum()) / 1326 for at in range(degree)]
    assert decision.overall[numbers] == pytest.approx(pairs)
