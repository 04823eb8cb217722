"""Runs of the solver, measured from their checkpoints."""

import json

import pytest

from pac.envs import BadParameter, UnknownName
from pac.envs.poker.small import kuhn
from pac.training.mccfr.playing.evaluation import evaluate
from pac.training.mccfr.playing.trained import trained
from pac.training.mccfr.solving.exact import nash_conv
from pac.training.mccfr.solving.full import Cfr
from pac.training.runs.checkpoint import NoCheckpoint
from pac.training.runs.folder import RunFolder

from ..solved import solved


def test_the_strategy_of_the_checkpoint_is_measured(tmp_path):
    """Its NashConv, and its winnings against a uniform player."""
    found = evaluate(solved(tmp_path), tmp_path, hands=100)
    cfr = Cfr(kuhn(), "cfr+")
    cfr.iterate(50)
    assert found.nash_conv == pytest.approx(nash_conv(kuhn(), cfr.average()))
    assert found.won.mean > 0.1
    assert (found.iterations, found.won.hands, found.local_best_response) == (50, 0, None)
    plain = json.loads(json.dumps(found.plain()))
    assert (plain["won"]["mean"], plain["hands_requested"], plain["hands_played"]) == (found.won.mean, 100, 0)


def test_runs_play_each_other(tmp_path):
    """One wins what the other loses; a run against itself wins nothing."""
    good, poor = solved(tmp_path, "good"), solved(tmp_path, "poor", iterations=2)
    one, other = evaluate(good, tmp_path, hands=2, against="poor"), evaluate(poor, tmp_path, hands=2, against="good")
    assert one.won.mean == pytest.approx(-other.won.mean)
    assert evaluate(good, tmp_path, hands=2, against="good").won.mean == pytest.approx(0)


@pytest.mark.thorough
def test_a_resolved_strategy_is_measured(tmp_path):
    """Re-solving every decision makes a poor strategy less exploitable."""
    run = solved(tmp_path, iterations=2)
    plain = evaluate(run, tmp_path, hands=2)
    thinking = evaluate(run, tmp_path, hands=2, resolver={})
    assert thinking.nash_conv is not None
    assert plain.nash_conv is not None
    assert thinking.nash_conv < plain.nash_conv


def test_the_resolvers_settings_are_checked(tmp_path):
    """The error names the setting and the value."""
    run = solved(tmp_path)
    with pytest.raises(UnknownName, match="max_depth"):
        evaluate(run, tmp_path, hands=2, resolver={"depth": "3"})
    with pytest.raises(BadParameter, match=r"resolver\.max_depth"):
        evaluate(run, tmp_path, hands=2, resolver={"max_depth": "0"})


def test_runs_of_other_games_and_trainers_are_refused(tmp_path):
    """The error names both games, or the trainer."""
    run = solved(tmp_path)
    solved(tmp_path, "dice", task="liars_dice:faces=2")
    with pytest.raises(BadParameter, match=r"small.*kuhn.*dice.*liars_dice"):
        evaluate(run, tmp_path, hands=2, against="dice")
    other = RunFolder.create(tmp_path, "other")
    other.write_metadata({"config": {"task": "kuhn", "trainer": "ppo"}})
    with pytest.raises(BadParameter, match="ppo"):
        trained(other)


def test_an_unknown_opponent_is_named(tmp_path):
    """The error lists all bots and the runs of the same game; a run that cannot be read is left out."""
    run = solved(tmp_path)
    solved(tmp_path, "dice", task="liars_dice:faces=2")
    for name, task, trainer in (("network", "kuhn", "ppo"), ("empty", "kuhn", "mccfr"), ("code", "os:abort", "mccfr")):
        RunFolder.create(tmp_path, name).write_metadata({"config": {"task": task, "trainer": trainer}})
    (RunFolder.create(tmp_path, "broken").path / "run.json").write_text("{")
    with pytest.raises(UnknownName) as caught:
        evaluate(run, tmp_path, hands=2, against="nobody")
    assert str(caught.value).endswith(": allin, call, fold, small, uniform.")


def test_a_damaged_checkpoint_is_skipped_and_reported(tmp_path):
    """The one before it is used; if there is none, that is an error."""
    run = solved(tmp_path)
    newer = run.checkpoints / "step-000000000099"
    newer.mkdir()
    (newer / "checkpoint.json").write_text("{}")
    found = trained(run)
    assert found.iterations == 50
    assert "step-000000000099" in found.skipped[0]
    for path in run.checkpoints.glob("*/tensors.safetensors"):
        path.write_bytes(b"")
    with pytest.raises(NoCheckpoint):
        trained(run)
