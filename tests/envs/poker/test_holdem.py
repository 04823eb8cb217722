"""Hold'em's betting: known trees, the rules against a dealer who knows no abstraction, and each situation's sizes."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pac.envs.poker.holdem import NoLimitBetting, NoLimitState, holdem
from pac.envs.poker.sizes import PRESETS, BetSizes, sizes_of
from pac.envs.poker.tree import DEAL, DECISION, FOLD, SHOWDOWN, STREET, Tree

from .twins import NoLimitTable
from .walks import walk


@cache
def short(name: str) -> Tree:
    """Return the tree of a preset, of few chips."""
    return holdem(sizes_of(name), 20, (50, 50, 50)).tree


def names(betting: NoLimitBetting, state: NoLimitState) -> list[str]:
    return [action.name for action in betting.actions(state)]


def done(betting: NoLimitBetting, *words: str) -> NoLimitState:
    """Return the state after actions by their names, with `deal` between the streets."""
    state = betting.root()
    for word in words:
        found = {action.name: action for action in betting.actions(state)} if word != "deal" else {word: DEAL}
        state = betting.after(state, found[word])
    return state


def test_fold_call_pot_all_in():
    """The tree is that of OpenSpiel's universal_poker: 1,360 decisions and 2,002 ends."""
    game = holdem(sizes_of("fcpa"), 100, (50, 50, 50))
    kinds = np.bincount(game.tree.kind, minlength=4)
    assert (kinds[DECISION], kinds[FOLD] + kinds[SHOWDOWN]) == (1360, 2002)
    assert game.tree.decisions.sum(axis=1).tolist() == [20, 100, 340, 900]
    assert game.entries == 174_833


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "decisions", "ends", "entries"),
    [("wide", [36, 300, 1588, 6212], 13_026, 1_070_545), ("standard", [32, 442, 3490, 17_746], 35_930, 2_893_017)],
)
def test_larger_trees(name, decisions, ends, entries):
    """`wide` is the tree of donksolver's preset `hu`; `standard` is as large as the page about it says."""
    game = holdem(sizes_of(name), 100, (50, 50, 50))
    kinds = np.bincount(game.tree.kind, minlength=4)
    assert game.tree.decisions.sum(axis=1).tolist() == decisions
    assert (kinds[FOLD] + kinds[SHOWDOWN], game.entries) == (ends, entries)


@pytest.mark.parametrize("name", PRESETS)
@given(seed=st.integers(0, 2**32))
def test_the_rules_allow_every_hand(name, seed):
    """A dealer who knows no abstraction follows every hand of the tree: turns, streets, chips and ends are the same."""
    tree = short(name)
    small, big = sizes_of(name).blinds
    table = NoLimitTable(20 * big, small, big)
    for node, action in walk(tree, seed):
        assert tuple(tree.paid[node]) == table.paid
        assert tree.street[node] == table.street
        assert {FOLD: "fold", SHOWDOWN: "showdown"}.get(tree.kind[node], "") == table.ended
        assert (tree.kind[node] == STREET) == table.waits_for_cards
        if tree.kind[node] in {DECISION, FOLD}:
            assert tree.player[node] == table.turn
        if action is None:
            continue
        if action.name == "deal":
            table.deal()
        elif action.name == "fold":
            table.fold()
        elif action.name in {"check", "call"}:
            assert (action.name == "call") == table.facing
            table.check_or_call()
        else:
            table.raise_to(int(action.chips))


@pytest.mark.parametrize("name", PRESETS)
def test_sizes_differ(name):
    """At no decision two actions cost the same but to fold and to check; raises rise, and all-in is everything."""
    tree = short(name)
    most = float(tree.paid.max())
    for node in np.flatnonzero(tree.kind == DECISION).tolist():
        raises = [action.chips for action in tree.actions_of(node) if action.chips > tree.paid[node].max()]
        assert raises == sorted(set(raises))
        assert all((action.name == "all-in") == (action.chips == most) for action in tree.actions_of(node)[2:])


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), ["fold", "call", "raise 5", "raise 7", "raise 10"]),
        (("call",), ["check", "raise 6", "raise 10"]),
        (("raise 5",), ["fold", "call", "raise 15", "all-in"]),
        (("raise 5", "raise 15"), ["fold", "call", "raise 45", "all-in"]),
        (("raise 5", "raise 15", "raise 45"), ["fold", "call", "all-in"]),
        (("call", "check", "deal"), ["check", "bet 2", "bet 3", "bet 5"]),
        (("call", "check", "deal", "bet 2"), ["fold", "call", "raise 4", "raise 10", "all-in"]),
        (("call", "check", "deal", "bet 2", "raise 4"), ["fold", "call", "raise 16", "all-in"]),
        (("call", "check", "deal", "bet 2", "raise 4", "raise 16"), ["fold", "call", "all-in"]),
        (("raise 10", "raise 30", "raise 90", "call", "deal"), ["check", "all-in"]),
    ],
)
def test_what_can_be_done(words, expected):
    """Templates by street and situation; two big blinds are the least, and with less than two pots left all-in."""
    betting = NoLimitBetting(sizes_of("standard"), 200)
    assert names(betting, done(betting, *words)) == expected


def test_an_all_in_that_is_called_is_run_out():
    """The remaining streets are dealt without a decision, and then the hands are compared."""
    betting = NoLimitBetting(sizes_of("fcpa"), 200)
    state, kinds = done(betting, "all-in", "call"), []
    while (here := betting.status(state)).kind == STREET:
        kinds.append(here.street)
        state = betting.after(state, DEAL)
    assert kinds == [0, 1, 2]
    assert (here.kind, here.street, here.paid) == (SHOWDOWN, 3, (200, 200))


def test_a_raise_raises_by_as_much_as_the_one_before():
    """Where a template's size is less than the rules allow it becomes the least that they do."""
    sizes = BetSizes.model_validate({**PRESETS["standard"], "jam_spr_threshold": 0})
    betting = NoLimitBetting(sizes, 1000)
    state = done(betting, "call", "check", "deal", "bet 5")
    assert names(betting, state)[2] == "raise 10"


def test_raises_end():
    """After as many raises as a street allows, nothing but all-in is left."""
    sizes = BetSizes.model_validate({**PRESETS["fcpa"], "max_raises": 1})
    betting = NoLimitBetting(sizes, 200)
    assert names(betting, done(betting, "raise 6")) == ["fold", "call", "all-in"]


def test_nearly_everything_is_everything():
    """A bet that would leave less than the abstraction cares for is all-in."""
    sizes = BetSizes.model_validate({**PRESETS["fcpa"], "all_in_share": 0.5})
    betting = NoLimitBetting(sizes, 30)
    assert names(betting, done(betting, "raise 6")) == ["fold", "call", "all-in"]
