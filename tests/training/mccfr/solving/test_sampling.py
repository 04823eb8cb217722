"""Monte Carlo CFR, compared with a slow implementation and published convergence; resumed, and on old tables."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pac.envs import UnknownName
from pac.envs.poker.small import kuhn, leduc, liars_dice
from pac.training.mccfr.solving.exact import average_strategy, nash_conv
from pac.training.mccfr.solving.sampling import METHODS, WEIGHTINGS, SamplingSolver

from ..tables import learned, tables
from ..twin import Twin

KUHN, LEDUC, DICE = kuhn(), leduc(), liars_dice()


def label(parameter):
    """Return the text of a parameter in a test's name."""
    return getattr(parameter, "name", str(parameter))


def conv(game, table):
    """Return the NashConv of a table's average strategy."""
    return nash_conv(game, average_strategy(game, table))


@pytest.mark.parametrize(("game", "iterations"), [(KUHN, 300), (LEDUC, 60), (liars_dice(2), 40)], ids=label)
def test_a_plain_recursion_gives_the_same_tables(game, iterations):
    """Regrets, sums and updates equal those of the paper's recursion, bit for bit."""
    twin = Twin(game, seed=7)
    for iteration in range(iterations):
        twin.iterate(iteration)
    table, updates = learned(game, iterations, seed=7)
    assert np.array_equal(updates, twin.updates)
    assert np.array_equal(table, twin.table)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("game", "iterations", "least", "most"),
    [
        (KUHN, 1_000, 0.02, 0.1),
        (KUHN, 100_000, 0.0015, 0.011),
        (LEDUC, 1_000, 1.8, 2.5),
        pytest.param(LEDUC, 100_000, 0.09, 0.15, marks=pytest.mark.thorough),
        pytest.param(LEDUC, 1_000_000, 0.025, 0.05, marks=pytest.mark.slow),
        (DICE, 100, 1.4, 1.6),
        pytest.param(DICE, 10_000, 0.2, 0.32, marks=pytest.mark.thorough),
    ],
    ids=label,
)
def test_external_sampling_converges_as_known(game, iterations, least, most):
    """The median NashConv of three seeds is that of other implementations.

    With regrets weighted by own reach, Leduc stays at 1.4; with the average taken at the traverser's decisions, at .3.
    """
    found = np.median([conv(game, learned(game, iterations, seed)[0]) for seed in range(3)])
    assert least < found < most


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("game", "iterations", "most", "options"),
    [
        (LEDUC, 1_000_000, 0.6, {"method": "outcome"}),  # OpenSpiel's is at .30 by then
        (KUHN, 300_000, 0.04, {"method": "outcome"}),
        *((LEDUC, 300_000, 0.15, {"weighting": weighting}) for weighting in WEIGHTINGS),
    ],
    ids=label,
)
def test_other_methods_and_weightings_converge(game, iterations, most, options):
    """Outcome sampling is noisier, and arrives."""
    assert conv(game, learned(game, iterations, **options)[0]) < most


@given(st.sampled_from(sorted(METHODS)), st.sampled_from(WEIGHTINGS), st.lists(st.integers(1, 400), max_size=5))
def test_batches_do_not_matter(method, weighting, sizes):
    """However iterations are cut, and whichever sampler goes on, the tables are the same, bit for bit."""
    options = {"method": method, "weighting": weighting, "interval": 150}
    table, updates = tables(KUHN)
    done = 0
    for size in sizes:
        SamplingSolver(KUHN, table, updates, 3, **options).run(done, size)
        done += size
    whole, counted = learned(KUHN, done, 3, **options)
    assert np.array_equal(table, whole)
    assert np.array_equal(updates, counted)


@pytest.mark.parametrize("method", METHODS)
def test_updates_are_counted(method):
    """What a batch says it updated is what the rows say, and more is visited than updated."""
    table, updates = tables(LEDUC)
    batch = SamplingSolver(LEDUC, table, updates, 1, method=method).run(0, 1_000)
    assert batch.updates == updates.sum()
    assert batch.nodes > batch.updates
    assert updates.min() >= 0


@pytest.mark.parametrize(
    ("game", "value"), [(KUHN, -1 / 18), pytest.param(LEDUC, -0.085606, marks=pytest.mark.thorough)], ids=label
)
def test_the_utility_nears_the_value_of_the_game(game, value):
    """What player 0 wins while both learn is, in the mean, the value of the game."""
    table, updates = tables(game)
    sampler = SamplingSolver(game, table, updates, 2)
    sampler.run(0, 100_000)
    assert sampler.run(100_000, 400_000).utility_sum / 400_000 == pytest.approx(value, abs=0.02)


@pytest.mark.thorough
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("old", [2.0**20, 2.0**24, 2.0**34])
def test_every_visit_counts_however_many_there_were(method, old):
    """To a sum of 2^24 float32 adds no 1; what is learned after so many visits is added in full."""
    few, _ = learned(KUHN, 1_000)
    many, exact = few.copy(), np.zeros(KUHN.entries)
    many[:, 1] = old
    for table, pieces in ((many, 1), (few, 100)):
        sampler = SamplingSolver(KUHN, table, np.zeros(KUHN.rows, np.uint32), 1, method=method)
        for piece in range(pieces):
            few[:, 1] = 0
            sampler.run(1_000 + piece * 100_000 // pieces, 100_000 // pieces)
            exact += few[:, 1]
    np.testing.assert_allclose(many[:, 1] - np.float32(old), exact, atol=np.spacing(np.float32(old)), rtol=1e-5)


def test_tables_are_discounted_at_each_interval():
    """Before iteration k of every interval k, by the factors of the paper for alpha 1.5, beta 0 and gamma 2."""
    found, counted = tables(LEDUC)
    sampler = SamplingSolver(LEDUC, found, counted, 3, weighting="discounted", interval=7)
    for first, end in pairwise((0, 6, 7, 20, 21, 40)):
        sampler.run(first, end - first)
    table, updates = tables(LEDUC)
    for iteration in range(40):
        period, rest = divmod(iteration, 7)
        if period and not rest:
            regrets, sums = table.T
            regrets *= np.where(regrets > 0, period**1.5 / (period**1.5 + 1), 0.5)
            sums *= (period / (period + 1)) ** 2
        SamplingSolver(LEDUC, table, updates, 3).run(iteration, 1)
    np.testing.assert_allclose(found, table, rtol=1e-4, atol=1e-5)


def test_linear_iterations_weigh_more():
    """Iteration k adds k + 1 times what it would: after one, tables are equal; the second one adds twice."""
    plain, _ = learned(KUHN, 1)
    linear, _ = learned(KUHN, 1, weighting="linear")
    assert np.array_equal(plain, linear)
    assert learned(KUHN, 2, weighting="linear")[0][:, 1].sum() > 1.3 * learned(KUHN, 2)[0][:, 1].sum()


def test_unknown_names_are_refused():
    """A method or a weighting that does not exist is named, and those that do."""
    with pytest.raises(UnknownName, match="external, outcome"):
        learned(KUHN, 1, method="chance")
    with pytest.raises(UnknownName, match="vanilla"):
        learned(KUHN, 1, weighting="liner")
