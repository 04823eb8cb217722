"""The screen of a grid, over real trainings, and the results over seeds."""

import json

import numpy as np
import pytest

from pac.envs.trust import accept
from pac.training.grid.plan import planned
from pac.training.grid.queue import GridQueue, GridRun
from pac.training.runs.folder import RunFolder
from pac.training.runs.overview import overview_of
from pac.tui.cli.grid import session_of
from pac.tui.grid.results import Seen, facts_of, groups_of, spread
from pac.tui.grid.screen import GridApp

from ..waiting import until as waited
from .commands import QUICK, start
from .fake_session import run, seen


def trained(tmp_path, curves):
    """Runs with known curves: a list of returns every 100 steps, by the setting and the seed."""
    found = []
    given = {"task": "CartPole-v1", "steps": 1000, "ppo.clip": "0.1,0.2", "name": "g", "runs_dir": tmp_path}
    grid = planned(given, (0, 1), file=None, vouch=accept)
    for member in grid.members:
        folder = RunFolder.create(tmp_path, member.name)
        folder.write_metadata({"id": member.name, "task": "CartPole-v1", "trainer": "ppo", "state": "completed"})
        values = curves[member.settings["clip"], member.config.seed]
        for at, value in enumerate(values):
            folder.append_metrics({"steps": 100 * at, "seconds": at, "return_mean": value})
        found.append(Seen(GridRun(member, "completed"), overview_of(folder)))
    return found


@pytest.fixture
def four(tmp_path):
    return trained(tmp_path, {("0.1", 0): [0, 10, 20], ("0.1", 1): [0, 30], ("0.2", 0): [1, 2], ("0.2", 1): []})


def test_curves_of_seeds_have_a_mean_and_a_deviation(four):
    """Where one has no values any more, they are those of the other."""
    x, mean, deviation = groups_of(four)[0].band()
    assert (x[0], x[-1], mean[0], mean[-1], deviation[-1]) == (0, 200, 0, 20, 0)
    at = int(np.searchsorted(x, 100))
    assert mean[at - 1] == pytest.approx(20, abs=1)
    assert deviation[at - 1] == pytest.approx(200**0.5, abs=1)  # of the sample 10, 30


def test_results_of_seeds_are_spread(four):
    """The last value of each; a run without any is left out."""
    first, second = groups_of(four)
    assert (first.name, second.name) == ("clip 0.1", "clip 0.2")
    assert spread(first) == {
        "seeds": 2,
        "mean": 25,
        "deviation": pytest.approx(50**0.5),
        "lowest": 20,
        "highest": 30,
    }
    assert spread(second) == {"seeds": 1, "mean": 2, "deviation": None, "lowest": 2, "highest": 2}
    facts = facts_of("g", four)
    assert [one["last"] for one in facts["runs"]] == [20, 30, 2, None]
    assert facts["groups"][0]["settings"] == "clip 0.1"


@pytest.mark.session
async def test_runs_are_shown_while_they_are_trained(tmp_path):
    """Enter shows the selected one; `q` leaves."""
    given = dict(zip(("task", "trainer", "backend", "num_envs"), QUICK[1::2], strict=True))
    grid = planned({**given, "seconds": 60.0, "name": "g", "runs_dir": tmp_path}, (0, 1), file=None, vouch=accept)
    queue = GridQueue(grid.members, 2)
    queue.start()
    try:
        app = GridApp("g", queue)
        async with run(app, (120, 40)) as pilot:
            await seen(app, "seed 1", "live", "0 of 2 done, 2 training", "mean over seeds", "k steps")
            await pilot.press("down", "enter")
        assert app.chosen is queue.runs[1]
        shown, trained_by = session_of(queue.runs[1]), queue.runs[1].session
        assert shown is not None
        assert trained_by is not None
        assert shown.pid == trained_by.pid
        app = GridApp("g", queue, "g-s1")
        async with run(app, (80, 24)) as pilot:
            await seen(app, "seed 0", "live")
            await pilot.press("q")
        assert app.chosen is None
    finally:
        queue.stop()
        waited(lambda: queue.wait(0.1))
    assert session_of(queue.runs[1]) is None  # it ended between the key and now: the others must go on


@pytest.mark.session
def test_several_seeds_from_the_command_line(shared, tmp_path):
    """One JSON object at the end, and a run of each."""
    command = ("run", "--headless", *QUICK, "--steps", "400", "--seeds", "3,5", "--name", "g", "--json")
    process = start(command, shared, tmp_path)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    found = json.loads(out)
    assert [(one["run"], one["seed"], one["state"]) for one in found["runs"]] == [
        ("g-s3", 3, "completed"),
        ("g-s5", 5, "completed"),
    ]
    assert found["groups"][0]["seeds"] == 2
    assert (tmp_path / "runs" / "g-s5" / "run.json").exists()
