"""A trained strategy as an opponent."""

import json
import random

import numpy as np
import pytest

from pac.envs import BadParameter, find
from pac.envs.poker.live import LiveHand, rules_of
from pac.envs.trust import NotTrusted, accept
from pac.training.mccfr.playing.opponent import opponent_of, run_for
from pac.training.mccfr.playing.ranges import probabilities
from pac.training.mccfr.playing.trained import trained

from ..solved import solved


@pytest.mark.parametrize("task", ["kuhn", "leduc:suits=false", "liars_dice:faces=2"])
def test_it_plays_the_trained_strategy(tmp_path, task):
    """At every decision of many hands, with its own cards."""
    found = trained(solved(tmp_path, task=task, iterations=5))
    opponent, generator = opponent_of(found), random.Random(1)
    rules = rules_of(found.task)
    for _ in range(20):
        hand = LiveHand(rules, generator)
        while not hand.over:
            assert hand.node is not None
            seat = hand.status.player
            chances = opponent(hand, seat)
            bucket = np.array([hand.bucket(seat)])
            assert chances == pytest.approx(probabilities(found.game, found.strategy, hand.node, bucket)[0])
            hand.act(hand.chosen_by(opponent))


def test_it_can_resolve(tmp_path):
    """Its probabilities sum to 1, and a second request returns the same."""
    found = trained(solved(tmp_path, iterations=2))
    opponent = opponent_of(found, {"iterations": "50"})
    hand = LiveHand(rules_of(found.task), random.Random(2))
    chances = opponent(hand, 0)
    assert chances.sum() == pytest.approx(1)
    assert (opponent(hand, 0) == chances).all()


def test_latest_is_the_latest_run_of_the_game(tmp_path):
    """Later runs of other games do not count; without a run, the error contains the command that trains one."""
    solved(tmp_path, "old")
    solved(tmp_path, "dice", task="liars_dice:faces=2", iterations=1)
    assert run_for(find("kuhn"), "latest", tmp_path).name == "old"
    for name in ("latest", "dice"):
        with pytest.raises(BadParameter, match="pac-tui run --task leduc --headless --seconds 10"):
            run_for(find("leduc"), name, tmp_path)


def test_a_run_that_names_other_code_is_not_loaded(tmp_path):
    """Only built-in games can be solved; no code that a run names is imported or called."""
    folder = solved(tmp_path, "theirs", iterations=1)
    card = folder.metadata()
    card["config"] = {**card["config"], "task": f"os:system:command=touch {tmp_path / 'created'}"}
    (folder.path / "run.json").write_text(json.dumps(card))
    with pytest.raises(BadParameter, match="theirs must be of a built-in game, and is of the task 'os:system"):
        trained(folder)
    with pytest.raises(BadParameter, match="theirs has no checkpoint of a solver of kuhn"):
        run_for(find("kuhn"), "theirs", tmp_path)
    assert not (tmp_path / "created").exists()


def test_a_run_that_names_a_file_needs_trust(tmp_path):
    """Its bet sizes are read only if somebody vouches for the run."""
    folder = solved(tmp_path, "theirs", iterations=1)
    card = folder.metadata()
    card["config"] = {**card["config"], "task": f"holdem:betting={tmp_path / 'none.yaml'}"}
    (folder.path / "run.json").write_text(json.dumps(card))
    with pytest.raises(NotTrusted, match=r"run\.json names the task.*whose betting is a file"):
        trained(folder)
    with pytest.raises(BadParameter, match=r"none\.yaml"):
        trained(folder, accept)
