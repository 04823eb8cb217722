"""The regret per iteration measures convergence where NashConv is too expensive."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pac.envs.poker.small import leduc, liars_dice
from pac.envs.poker.tree import DECISION
from pac.training.mccfr import trainer
from pac.training.mccfr.settings import MccfrSettings
from pac.training.mccfr.solving.exact import average_strategy, nash_conv
from pac.training.mccfr.solving.matching import ALPHA, weight_of
from pac.training.mccfr.trainer import average_regret, iterations_weight

from .tables import learned
from .test_trainer import solving


def by_rows(game, table):
    """Return the sum of the largest regrets, one information set after the other."""
    total = 0.0
    for node in map(int, np.flatnonzero(game.tree.kind == DECISION)):
        for bucket in range(game.buckets[game.tree.street[node]]):
            first = game.entry(node, bucket)
            total += max(0.0, float(table[first : first + int(game.tree.degree[node]), 0].max()))
    return total


@pytest.mark.parametrize("game", [leduc(), liars_dice(3)], ids=["leduc", "dice"])
def test_it_is_the_sum_over_all_information_sets(game):
    """Each has its own entries and counts once."""
    table, _ = learned(game, 500)
    assert average_regret(game, table, 500) == pytest.approx(by_rows(game, table) / 500)


def test_a_large_table_is_measured_by_some_of_its_buckets(monkeypatch):
    """If all buckets are equal, the result is the same."""
    game, table = leduc(), np.zeros((leduc().entries, 2), np.float32)
    generator = np.random.default_rng(0)
    for street, player in np.ndindex(2, 2):
        first, width = game.entry_base[street, player], game.tree.width[street, player]
        part = table[first : first + game.buckets[street] * width, 0].reshape(game.buckets[street], width)
        part[...] = generator.normal(size=width)
    whole = average_regret(game, table, 1)
    monkeypatch.setattr(trainer, "MAX_ENTRIES", 300)
    assert average_regret(game, table, 1) == pytest.approx(whole)


@pytest.mark.thorough
@pytest.mark.parametrize("weighting", ["vanilla", "linear", "discounted"])
def test_it_is_above_nash_conv_and_falls_with_it(weighting):
    """For every weighting of the iterations."""
    game, settings, found = leduc(), MccfrSettings(weighting=weighting, discount_interval=500), []
    for iterations in (1000, 10_000, 100_000):
        table, _ = learned(game, iterations, weighting=weighting, interval=500)
        found.append(average_regret(game, table, iterations_weight(settings, iterations)))
        assert nash_conv(game, average_strategy(game, table)) < found[-1] < 20
    assert found[0] > 2 * found[1] > 4 * found[2]


@given(st.integers(0, 400), st.integers(1, 50))
def test_discounts_weight_the_iterations(iterations, interval):
    """The result is that of adding up one iteration after the other."""
    weight = 0.0
    for number in range(iterations):
        period, begun = divmod(number, interval)
        if period and not begun:
            weight *= period**ALPHA / (period**ALPHA + 1)
        weight += 1
    assert weight_of(iterations, interval) == pytest.approx(weight)


def test_a_game_that_is_too_large_for_nash_conv_reports_regret(monkeypatch):
    """From the first iteration on."""
    monkeypatch.setattr(trainer, "MOST_EXACT", 0)
    with solving(batch=100) as (solver, backend):
        metrics = solver.iterate()
        table = backend().buffer["table"][0, 0]
        assert metrics["regret"] == solver.finish()["regret"] == average_regret(leduc(), table, 100)
        assert "nash_conv" not in metrics
