"""What the choice of a script's policy depends on."""

import copy
import gc
import math
import random
import weakref

import numpy as np
import pytest
import torch
from torch import nn
from torch.distributions import Categorical, Normal

from pac.training.watching import saliency
from pac.training.watching.policy import PolicyProbe

ENVS, ACTIONS, ROW = 3, 2, 1


class Asked:
    """A probe whose next step is noted, and what is found of it."""

    def __init__(self):
        self.probe = PolicyProbe(ENVS, ACTIONS)

    def begin(self, num_envs=ENVS, num_actions=ACTIONS, numbers=0):
        self.probe, self.row = PolicyProbe(num_envs, num_actions, numbers), min(ROW, num_envs - 1)
        self.probe.layers.named = 4
        self.probe.saliency(self.row)
        self.probe.inspect(self.row)
        assert self.probe.layers.notes

    def end(self):
        self.probe.finish()
        assert not self.probe.layers.notes
        found = self.probe.saliency(self.row)
        assert found is not None
        return found


@pytest.fixture
def step(monkeypatch):
    monkeypatch.setattr(saliency, "LIMIT", math.inf)  # of a busy machine
    torch.manual_seed(1)
    found = Asked()
    yield found
    found.probe.stop()


def by_autograd(network, inputs, row, chosen):
    """Return the gradient of an output by its input, computed independently."""
    alone = inputs[row : row + 1].detach().clone().requires_grad_()
    return torch.autograd.grad(copy.deepcopy(network)(alone)[0, chosen], alone)[0][0].numpy()


def layers():
    """All kinds of layers that are followed."""
    return nn.Sequential(
        *(nn.Conv2d(2, 4, 3, stride=2, padding=1), nn.ReLU(inplace=True), nn.Conv2d(4, 4, 3, groups=2), nn.ELU()),
        *(nn.Flatten(), nn.Dropout(0.5).eval(), nn.Linear(36, 16), nn.LayerNorm(16), nn.Tanh(), nn.Linear(16, 16)),
        *(nn.GELU(), nn.Linear(16, 16), nn.SiLU(), nn.Linear(16, 16), nn.LeakyReLU(), nn.Linear(16, 16)),
        *(nn.Softplus(), nn.Linear(16, 16), nn.Sigmoid(), nn.Linear(16, 8, bias=False), nn.Identity()),
        nn.Linear(8, ACTIONS),
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("mode", [torch.no_grad, torch.enable_grad, torch.inference_mode])
def test_it_is_the_gradient_that_autograd_computes(step, mode, dtype):
    """Of the likeliest action's logit, for the displayed environment, whatever layers it passes."""
    network, inputs = layers().to(dtype), torch.randn(ENVS, 2, 9, 9, dtype=dtype)
    step.begin()
    with mode():
        policy = Categorical(logits=network(inputs))
        nn.Linear(4, 1)(torch.randn(ENVS, 4))
    found = step.end()
    assert (found.of, found.action, found.note) == ("logit", policy.logits[ROW].argmax().item(), "")
    expected = by_autograd(network, inputs, ROW, int(found.action))
    np.testing.assert_allclose(found.gradient, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())
    np.testing.assert_array_equal(found.given, inputs[ROW].float().numpy())


class Functional(nn.Module):
    """A network as many scripts write it."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.last = nn.Linear(4, 16), nn.Linear(16, 16), nn.Linear(16, ACTIONS)

    def forward(self, inputs):
        return self.last(torch.tanh(self.second(torch.relu(self.first(inputs)))))


@pytest.mark.parametrize("num_envs", [ENVS, 1])
@pytest.mark.parametrize("kind", ["logits", "softmax", "layer", "values", "mean"])
def test_functions_between_layers_are_followed(step, kind, num_envs):
    """A softmax changes nothing, as the gradient is that of the logit; without a distribution, it is an output's."""
    network, inputs = Functional(), torch.randn(num_envs, 4)
    step.begin(num_envs, **({"num_actions": 0, "numbers": 2} if kind == "mean" else {}))
    outputs = network(inputs if num_envs > 1 or kind != "values" else inputs[0])
    if kind == "mean":
        Normal(outputs, torch.ones(2))
    elif kind != "values":
        chances = {"softmax": outputs.softmax(-1), "layer": nn.Softmax(-1)(outputs)}
        Categorical(**({"logits": outputs} if kind == "logits" else {"probs": chances[kind]}))
    found = step.end()
    assert found.of == {"mean": "mean", "values": "output"}.get(kind, "logit")
    chosen = 0 if found.action is None else int(found.action)
    expected = by_autograd(network, inputs, step.row, chosen)
    np.testing.assert_allclose(found.gradient, expected, rtol=1e-5, atol=1e-6)
    assert found.named


def dropping(inputs):
    return nn.Sequential(nn.Linear(4, 8), nn.Dropout(), nn.Linear(8, ACTIONS))(inputs)


def residual(inputs):
    hidden = nn.Linear(4, 8)(inputs)
    return nn.Linear(8, ACTIONS)(hidden + nn.Linear(8, 8)(hidden))


def dueling(inputs):
    return nn.Linear(4, ACTIONS)(inputs) + nn.Linear(4, 1)(inputs)


def recurrent(inputs):
    return nn.Linear(8, ACTIONS)(nn.GRU(4, 8)(inputs)[0])


class Own(nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = nn.Parameter(torch.randn(4, 8))

    def forward(self, inputs):
        return inputs @ self.weights


def own(inputs):
    return nn.Linear(8, ACTIONS)(Own()(inputs) + 1)


def scripted(inputs):
    return nn.Linear(8, ACTIONS)(torch.jit.script(nn.Sequential(nn.Linear(4, 8)))(inputs))


def attention(inputs):
    return nn.Linear(4, ACTIONS)(nn.MultiheadAttention(4, 1)(inputs, inputs, inputs)[0])


def hooked(inputs):
    layer = nn.Linear(4, ACTIONS)
    layer.register_forward_hook(lambda _layer, _inputs, result: 2 * result)
    return layer(inputs)


def changed(inputs):
    layer = nn.Linear(4, ACTIONS)
    outputs = layer(inputs)
    layer.weight.data += 1
    return outputs


def doubled(inputs):
    network = nn.Sequential(nn.Linear(4, ACTIONS))
    found = network(inputs.repeat(2, 1))
    return found[:ENVS].clone()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    ("network", "words"),
    [
        (dropping, "dropout"),
        (residual, "between its layers"),
        (dueling, "last layer"),
        (recurrent, "GRU"),
        (own, "between"),
        (scripted, "RecursiveScriptModule"),
        (attention, "MultiheadAttention"),
        (hooked, "hooks"),
        (changed, "weights say"),
        (doubled, f"{2 * ENVS} rows"),
        (lambda inputs: inputs[:, :ACTIONS] + 1, "no layers"),
    ],
)
def test_what_is_not_followed_is_said(step, network, words):
    """Rather than to show something that may be wrong."""
    step.begin()
    Categorical(logits=network(torch.randn(ENVS, 4)))
    found = step.end()
    assert not found.of
    assert words in found.note


def learned(probe):
    """Learn as a small PPO does; return weights, gradients, the states of all generators and the modes of PyTorch."""
    torch.manual_seed(3)
    random.seed(3)
    rng = np.random.default_rng(3)
    actor, critic = nn.Sequential(nn.Linear(4, 16), nn.Dropout(0.1), nn.Tanh(), nn.Linear(16, ACTIONS)), nn.Linear(4, 1)
    weights = [*actor.parameters(), *critic.parameters()]
    optimizer, counts = torch.optim.Adam(weights, 1e-2), []
    for update in range(4):
        if update == 2:
            actor.eval()  # from now on dropout is off, and the gradient is found
        losses = []
        for step in range(6):
            if probe is not None:
                probe.layers._due = probe._observed = 0
                probe.saliency(ROW)
                probe.inspect(ROW)
                assert probe.layers.notes
            inputs = torch.as_tensor(rng.normal(size=(ENVS, 4)), dtype=torch.float32)
            with torch.set_grad_enabled(step % 2 == 0):
                policy, value = Categorical(logits=actor(inputs)), critic(inputs)
                action = policy.sample()
            if probe is not None:
                probe.finish()
                counts.append(bool(probe.layers.found.of))
            losses.append(-policy.log_prob(action).mean() + value.square().mean())
        optimizer.zero_grad()
        sum(losses).backward()
        optimizer.step()
    kept = [weight.detach().numpy().tobytes() for weight in weights]
    gradients = [weight.grad.numpy().tobytes() for weight in weights if weight.grad is not None]
    states = torch.get_rng_state().tolist(), random.getstate(), rng.bit_generator.state
    modes = torch.is_grad_enabled(), torch.get_default_dtype(), torch.are_deterministic_algorithms_enabled()
    hooks = [[*layer._forward_hooks, *layer._forward_pre_hooks, *vars(layer)] for layer in actor]
    return (kept, gradients, states, modes, hooks), counts


def test_a_script_learns_the_same_bit_for_bit():
    """Weights, gradients, random states and modes are the same if it is computed in each of its steps."""
    probe = PolicyProbe(ENVS, ACTIONS)
    (plain, _), (noted, counts) = learned(None), learned(probe)
    probe.stop()
    assert plain == noted
    assert counts == [False] * 12 + [True] * 12


def test_layers_are_not_kept(step):
    """They live no longer than without watching, also if the step is not observed to its end."""
    step.begin()
    network = nn.Linear(4, ACTIONS)
    Categorical(logits=network(torch.randn(ENVS, 4)))
    step.probe._restore()  # as before a module is compiled
    step.probe.finish()
    kept = weakref.ref(network)
    del network
    gc.collect()
    assert kept() is None
    assert not step.probe.layers.notes


def test_an_error_in_it_does_not_reach_the_script(step, monkeypatch):
    """It is said, and what else is observed is not lost."""
    monkeypatch.setitem(saliency.DERIVATIVES, "Linear", lambda *_: 1 / 0)
    step.begin()
    Categorical(logits=Functional()(torch.randn(ENVS, 4)))
    assert step.end().note == "it could not be computed: ZeroDivisionError"
    assert step.probe._found is not None


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_nothing_is_noted_without_a_request_or_while_the_script_traces(step):
    """At most one step per second; what a script traces contains nothing of ours."""
    network, inputs = Functional(), torch.randn(ENVS, 4)
    step.begin()
    expected = str(torch.jit.trace(network, inputs, check_trace=False).graph).count("\n")
    step.probe.finish()
    assert expected == str(torch.jit.trace(network, inputs, check_trace=False).graph).count("\n")
    step.probe._observed = 0
    step.probe.inspect(ROW)
    assert not step.probe.layers.notes


def test_what_takes_too_long_is_said_and_rests(step, monkeypatch):
    """It is still shown, but the next one is not computed in a second; the first time may take longer."""
    monkeypatch.setattr(saliency, "LIMIT", 0.0)
    step.begin()
    Categorical(logits=Functional()(torch.randn(ENVS, 4)))
    assert not step.end().note
    step.probe.layers._due = step.probe._observed = 0
    step.probe.inspect(ROW)
    Categorical(logits=Functional()(torch.randn(ENVS, 4)))
    found = step.end()
    assert found.of == "logit"
    assert "follows in 60 s" in found.note
    monkeypatch.setattr(saliency, "perf_counter", lambda: step.probe.layers._due - 50)
    step.probe._observed = 0
    step.probe.inspect(ROW)
    assert not step.probe.layers.notes
