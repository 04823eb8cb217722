"""Groups of runs that differ only in their seeds, and their curves."""

import numpy as np
import pytest

from pac.training.runs.folder import RunFolder
from pac.training.runs.overview import overview_of
from pac.tui.curve_options import Overlay
from pac.tui.other_curves import read, version_of
from pac.tui.run_table import GroupOverview, experiment_of, grouped, order_of, sheet_of, value_of


@pytest.fixture
def runs(tmp_path):
    """Three seeds of one setting and a run of another one, the latter with the steps of the others and more."""
    found = []
    for name, rate, seed, best in (("a-s0", 1, 0, 10), ("a-s1", 1, 1, 20), ("a-s2", 1, 2, 60), ("b", 2, 0, 5)):
        run = RunFolder.create(tmp_path, name)
        config = {"seed": seed, "name": name, "settings": {"learning_rate": rate}}
        run.write_metadata({"task": "drmario", "trainer": "ppo", "state": "completed", "config": config})
        for step in (0, 100, 200):
            figures = {"seconds": step / 10, "return_mean": best * step / 200}
            run.append_metrics({"iterations": step, "steps": step, **figures})
        found.append(overview_of(run))
    return found


def test_seeds_of_one_experiment_are_one_row(runs):
    """With the mean of their curves and what they have in common."""
    seeds, single = grouped(runs)
    assert isinstance(seeds, GroupOverview)
    assert (seeds.name, single.name, len(seeds.members)) == ("a (3 seeds)", "b", 3)
    assert seeds.points("steps")[-1] == (200.0, 30.0)
    sheet = sheet_of(seeds)
    assert [value_of(sheet, name) for name in ("return", "learning_rate", "seed")] == [30.0, 1, None]
    assert order_of([sheet_of(run) for run in runs], "-return") == [3, 0, 1, 2]


@pytest.mark.parametrize("arguments", [["--seed", "3"], ["--seed=3"], ["env.seed=3"]])
def test_the_seed_of_a_script_is_in_its_arguments(tmp_path, arguments):
    """Scripts that differ in nothing else are one experiment."""
    known = []
    for number, given in enumerate((arguments, [one.replace("3", "4") for one in arguments], ["--lr", "3"])):
        run = RunFolder.create(tmp_path, f"run-{number}")
        run.write_metadata({"task": "x", "trainer": "script", "config": {"arguments": ["train.py", *given]}})
        known.append(experiment_of(overview_of(run)))
    assert known[0] == known[1] != known[2]


def test_the_mean_of_a_group_has_a_band(runs):
    """Of one standard deviation over the seeds, at the steps and the times of the runs."""
    seeds = grouped(runs)[0]
    found = read(Overlay(seeds.name, seeds.members[0], seeds.members))
    mean, (low, high) = found.curves["return_mean"], found.edges["return_mean"]
    assert (mean.steps[-1], mean.seconds[-1], mean.values[-1]) == (200, 20, 30)
    deviation = np.std([10, 20, 60], ddof=1)
    assert (low.values[-1], high.values[-1]) == pytest.approx((30 - deviation, 30 + deviation))
    before = version_of(found)
    RunFolder(runs[2].folder).append_metrics({"iterations": 300, "steps": 300, "return_mean": 1.0})
    assert version_of(found) != before
