"""Two policies on the same seeds: their partings, branches, and the intervals of their differences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pac.envs import BadParameter, find
from pac.training.compare.pairing import Pairing, SavedPolicy, random_policy
from pac.training.compare.seeds import common_task, compare, split_name
from pac.training.compare.statistics import paired
from pac.training.playing import evaluation_seed, play_episodes
from pac.training.trainer import Context, Timer
from pac.training.trainers import build_player, trainer_settings

TASK = find("frames")
pytestmark = pytest.mark.thorough
BOUNDED = 10.170626
"""The mean difference of returns of which many are at their upper bound: of min(500, normal) with means 650 and 600."""
SETTINGS = {**trainer_settings("ppo", TASK, {}), "threads": 1}


@pytest.fixture(scope="module")
def policy():
    """A policy with the weights in which a training begins."""
    player = build_player("ppo", Context(TASK, SETTINGS, "cpu", 0, Timer()))
    return SavedPolicy("one", "ppo", SETTINGS, player.state())


def changed(policy, by):
    """Return the policy with a bias of its output raised."""
    tensors = {name: tensor.clone() for name, tensor in policy.state[0].items()}
    name = next(name for name, tensor in tensors.items() if tensor.shape == (TASK.num_actions,))
    tensors[name][1] += by
    return replace(policy, label="other", state=(tensors, policy.state[1]))


def played(pairing):
    pairing.play(10_000)
    pairing.close()
    return pairing


def decided(side, at):
    return side.steps[at].decision


def recorded(side):
    return [step.moment.tobytes() for step in side.steps]


def test_a_run_never_parts_from_itself(policy):
    """On none of 100 seeds do the actions differ, and in lockstep every state is the same, byte for byte."""
    found = compare(TASK, (policy, policy), seeds=100, seed=0)
    assert [pair.parting for pair in found.pairs] == [None] * 100
    assert {pair.difference for pair in found.pairs} == {0.0}
    for env in (0, 99):
        pairing = played(Pairing(TASK, (policy, policy), found.seed, env))
        assert pairing.parting is None
        assert recorded(pairing.a) == recorded(pairing.b)


def test_they_part_where_two_evaluations_differ(policy):
    """With one weight changed, actions, partings and returns are those of an evaluation of each policy alone."""
    other, seed = changed(policy, 0.02), evaluation_seed(3)
    alone = [
        play_episodes("ppo", TASK, SETTINGS, one.state, episodes=8, seed=seed, keep=True) for one in (policy, other)
    ]
    found = compare(TASK, (policy, other), seeds=8, seed=3)
    parted = 0
    for pair, a, b in zip(found.pairs, *alone, strict=True):
        count = min(a.length, b.length)
        differs = np.flatnonzero(a.steps.actions[:count, 0] != b.steps.actions[:count, 0])
        expected = int(differs[0]) if len(differs) else None
        assert pair.parting == expected
        parted += expected is not None
        if pair.env < 3:
            pairing = played(Pairing(TASK, (policy, other), seed, pair.env))
            assert pairing.parting == expected
            assert pairing.a.steps[-1].gained == pytest.approx(a.returns[0])
            assert pairing.b.steps[-1].gained == pytest.approx(b.returns[0])
    assert parted > 0


def test_random_actions_are_those_of_the_table(policy):
    """A seed in lockstep has the random actions that it had among all seeds."""
    found = compare(TASK, (policy, random_policy()), seeds=4, seed=0)
    pairing = played(Pairing(TASK, found.policies, found.seed, 3))
    assert pairing.b.steps[-1].gained == pytest.approx(found.pairs[3].b.returns[0])
    assert pairing.parting == found.pairs[3].parting


def test_b_is_asked_at_the_states_of_a(policy):
    """A policy that follows decides in A's states, and is as far apart there as its probabilities say."""
    other = changed(policy, 0.5)
    pairing = played(Pairing(TASK, (policy, other), 5, 0, follow=True))
    assert recorded(pairing.a) == recorded(pairing.b)
    p, q = (side.steps[4].decision.probabilities for side in (pairing.a, pairing.b))
    assert pairing.divergences[4] == pytest.approx(float((p * np.log(p / q)).sum()))
    itself = played(Pairing(TASK, (policy, policy), 5, 0, follow=True))
    assert set(itself.divergences[:-1]) == {0.0}


def test_a_branch_leaves_the_original_future_as_it_was(policy):
    """A branch 100 steps ago takes the action there, and A's states stay the same bytes, in both pairings."""
    pairing = Pairing(find("frames:steps=130"), (policy, policy), 5, 0)
    pairing.play(10_000)
    before, at = recorded(pairing.a), pairing.length - 100
    assert at > 0
    own = int(decided(pairing.a, at).actions[0])
    branch = played(pairing.branch(at, np.array((own + 1) % TASK.num_actions)))
    assert recorded(pairing.a) == before
    assert recorded(branch.a) == before
    assert branch.parting == at
    assert recorded(branch.b)[: at + 1] == before[: at + 1]
    assert int(decided(branch.b, at).actions[0]) == (own + 1) % TASK.num_actions
    pairing.close()


def test_tasks_must_agree():
    """The error names both policies and what each of them plays."""
    with pytest.raises(BadParameter, match=r"a plays 'frames', b plays 'drmario'"):
        common_task(["a", "b"], [TASK, find("drmario")])
    assert split_name("runs/one@best") == ("runs/one", "best")
    assert split_name("one") == ("one", "last")


@pytest.mark.parametrize("count", [10, 20])
@pytest.mark.parametrize("kind", ["normal", "exponential", "difference", "bounded", "success", "rare"])
def test_the_interval_covers_the_mean(kind, count):
    """The 95 % interval contains the true mean in 92 to 98 % of 1,000 simulated comparisons, also near a bound.

    Of rare successes it does so more often: with ten pairs, most of which are equal, no interval can be exact.
    """
    random = np.random.default_rng(7)
    draw, mean = {
        "normal": (lambda: random.normal(1, 2, count), 1.0),
        "exponential": (lambda: random.exponential(1, count), 1.0),
        "difference": (lambda: random.exponential(2, count) - random.exponential(1, count), 1.0),
        "bounded": (
            lambda: np.minimum(500, random.normal(650, 150, count)) - np.minimum(500, random.normal(600, 150, count)),
            BOUNDED,
        ),
        "rare": (lambda: (random.random(count) < 0.95) - (random.random(count) < 0.9) * 1.0, 0.05),
        "success": (lambda: (random.random(count) < 0.5) - (random.random(count) < 0.3) * 1.0, 0.2),
    }[kind]
    shares = kind in {"success", "rare"}
    found = [paired(draw(), shares=shares) for _ in range(1_000)]
    most = 1.0 if kind == "rare" else 0.98
    assert 0.92 <= np.mean([one.low <= mean <= one.high for one in found]) <= most


def test_effect_sizes():
    """Cohen's d is that of pairs; equal pairs are neither better nor worse."""
    found = paired(np.array([1.0, 2.0, 3.0, 0.0]))
    assert found.mean == 1.5
    assert found.effect == pytest.approx(1.5 / np.std([1, 2, 3, 0], ddof=1))
    assert (found.better, found.worse) == (0.75, 0.0)
    assert paired(np.zeros(3)).effect == 0.0
