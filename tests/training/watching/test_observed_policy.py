"""The policy of a script, as it is observed between two steps."""

import copy
import inspect
import math
import pickle
import sys
import threading
import traceback

import numpy as np
import pytest
import torch
from torch import nn
from torch._dynamo.eval_frame import OptimizedModule
from torch.distributions import Categorical, MultivariateNormal, Normal

from pac.training.watching.policy import DISTRIBUTIONS, MOST_VAIN, PolicyProbe

ENVS, ACTIONS = 3, 2


class Direct(nn.Module):
    """A network without modules in it."""

    def __init__(self, outputs=ACTIONS):
        super().__init__()
        self.weights = nn.Parameter(torch.randn(4, outputs))

    def forward(self, inputs):
        return inputs @ self.weights


def acted(logits):
    """What compiled code returns that makes a distribution in it."""
    return Categorical(logits=logits, validate_args=False).logits


def codes():
    """The code of all functions of PyTorch and of the tests that is ever replaced."""
    made = [getattr(torch.distributions, name).__init__ for name in DISTRIBUTIONS]
    return [
        function.__code__
        for function in (nn.Module.__call__, Direct.forward, OptimizedModule.__call__, torch.compile, *made)
    ]


UNCHANGED = codes()


class Observed:
    """Policies whose next step is observed, and what is seen of it."""

    def __init__(self):
        self.probe, self._row = PolicyProbe(ENVS, ACTIONS), 1

    def begin(self, num_envs=ENVS, num_actions=ACTIONS, numbers=0):
        self.probe, self._row = PolicyProbe(num_envs, num_actions, numbers), min(1, num_envs - 1)
        self.again()

    def again(self):
        self.probe._observed = 0
        self.probe.inspect(self._row)
        assert self.probe.observes

    def end(self):
        """Return what was observed, as the next publication shows it."""
        self.probe.finish()
        assert not self.probe.observes
        assert codes() == UNCHANGED
        self.probe._observed = math.inf
        return self.probe.inspect(self._row)


@pytest.fixture
def step():
    found = Observed()
    yield found
    found.probe.stop()
    assert codes() == UNCHANGED
    assert not sys.modules["torch.optim.optimizer"]._global_optimizer_post_hooks


def chances(policy, row=1):
    return pytest.approx(np.sort(policy.probs.detach().reshape(-1, ACTIONS)[row].numpy())[::-1])


def test_a_categorical_policy_and_its_value_are_observed(step):
    """Probabilities and value of the displayed environment; a batch of another size is none of its steps."""
    actor, critic, inputs = nn.Linear(4, ACTIONS), nn.Linear(4, 1), torch.randn(ENVS, 4)
    step.begin()
    policy, values = Categorical(logits=actor(inputs)), critic(inputs)
    critic(torch.randn(64, 4))
    found = step.end()
    assert found.value == pytest.approx(values[1, 0].item())
    assert found.probabilities == chances(policy)
    assert found.entropy == pytest.approx(policy.entropy()[1].item())
    assert not found.values


@pytest.mark.parametrize("dimension", [(), (1,), (1, 1)])
def test_one_state_needs_no_batch_dimension(step, dimension):
    """Its probabilities and value are those of the only environment."""
    actor, critic, inputs = nn.Sequential(nn.Linear(4, ACTIONS), nn.Softmax(-1)), nn.Linear(4, 1), torch.randn(4)
    step.begin(num_envs=1)
    policy, value = Categorical(actor(inputs.reshape(*dimension, 4))), critic(inputs.reshape(*dimension, 4))
    found = step.end()
    assert found.probabilities == chances(policy, 0)
    assert found.value == pytest.approx(value.item())


def test_without_a_distribution_numbers_are_outputs(step):
    """Neither values nor probabilities are known, and the largest is first."""
    step.begin()
    outputs = nn.Linear(4, ACTIONS)(torch.randn(ENVS, 4))
    found = step.end()
    assert found.values == pytest.approx(np.sort(outputs[1].detach().numpy())[::-1])
    assert found.actions[0] == outputs[1].argmax().item()
    assert math.isnan(found.value)
    assert np.isnan(found.probabilities).all()


@pytest.mark.parametrize("shape", [(4,), (1, 4)])
def test_forward_may_be_called_directly(step, shape):
    """Also of a network that has no modules in it."""
    step.begin(num_envs=1)
    outputs = Direct().forward(torch.randn(shape))
    assert step.end().values == pytest.approx(np.sort(outputs.detach().reshape(-1).numpy())[::-1])


def test_a_policy_of_functions_is_known_by_its_distribution(step):
    """There is no value."""
    step.begin()
    policy = Categorical(logits=torch.randn(ENVS, 4) @ torch.randn(4, ACTIONS))
    found = step.end()
    assert (found.probabilities, math.isnan(found.value)) == (chances(policy), True)


@pytest.mark.parametrize("numbers", [0, 2])
def test_a_normal_policy_is_observed(step, numbers):
    """Mean and deviation of each number."""
    step.begin(num_actions=0, numbers=numbers)
    policy = Normal(torch.arange(6.0).reshape(ENVS, 2), torch.ones(2))
    found = step.end()
    assert (found.means, found.deviations) == ([2.0, 3.0], [1.0, 1.0])
    assert found.entropy == pytest.approx(policy.entropy()[1].sum().item())


@pytest.mark.parametrize("shape", [(2,), (1, 2)])
def test_a_correlated_normal_policy_is_observed(step, shape):
    """As that of a script with one environment."""
    step.begin(num_envs=1, num_actions=0, numbers=2)
    policy = MultivariateNormal(torch.ones(shape), torch.diag(torch.tensor([4.0, 9.0])))
    found = step.end()
    assert (found.means, found.deviations) == ([1.0, 1.0], [2.0, 3.0])
    assert found.entropy == pytest.approx(policy.entropy().item())


def test_a_distribution_of_something_else_is_no_policy(step):
    """Such as a code of 30 numbers in a model of the world, or the options of a hierarchy."""
    step.begin(num_actions=0, numbers=2)
    Normal(torch.zeros(ENVS, 30), 1.0)
    assert step.end() is None
    step.begin()
    Categorical(logits=torch.zeros(ENVS, 30))
    Normal(torch.zeros(ENVS, ACTIONS), 1.0)
    assert step.end() is None


class Agent(nn.Module):
    """Computes the value before the distribution, as Stable-Baselines3 does, and may have a head for the deviation."""

    def __init__(self, *, value="value_net", deviation=None):
        super().__init__()
        self.body, self.mean, self._names = nn.Linear(4, 8), nn.Linear(8, 1), (value, deviation)
        for name in filter(None, self._names):
            setattr(self, name, nn.Linear(8, 1))

    def forward(self, inputs):
        hidden = self.body(inputs)
        value, deviation = (getattr(self, name)(hidden) if name else None for name in self._names)
        policy = Normal(self.mean(hidden), torch.ones(1) if deviation is None else deviation.exp())
        return policy.sample(), value, policy


@pytest.mark.parametrize("num_envs", [1, ENVS])
@pytest.mark.parametrize("value", ["value_net", "critic", "vf", "v"])
def test_the_value_is_the_critics_where_the_action_is_one_number(step, num_envs, value):
    """The mean of the action is none."""
    agent = Agent(value=value, deviation="log_std")
    step.begin(num_envs=num_envs, num_actions=0, numbers=1)
    with torch.no_grad():
        _, values, _ = agent(torch.randn(num_envs, 4))
    assert step.end().value == pytest.approx(values[-2 if num_envs > 1 else 0].item())


@pytest.mark.parametrize("heads", [{"value": None}, {"value": None, "deviation": "log_std"}, {"value": "head"}])
def test_a_number_of_unknown_meaning_is_no_value(step, heads):
    """The mean, the deviation, and a head that may be either."""
    agent = Agent(**heads)
    step.begin(num_actions=0, numbers=1)
    _, _, policy = agent(torch.randn(ENVS, 4))
    found = step.end()
    assert math.isnan(found.value)
    assert found.means == pytest.approx([policy.loc[1].item()])


def test_a_value_may_be_computed_first_if_the_rest_is_known(step):
    """The distribution's parameter is the output of another module with the same input."""
    actor, critic, inputs = nn.Linear(4, ACTIONS), nn.Linear(4, 1), torch.randn(ENVS, 4)
    step.begin()
    values = critic(inputs)
    Categorical(logits=actor(inputs))
    assert step.end().value == pytest.approx(values[1].item())
    step.begin()
    critic(torch.randn(ENVS, 4))  # of other observations
    Categorical(logits=actor(inputs))
    assert math.isnan(step.end().value)
    step.begin()
    Categorical(logits=actor(inputs) / critic(inputs))  # it may be a temperature
    assert math.isnan(step.end().value)


class Heads(nn.Linear):
    """Returns probabilities and a value, of which the distribution is made later."""

    def __init__(self):
        super().__init__(4, ACTIONS)
        self.value_head = nn.Linear(4, 1)

    def forward(self, inputs):
        return self.value_head(inputs), torch.softmax(super().forward(inputs), -1)


def test_the_value_may_come_with_probabilities(step):
    """Which a function computes from a module's output."""
    step.begin()
    value, probabilities = Heads()(torch.randn(ENVS, 4))
    Categorical(probabilities)
    assert step.end().value == pytest.approx(value[1].item())


def test_two_candidates_are_no_value(step):
    """Such as a value of the reward and one of the cost."""
    actor, reward, cost, inputs = nn.Linear(4, ACTIONS), nn.Linear(4, 1), nn.Linear(4, 1), torch.randn(ENVS, 4)
    step.begin()
    Categorical(logits=actor(inputs))
    reward(inputs), cost(inputs)
    assert math.isnan(step.end().value)


def test_what_was_computed_to_learn_is_not_the_policys(step):
    """Even from a batch with as many rows as there are environments."""
    actor, critic, inputs = nn.Linear(4, ACTIONS), nn.Linear(4, 1), torch.randn(ENVS, 4)
    optimizer = torch.optim.SGD(critic.parameters())
    step.begin()
    Categorical(logits=actor(inputs))
    critic(inputs).sum().backward()
    optimizer.step()
    policy = Categorical(logits=actor(inputs + 1))
    found = step.end()
    assert math.isnan(found.value)
    assert found.probabilities == chances(policy)


def test_the_last_output_is_shown_until_many_steps_had_none(step):
    """A random action is chosen without the policy; another policy may have no modules."""
    step.begin()
    Categorical(logits=torch.zeros(ENVS, ACTIONS))
    assert step.end() is not None
    for _ in range(MOST_VAIN):
        step.again()
        assert step.end() is not None
    step.again()
    assert step.end() is None


def test_other_threads_are_not_observed(step):
    """Such as one that learns, or one that acts in other environments."""
    step.begin()
    thread = threading.Thread(target=lambda: nn.Linear(4, ACTIONS)(torch.randn(ENVS, 4)))
    thread.start()
    thread.join()
    assert step.end() is None


def test_of_two_sessions_one_observes(step):
    """The later one, so that nothing stays replaced."""
    step.begin()
    first = step.probe
    step.begin()
    assert not first.observes
    step.end()


@pytest.fixture
def compiler():
    """The compiler, of which nothing is left after the test."""
    torch._dynamo.utils.counters.clear()
    yield torch._dynamo.utils.counters["stats"]
    torch.compiler.reset()
    torch._dynamo.eval_frame.cached_backends.clear()


@pytest.mark.parametrize("observed", [False, True])
@pytest.mark.thorough
def test_what_a_compiled_module_returns_is_observed_and_nothing_is_compiled_again(step, compiler, observed):
    """Of what runs within compiled code, nothing is replaced, since that would have it compiled again."""
    if observed:
        step.begin()
    compiled = torch.compile(Direct(), backend="eager")
    whole = torch.compile(lambda inputs: acted(compiled(inputs)), backend="eager")
    for _ in range(2):
        assert not step.probe.observes
        whole(torch.randn(ENVS, 4))
        compiled(torch.randn(ENVS, 4))
        step.probe.finish()
        step.again()
        outputs = compiled(torch.randn(ENVS, 4))
        whole(torch.randn(ENVS, 4))
        assert step.end().values == pytest.approx(np.sort(outputs[step._row].detach().numpy())[::-1])
    assert compiler["unique_graphs"] == 2


@pytest.mark.filterwarnings("ignore:.torch.jit")
def test_a_module_can_be_scripted_in_an_observed_step(step):
    """Its source is that of the script."""
    step.begin()
    assert torch.jit.script(Direct())(torch.ones(1, 4)).shape == (1, ACTIONS)


def test_tensors_inside_a_transformation_are_left_out(step):
    """They cannot be read after it."""
    actor, inputs = nn.Linear(4, ACTIONS), torch.randn(ENVS, 4)
    step.begin()
    outputs = actor(inputs)
    torch.func.vmap(actor)(inputs)
    assert step.end().values == pytest.approx(np.sort(outputs[1].detach().numpy())[::-1])


def test_another_version_of_pytorch_is_not_observed(monkeypatch):
    """Nothing stays replaced if something is missing."""
    monkeypatch.setattr("pac.training.watching.policy.DISTRIBUTIONS", ("Unheard",))
    probe = PolicyProbe(ENVS, ACTIONS)
    assert probe.inspect(0) is None
    assert not probe.observes
    assert [nn.Module.__call__.__code__, Direct.forward.__code__] == UNCHANGED[:2]


class Failing(nn.Module):
    """Fails, and says from where it was called."""

    def forward(self, _inputs):
        raise ValueError([frame.function for frame in inspect.stack()][:4])


def test_a_script_notices_nothing_in_an_observed_step(step):
    """Results, random numbers, stacks, signatures, types, copies and pickles are as without watching."""

    def everything():
        torch.manual_seed(1)
        agent = Agent()
        action, value, policy = agent(torch.ones(ENVS, 4))
        with pytest.raises(ValueError, match="forward") as failed:
            Failing()(action)
        frames = traceback.extract_tb(failed.tb)
        choice = Categorical(logits=value)
        return (
            [tensor.tolist() for tensor in (action, value, torch.rand(3), *agent.parameters())],
            (failed.value.args, [(frame.name, frame.lineno) for frame in frames]),
            type(choice) is Categorical,
            sorted(vars(choice)),
            sorted(vars(policy)),
            str(inspect.signature(Categorical.__init__)),
            str(inspect.signature(Direct.forward)),
            inspect.getsource(Direct.forward),
            pickle.loads(pickle.dumps(choice)).logits.tolist(),
            sorted(pickle.loads(pickle.dumps(agent)).state_dict()),
            copy.deepcopy(agent).mean.bias.tolist(),
            type(choice.expand((2, ENVS))) is Categorical,
            torch.distributions.kl_divergence(policy, policy).tolist(),
        )

    expected = everything()
    step.begin()
    found = everything()
    step.end()
    assert found == expected


def test_a_class_that_is_pickled_by_value_works_without_pac_tui(step, monkeypatch):
    """As cloudpickle sends a script's classes to workers, whose interpreter need not have it."""
    cloudpickle = pytest.importorskip("cloudpickle")
    scope = {"__name__": "__main__", "nn": nn}
    exec("class Net(nn.Module):\n    def forward(self, inputs):\n        return inputs + 1\n", scope)
    step.begin()
    sent = cloudpickle.dumps(scope["Net"])
    step.end()
    monkeypatch.setitem(sys.modules, PolicyProbe.__module__, None)
    assert cloudpickle.loads(sent)()(torch.ones(1)).item() == 2
