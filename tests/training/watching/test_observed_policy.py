"""The policy of a script, as it is observed between two steps."""

import numpy as np
import pytest

from pac.training.watching.policy import PolicyProbe

torch = pytest.importorskip("torch")
ENVS, ACTIONS = 3, 2


@pytest.fixture
def probe():
    """One that observes the next step of environment 2."""
    found = PolicyProbe(ENVS, ACTIONS)
    assert found.inspect(1) is None
    assert found.observes
    yield found
    found.finish()
    assert not torch.nn.modules.module._global_forward_hooks


def observed(probe):
    """Return what was observed, as the next publication shows it."""
    probe.finish()
    assert not probe.observes
    return probe.inspect(1)


def test_a_categorical_policy_and_its_value_are_observed(probe):
    """Probabilities and value of the displayed environment; a batch of another size is none of its steps."""
    actor, critic = torch.nn.Linear(4, ACTIONS), torch.nn.Linear(4, 1)
    inputs = torch.randn(ENVS, 4)
    policy, values = torch.distributions.Categorical(logits=actor(inputs)), critic(inputs)
    critic(torch.randn(64, 4))
    found = observed(probe)
    assert found.value == pytest.approx(values[1, 0].item())
    assert found.probabilities == pytest.approx(np.sort(policy.probs[1].detach().numpy())[::-1])
    assert found.entropy == pytest.approx(policy.entropy()[1].item())


def test_a_normal_policy_is_observed(probe):
    """Mean and deviation of each number."""
    policy = torch.distributions.Normal(torch.arange(6.0).reshape(ENVS, 2), torch.ones(2))
    found = observed(probe)
    assert (found.means, found.deviations) == ([2.0, 3.0], [1.0, 1.0])
    assert found.entropy == pytest.approx(policy.entropy()[1].sum().item())


def test_values_of_actions_are_observed(probe):
    """Without a distribution, one output per action is its value; the best is first."""
    values = torch.nn.Linear(4, ACTIONS)(torch.randn(ENVS, 4))
    found = observed(probe)
    assert found.values == pytest.approx(np.sort(values[1].detach().numpy())[::-1])
    assert found.actions[0] == values[1].argmax().item()
