"""`pac-tui compare`: the table, and two policies side by side."""

from __future__ import annotations

import json

import pytest

from pac.envs import find
from pac.training.compare.pairing import HUMAN, Pairing, SavedPolicy, unknown_policy
from pac.training.compare.seeds import compare
from pac.training.runs.checkpoint import save
from pac.training.runs.folder import RunFolder
from pac.training.runs.identity import run_identity
from pac.training.trainer import Context, Timer
from pac.training.trainers import build_player, trainer_settings
from pac.tui.cli.commands import main
from pac.tui.compare.app import CompareApp, SeedList
from pac.tui.dialogs.lockstep import Lockstep

from .fake_session import run, screen_text, until

TASK = find("frames")
pytestmark = pytest.mark.thorough
SETTINGS = {**trainer_settings("ppo", TASK, {}), "threads": 1}


def policy(seed=0):
    player = build_player("ppo", Context(TASK, SETTINGS, "cpu", seed, Timer()))
    return SavedPolicy(f"seed{seed}", "ppo", SETTINGS, player.state())


def saved(runs_dir, name, task="frames"):
    """Write a run with two checkpoints, of the same network with other weights."""
    made = RunFolder.create(runs_dir, name)
    config, identity = {"task": task, "trainer": "ppo", "seed": 0}, run_identity(find(task), "ppo")
    made.write_metadata({"id": name, "state": "completed", "config": config, **identity})
    for step in (5, 9):
        tensors = {key: tensor.numpy() for key, tensor in policy(step).state[0].items()}
        save(made.checkpoints, step, tensors, {**identity, "data": {}})


def test_the_command_prints_the_paired_differences(tmp_path, capsys):
    """The JSON has the figures of two checkpoints of a run with interval and effect, and all seeds; others fail."""
    saved(tmp_path, "one")
    saved(tmp_path, "longer", "frames:steps=90")
    where = ["--runs-dir", str(tmp_path)]
    assert main(["compare", "one@5", "one", "--seeds", "3", "--json", *where]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["steps"] for each in found["policies"]] == [5, 9]
    figure = found["figures"]["return"]
    assert figure["low"] <= figure["mean"] <= figure["high"]
    assert figure["b"] - figure["a"] == pytest.approx(figure["mean"])
    differences = [abs(each["difference"]) for each in found["seeds"]]
    assert differences == sorted(differences, reverse=True)
    assert main(["compare", "one", "random", "--seeds", "2", "--headless", *where]) == 0
    assert "B: random" in capsys.readouterr().out
    assert main(["compare", "one", "longer", "--headless", *where]) == 2
    assert "longer plays 'frames:steps=90'" in capsys.readouterr().err


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_a_seed_is_stepped_side_by_side(size):
    """Enter opens a seed; keys step, jump to the parting, ask B at A's states, and branch off, and no line is cut."""
    app = CompareApp(lambda: SeedList(compare(TASK, (policy(0), policy(1)), seeds=2, seed=0)))
    async with run(app, size) as pilot:
        await until(lambda: isinstance(app.screen, SeedList), "the list")
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, Lockstep), "the seed")
        lockstep = app.screen
        assert isinstance(lockstep, Lockstep)
        await pilot.press("right", "right", "left")
        await until(lambda: lockstep.view.at == 1, "one step")
        await pilot.press("end")
        await until(lambda: lockstep.view.at == lockstep.view.pairing.length == 60, "the end")
        await pilot.press("w", "home")
        await until(lambda: lockstep.view.pairing.follow and lockstep.view.at == 0, "B at A's states")
        await pilot.press("k")
        await until(lambda: lockstep.view.pairing.ended and not lockstep.view.waiting, "the highest divergence")
        best = max(lockstep.view.pairing.divergences[:-1])
        assert lockstep.view.pairing.divergences[lockstep.view.at] == best
        assert {sum(part.cell_length for part in row) for row in lockstep.lines.rows[1:-1]} == {size[0]}
        await pilot.press("b")
        await until(lambda: app.screen is not lockstep, "the actions")
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, Lockstep), "the branch")
        branch = app.screen
        assert isinstance(branch, Lockstep)
        assert branch.view.pairing.parting == lockstep.view.at
        await pilot.press("q", "q")
        await until(lambda: isinstance(app.screen, SeedList), "the list again")
        assert "Mean over the seeds" in screen_text(app)


async def test_a_person_plays_beside_a_policy():
    """Keys play the actions of that name, one step of both sides each; Tab begins the next seed."""
    pairing = Pairing(TASK, (policy(0), unknown_policy(HUMAN)), 0, 0)
    app = CompareApp(lambda: Lockstep(pairing, seeds=range(2)))
    async with run(app, (120, 40)) as pilot:
        await until(lambda: isinstance(app.screen, Lockstep), "the seed")
        lockstep = app.screen
        assert isinstance(lockstep, Lockstep)
        assert "your turn" in screen_text(app)
        await pilot.press("right", "left")
        await until(lambda: lockstep.view.at == 2, "two steps")
        decisions = [step.decision for step in lockstep.view.pairing.b.steps[:2]]
        taken = [TASK.action_names[int(decision.actions[0])] for decision in decisions if decision is not None]
        assert taken == ["right", "left"]
        await pilot.press("a")
        await until(lambda: app.screen is not lockstep, "the actions")
        await pilot.press("enter")
        await until(lambda: lockstep.view.at == 3, "the third step")
        await pilot.press("tab")
        await until(lambda: lockstep.view.pairing.env == 1 and lockstep.view.at == 0, "the next seed")


def test_a_person_needs_the_screen(tmp_path, capsys):
    """Errors say what cannot be compared, and why."""
    saved(tmp_path, "one")
    assert main(["compare", "one", "human", "--json", "--runs-dir", str(tmp_path)]) == 2
    assert "a person plays on the screen" in capsys.readouterr().err
