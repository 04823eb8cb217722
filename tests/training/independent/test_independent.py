"""Independent learners in one process: the sequential reference."""

from pathlib import Path

import numpy as np
import pytest
import torch

from pac.envs import BadParameter, find
from pac.training.independent.agent import AgentCounts, due
from pac.training.independent.evaluate import IndependentPlayer
from pac.training.independent.settings import IndependentSettings

from ...backends import kinds
from ..alone import context, started
from .harness import SMALL, equal, run, tensors, training


def test_agents_have_their_own_networks_and_learn_their_own_weights():
    """They begin with different weights, and only those of agents that learn change."""
    with training() as trainer:
        before = tensors(trainer)
        metrics = run(trainer, 2)
        after = tensors(trainer)
    names = [f"agent{number}.policy.advantage.weight" for number in range(2)]
    assert not torch.equal(*(before[name] for name in names))
    assert not any(torch.equal(before[name], after[name]) for name in names)
    assert metrics["updates"] == metrics["learner1/updates"] > 0
    assert {"loss", "learner1/loss", "policy_lag", "learner1/epsilon"} <= metrics.keys()


@pytest.mark.thorough
def test_an_agent_does_not_depend_on_what_the_others_learn(monkeypatch):
    """One that does not learn leaves the other's samples and random numbers alone, until their actions differ."""
    results = []
    for idle in (False, True):
        with training(epsilon=1.0) as trainer:
            if idle:
                monkeypatch.setattr(trainer._agents[1], "due", lambda _decisions: 0)
            run(trainer, 2)
            results.append(tensors(trainer))
    own = [{name: value for name, value in one.items() if name.startswith("agent0.")} for one in results]
    assert equal(*own)
    assert not equal(*results)


@pytest.mark.thorough
def test_with_another_number_of_environments_the_old_replay_is_sampled():
    """Learning and its random numbers go on at once, and the old ring is released when the new one is full."""
    with training(replay_size=300, iterations=2) as trainer:
        agent = trainer._agents[0]
        before = agent.counts
        trainer.owner.open(2)
        assert len(agent.learner.source.replays) == 1
        trainer._open_replay()
        assert agent.counts.generator == before.generator
        run(trainer, 1)
        assert agent.counts.updates > before.updates
        run(trainer, 4)
        assert len(agent.learner.source.replays) == 1


@pytest.mark.thorough
def test_targets_are_copied_after_target_update_decisions():
    """An agent takes a gradient step for 16 of them."""
    with training(target_update=64) as trainer:
        learner, copied = trainer._agents[0].learner, []
        learner.update_target = lambda: copied.append(learner.updates)
        run(trainer, 2)
        assert copied == list(range(4, learner.updates + 1, 4)) != []


@pytest.mark.thorough
def test_each_agent_has_a_curve_of_its_returns(monkeypatch):
    """The mean over the episodes that its seat has ended."""
    with training() as trainer:
        advance = trainer._envs.advance
        ended: list[list[float]] = [[], []]

        def counting(slot):
            advance(slot)
            newest = trainer._envs.order.newest
            for row in np.flatnonzero(trainer._envs.buffer["terminated"][newest]):
                ended[row % 2].append(trainer._envs.buffer["episode_return"][newest, row])

        monkeypatch.setattr(trainer._envs, "advance", counting)
        metrics = run(trainer, 4)
    assert len(ended[0]) == len(ended[1]) > 0
    assert metrics["agent_return"] == pytest.approx(np.mean(ended[0]))
    assert metrics["learner1/agent_return"] == pytest.approx(np.mean(ended[1]))


@pytest.mark.parametrize(
    ("decisions", "wanted"), [(0, 5), (199, 5), (200, 5), (203, 5), (204, 7), (211, 9), (1_000, 405)]
)
def test_gradient_steps_follow_the_replay_ratio(decisions, wanted):
    """Two per four decisions after the first 200, and five were taken before."""
    settings = IndependentSettings(train_frequency=4, gradient_steps=2)
    assert due(AgentCounts(learn_from=200, updates_before=5), settings, decisions) == wanted


@pytest.mark.thorough
def test_trained_agents_play_without_learning():
    """Always the best action, each by its own network."""
    with training(iterations=2) as trainer:
        saved, data = trainer.state()
    given = context(find("treasure:agents=2"), trainer="independent", **SMALL)
    with started(IndependentPlayer, given, 3) as player:
        player.load_state(saved, data)
        player.iterate()
        buffer, newest = player._envs.buffer, player._envs.order.acted(player._envs.order.newest)
        observation = torch.from_numpy(buffer["observation"][newest].reshape(3, 2, -1))
        for seat in range(2):
            best = player._policies[seat](observation[:, seat]).argmax(-1)
            assert np.array_equal(best.numpy(), buffer["action"][newest].reshape(3, 2)[:, seat])
        assert [agent.counts.updates for agent in player._agents] == [counts["updates"] for counts in data["agents"]]


def test_actions_of_several_parts_are_refused():
    """With a sentence that names another algorithm."""
    with pytest.raises(BadParameter, match="train tasks with other actions with ppo"), training("Pendulum-v1"):
        pass


@pytest.mark.thorough
def test_an_agent_that_dies_early_learns_until_then(monkeypatch):
    """In PettingZoo's parallel environments, agents leave one by one; what follows is worth nothing to them."""
    monkeypatch.syspath_prepend(str(Path(kinds.__file__).parent))
    with training("kinds:Tag", learning_starts=40, replay_size=200, gamma=0.5, epsilon=1.0) as trainer:
        metrics = run(trainer, 1)
        decisions = trainer.decisions / trainer.steps
        ends = [trainer._agents[seat].learner.source.replays[0].sample(64) for seat in range(2)]
    assert decisions.tolist() == pytest.approx([4, 4 * 3 / 5], rel=0.05)
    assert metrics["updates"] > metrics["learner1/updates"] > 0
    for length, drawn in zip((5, 3), ends, strict=True):
        last = drawn.observations[:, 0] == length - 1
        assert last.any()
        assert np.array_equal(drawn.discounts, np.where(last, 0.0, 0.5))
