"""What is seen of the optimizers and weights of a script: what is healthy, and what is not."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

from pac.training.watching import called_weights, learning_probe
from pac.training.watching.called_weights import SAME_COPY, UNCHANGED, CalledWeights
from pac.training.watching.learning_probe import (
    GROWTH,
    LAST,
    LEAST_RATIO,
    LEAST_SAMPLES,
    LEFT,
    NO_GRADIENT,
    NOT_FINITE,
    RATIO,
    UNTRAINED,
    UPDATES,
    LearningProbe,
)
from pac.training.watching.linear_calls import OFTEN, RANK
from pac.training.watching.policy import GREEDY, Choices

STEPS = 2 * (LEAST_SAMPLES + LAST)  # every second one is looked at


@pytest.fixture(autouse=True)
def all_is_seen(monkeypatch):
    """All steps that can be are looked at, and weights need not be followed for long."""
    monkeypatch.setattr(learning_probe, "PERIOD", 0.0)
    monkeypatch.setattr(learning_probe, "MAX_SHARE", 1e9)
    monkeypatch.setattr(called_weights, "LEAST_SECONDS", -1.0)


class Script:
    """A network of two halves, and an optimizer of some of its weights."""

    def __init__(self, part=slice(None), rate=1e-2):
        torch.manual_seed(0)
        self.net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
        self.optimizer = torch.optim.Adam([*self.net.parameters()][part], lr=rate)
        self.weights = CalledWeights()

    def learn(self, *, clears=True, scale=1.0, steps=True, learns=True):
        """Return what is seen of some updates."""
        probe = LearningProbe()
        probe.install()
        for _ in range(STEPS):
            loss = (self.net(torch.randn(16, 4)) ** 2).mean() * scale
            if clears:
                self.optimizer.zero_grad()
            if learns:
                loss.backward()
            if steps:
                self.optimizer.step()
            changes = self.weights.take([self.net], probe.heads)
        found = {**probe.take(), **changes}
        probe.remove()
        self.weights.remove()
        return found


def test_a_healthy_training_shows_nothing_unusual():
    """Gradients are cleared and not 0, weights change by little, and all of them do; no hook is left."""
    script = Script()
    found = script.learn()
    assert not any(weight._backward_hooks for weight in script.net.parameters())
    assert found[UPDATES] == STEPS
    assert 1e-4 < found[LEAST_RATIO] <= found[RATIO] < 0.1
    assert not any(found[name] for name in (LEFT, NO_GRADIENT, NOT_FINITE, UNTRAINED, UNCHANGED, SAME_COPY))


@pytest.mark.parametrize(
    ("script", "learn", "name", "value"),
    [
        ({}, {"clears": False}, LEFT, 1.0),
        ({}, {"scale": 0.0}, NO_GRADIENT, 1.0),
        ({}, {"learns": False}, UNTRAINED, 1.0),
        ({"rate": 0.0}, {}, LEAST_RATIO, 0.0),
        ({"rate": 0.0}, {}, GROWTH, 1.0),
        ({"rate": 0.0}, {}, UNCHANGED, 1.0),
        ({}, {"steps": False}, UNCHANGED, 1.0),
        ({"part": slice(2)}, {}, UNCHANGED, 9 / 49),
        ({"part": slice(2, None)}, {}, UNCHANGED, 0.0),
    ],
)
def test_what_is_wrong_with_updates_is_seen(script, learn, name, value):
    """Gradients that are not cleared, 0 or never computed, and weights that never change, unless a head is trained."""
    assert Script(**script).learn(**learn)[name] == pytest.approx(value)


@pytest.mark.parametrize(("decay", "share"), [(0.0, 1.0), (0.2, 0.125)])
def test_features_that_collapse_are_seen(decay, share):
    """Their effective rank falls with the weights that make them; the layer's code is as it was afterwards."""
    torch.manual_seed(0)
    layer, probe = nn.Linear(8, 8), LearningProbe()
    net = nn.Sequential(layer, nn.Linear(8, 1))
    own, optimizer = nn.Linear.forward.__code__, torch.optim.SGD(net.parameters(), lr=0.0)
    probe.install()
    for _ in range(8 * OFTEN):
        optimizer.zero_grad()
        net(torch.randn(64, 8)).square().mean().backward()
        optimizer.step()
        with torch.no_grad():
            layer.weight[1:] *= 1 - decay
            layer.bias[1:] *= 1 - decay
    assert probe.take()[RANK] == share
    probe.remove()
    assert nn.Linear.forward.__code__ is own


def test_weights_that_blow_up_are_seen():
    """After updates that are far too large."""
    assert Script(rate=1.0).learn()[GROWTH] > 10


def test_weights_that_are_no_numbers_are_counted():
    """After a loss that was none, and at the end of a script, which may be the next thing that happens."""
    script, probe = Script(), LearningProbe()
    assert script.learn(scale=torch.nan)[NOT_FINITE] == 49
    script = Script()
    probe.install()
    for scale in (1.0, 1.0, torch.nan):
        probe._budget._due = torch.inf if scale is torch.nan else 0.0
        (script.net(torch.randn(16, 4)).mean() * scale).backward()
        script.optimizer.step()
    assert not probe.take()[NOT_FINITE]
    probe.look_last()
    assert probe.take()[NOT_FINITE] == 49
    probe.remove()


@pytest.mark.parametrize("follows", [False, True])
def test_a_target_network_that_stays_as_it_was_is_seen(follows):
    """Unless it follows the other one."""
    script, target = Script(), copy.deepcopy(Script().net)
    weights = CalledWeights()
    weights.take([script.net, target])
    script.learn()
    if follows:
        target.load_state_dict(script.net.state_dict())
    assert weights.take([])[SAME_COPY] == float(not follows)
    weights.remove()


@pytest.mark.parametrize("greedy", [False, True])
def test_actions_that_are_not_drawn_are_noticed(greedy):
    """By the probability of the likeliest one, which is taken more often than that."""
    choices, random = Choices(), np.random.default_rng(0)
    for _ in range(100):
        policy = torch.distributions.Categorical(logits=torch.tensor(random.normal(size=(4, 2))))
        choices.note(policy.probs)
        choices.chosen((policy.probs.argmax(-1) if greedy else policy.sample()).numpy())
    assert (choices.metrics[GREEDY] > 5) is greedy


def test_of_several_optimizers_no_hook_is_left():
    """At most one weight is followed at a time, whichever optimizer makes the next step."""
    scripts, probe = [Script(), Script()], LearningProbe()
    probe.install()
    weights = [weight for script in scripts for weight in script.net.parameters()]
    for number in range(3 * STEPS):
        script = scripts[number % 3 > 0]
        script.optimizer.zero_grad()
        script.net(torch.randn(16, 4)).square().mean().backward()
        script.optimizer.step()
        assert sum(len(weight._backward_hooks or ()) for weight in weights) <= 1
    probe.remove()
    assert not any(weight._backward_hooks for weight in weights)
