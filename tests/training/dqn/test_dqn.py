"""DQN, IQN and SAC, alone and of independent learners, as trainers: they learn, resume, resize, repeat themselves."""

import json
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from pac.envs import BadParameter, Field, find
from pac.training.dqn.evaluate import DqnPlayer, IqnPlayer
from pac.training.dqn.trainer import DQN, IQN
from pac.training.independent.trainer import Independent
from pac.training.sac.evaluate import SacPlayer
from pac.training.sac.trainer import SAC
from pac.training.trainers import trainer_kind

from ...programs import pac_tui
from ..aim import aim
from ..alone import context, equal, owner_of, weights
from ..corridor import CELLS, corridor

SMALL: dict[str, Any] = {"learning_starts": 500, "hidden": 16, "channels": 8, "replay_size": 4_000, "epsilon": 0.3}
SMALL |= {"train_frequency": 16, "gradient_steps": 1, "target_update": 500}


@contextmanager
def training(spec="CartPole-v1", seed=0, kind=DQN, *, state=None, num_envs=8, iterations=0, **overrides):
    """Yield a trainer that has started, from a state if one is given, and made some iterations, and its backends."""
    task = find(spec) if isinstance(spec, str) else spec
    notes: list[str] = []
    own: Any = {"processes": False} if kind is Independent else {}
    name = "independent" if kind is Independent else kind.name
    small = {key: value for key, value in SMALL.items() if key in trainer_kind(name).settings_class.model_fields}
    given: Any = replace(context(task, seed, trainer=name, **small | own | overrides), notify=notes.append)
    trainer: Any = kind(given)
    with closing(owner_of(trainer, given)) as trainer.owner:
        trainer.notes = notes
        if state is not None:
            trainer.load_state(*state)
        trainer.owner.open(num_envs)
        run(trainer, iterations)
        yield trainer, trainer.owner


def learned(trainer):
    """Return the weights, the moments and the generators."""
    return {name: torch.as_tensor(value).clone() for name, value in trainer.state()[0].items() if "replay" not in name}


def run(trainer, iterations):
    """Let a trainer iterate, and return the last figures."""
    figures = None
    for _ in range(iterations):
        figures = trainer.iterate()
    return figures


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("kind", "spec"), [(DQN, "treasure:agents=2"), (Independent, "treasure:agents=2"), (SAC, "Pendulum-v1")]
)
def test_the_same_seed_gives_the_same_weights(kind, spec):
    """And another seed gives others."""
    results = []
    for seed in (3, 3, 4):
        with training(spec, seed, kind, iterations=2) as (trainer, _):
            results.append(learned(trainer))
    assert equal(*results[:2])
    assert not equal(*results[1:])


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("kind", "spec", "chosen"),
    [
        (DQN, "leduc", {"prioritized": True}),
        (IQN, "leduc", {}),
        (DQN, "drmario:level=1", {"frame_stack": 2}),
        (Independent, "leduc", {"prioritized": True}),
        (Independent, "leduc", {"algorithm": "iqn"}),
    ],
)
def test_with_the_replay_a_resumed_training_equals_the_uninterrupted_one(kind, spec, chosen):
    """The environments' states, the replay and the generators are restored, so weights are equal, bit for bit."""
    chosen = {"save_replay": True, "n_step": 2, "train_frequency": 64, **chosen}
    with training(spec, kind=kind, **chosen, iterations=2) as (one, owner):
        state, states = one.state(), owner.envs.buffer["state"][0].copy()
        run(one, 2)
        expected = learned(one)
    with training(spec, kind=kind, state=state, **chosen) as (two, owner):
        owner.envs.restore(states)
        run(two, 2)
        assert np.array_equal(two.decisions, one.decisions)
        assert equal(learned(two), expected)


@pytest.mark.parametrize(
    ("kind", "spec", "note"),
    [
        (DQN, "treasure:agents=2", "no replay"),
        (Independent, "treasure:agents=2", "continues after learning_starts"),
        (SAC, "Pendulum-v1", "no replay"),
    ],
)
@pytest.mark.thorough
def test_without_the_replay_learning_waits_for_learning_starts(kind, spec, note):
    """It is reported; the first decisions after resuming change no weight."""
    with training(spec, kind=kind, iterations=2) as (one, _):
        state = one.state()
    with training(spec, kind=kind, learning_starts=1_000, state=state) as (two, _):
        before = learned(two)
        run(two, 1)
        assert equal(learned(two), before)
        assert any(note in each for each in two.notes)
        run(two, 3)
        assert not equal(learned(two), before)


@pytest.mark.thorough
def test_a_saved_replay_of_another_number_of_environments_is_left_out():
    """The resumed training collects decisions first, and says why."""
    with training(save_replay=True, iterations=1) as (one, _):
        state = one.state()
    with training(save_replay=True, state=state, num_envs=4, iterations=1) as (two, _):
        assert any("does not fit" in note for note in two.notes)


@pytest.mark.thorough
@pytest.mark.parametrize("prioritized", [False, True])
def test_another_number_of_environments_keeps_the_replay(prioritized):
    """Learning continues at once, from the old replay too."""
    with training(prioritized=prioritized, iterations=3) as (trainer, _):
        updates, old = trainer.learner.updates, trainer._replay
        trainer.owner.open(4)
        run(trainer, 1)
        assert trainer.learner.updates == updates + 32
        assert trainer.learner.source.replays == [old, trainer._replay]


RATES, EPSILONS = np.array([(100, 1e-3), (400, 1e-4), (700, 2e-4)]), np.array([(50, 0.0), (300, 0.7), (900, 0.2)])
SCHEDULES = {"learning_rate": RATES.tolist(), "epsilon": EPSILONS.tolist()}


def scheduled(points, decisions):
    return np.interp(decisions, points[:, 0], points[:, 1])


@pytest.mark.thorough
def test_settings_take_effect_at_the_decisions_that_they_name():
    """Gradient steps, target updates, epsilon and the learning rate, against a loop; a step is 7 decisions."""
    done: list[tuple[object, ...]] = []
    expected: list[tuple[object, ...]] = []
    chosen = {"learning_starts": 100, "train_frequency": 10, "gradient_steps": 2, "target_update": 45, **SCHEDULES}
    with training(corridor(), num_envs=7, **chosen) as (trainer, owner):
        learner, envs = trainer.learner, owner.envs
        update, update_target, advance, noise = learner.update, learner.update_target, envs.advance, trainer._noise

        def update_and_note(decisions):
            found = update(decisions)
            done.append(("update", decisions, pytest.approx(learner.learning_rate)))
            return found

        def target_and_note():
            update_target()
            assert equal(dict(learner._target.state_dict()), weights(trainer))
            done.append(("target", trainer.decisions))

        def advance_and_look(slot):
            step, decisions = len(steps), 7 * len(steps)
            steps.append(slot)
            with torch.no_grad():
                seen = (torch.tensor(envs.buffer[name][slot]) for name in ("observation", "action_mask"))
                best = envs.buffer["action"][slot] == trainer.policy(*seen).argmax(-1).numpy()
            explores = noise.uniform(step, 1)[0, :, 0].numpy() <= scheduled(EPSILONS, decisions)
            assert best[~explores].all()
            explored.extend(best[explores])
            advance(slot)

        steps: list[int] = []
        explored: list[bool] = []
        learner.update, learner.update_target, envs.advance = update_and_note, target_and_note, advance_and_look
        figures = run(trainer, 2)
    for before in range(0, 7 * len(steps), 7):
        after = before + 7
        if after >= 100:
            if after // 10 > before // 10:
                expected += 2 * [("update", after, scheduled(RATES, after))]
            if after // 45 > before // 45:
                expected.append(("target", after))
    assert done == expected
    assert 0.2 < np.mean(explored) < 0.8
    assert figures["epsilon"] == pytest.approx(scheduled(EPSILONS, before))
    assert figures["learning_rate"] == pytest.approx(scheduled(RATES, expected[-1][1]))
    assert (figures["decisions"], figures["updates"]) == (after, sum(name == "update" for name, *_ in done))


@pytest.mark.parametrize("kind", [DQN, IQN])
@pytest.mark.thorough
def test_an_episode_that_ends_in_both_ways_is_terminated(kind):
    """What is learned is the same as without the truncations that come with terminations."""
    learned = []
    for both in (False, True):
        with training(corridor(both=both), kind=kind, learning_starts=100, n_step=2, epsilon=1.0, iterations=1) as (
            trainer,
            owner,
        ):
            learned.append(weights(trainer))
            assert (owner.envs.buffer["terminated"] & owner.envs.buffer["truncated"]).any() == both
    assert equal(*learned)


def test_a_training_that_is_stopped_at_once_can_be_saved():
    """Its state is that of the start."""
    with training(save_replay=True) as (trainer, _):
        tensors, data = trainer.state()
    assert data == {"decisions": 0, "updates": 0, "steps": 0}
    assert equal({name: tensors[f"policy.{name}"] for name in weights(trainer)}, weights(trainer))


def test_the_figures_are_curves():
    """Loss, values, epsilon, the fill of the replay and counts."""
    with training() as (trainer, _):
        figures = run(trainer, 2)
    assert {"loss", "value_mean", "epsilon", "replay_filled", "updates", "decisions"} <= figures.keys()
    assert all(np.isfinite(value) for value in figures.values())
    assert figures["decisions"] == 1_024


UNBOUNDED = replace(aim(continuous=True), bounds=((-1.0, 1.0), (0.0, np.inf)))


@pytest.mark.parametrize(
    ("kind", "task", "text"),
    [
        (DQN, "Pendulum-v1", "one choice per decision"),
        (SAC, "CartPole-v1", "needs continuous actions"),
        (SAC, UNBOUNDED, r"number 1 is in \[0.0, inf\]"),
        (SAC, replace(aim(continuous=True), observation=Field("observation", "uint8", (64, 64, 3))), "images with ppo"),
    ],
)
def test_a_task_that_it_cannot_learn_is_refused(kind, task, text):
    """The error says what to use instead."""
    with pytest.raises(BadParameter, match=text), training(task, kind=kind):
        pass


def test_a_player_takes_the_best_action():
    """It does not explore and changes no weight."""
    with training(iterations=1) as (one, _):
        state = one.state()
    with training(kind=DqnPlayer, state=state, num_envs=2, iterations=1) as (player, owner):
        before = owner.envs.order.acted(owner.envs.order.newest)
        observation = torch.from_numpy(owner.envs.buffer["observation"][before])
        best = player.policy(observation).argmax(-1)
        assert owner.envs.buffer["action"][before].tolist() == best.tolist()
        output = player.inspect(0)
        assert (output.probabilities[0], output.epsilon) == (1, 0)
        assert output.values == sorted(player.policy(observation)[0].tolist(), reverse=True)


class Drawing(SacPlayer):
    """Draws its actions."""

    def __init__(self, given):
        super().__init__(given, greedy=False)


@pytest.mark.parametrize("kind", [SacPlayer, Drawing])
def test_a_player_of_sac_takes_the_middle_of_its_actions(kind):
    """Or draws them. It shows what both critics expect."""
    with training("Pendulum-v1", kind=SAC, iterations=2) as (one, _):
        state = one.policy_state()
    assert {name.partition(".")[0] for name in state[0]} == {"policy"}
    with training("Pendulum-v1", kind=kind, state=state, num_envs=2, iterations=1) as (player, owner):
        before = owner.envs.order.acted(owner.envs.order.newest)
        stored, taken = (torch.from_numpy(owner.envs.buffer[name][before]) for name in ("observation", "action"))
        middle = 2 * player.learner.outputs(stored)[:, :1].tanh()
        assert torch.allclose(taken, middle, atol=1e-5) == (kind is SacPlayer)
        output = player.inspect(0)
        expected = player.learner.values(stored, taken)[:, 0].tolist()
    assert output.critics == pytest.approx(expected, rel=1e-4)
    assert output.value == min(output.critics)


def test_sac_explores_at_random_until_it_learns():
    """Its first actions fill the bounds evenly, and later ones are those of the policy, within the bounds."""
    with training("Pendulum-v1", kind=SAC, learning_starts=1_024, batch=32, iterations=2) as (trainer, owner):
        actions = owner.envs.buffer["action"][:128].ravel()
        assert np.histogram(actions, 4, (-2, 2))[0] == pytest.approx(np.full(4, 256), rel=0.25)
        assert trainer.learner.updates == 1
        with torch.no_grad():
            trainer.policy.actor[-1].bias.copy_(torch.tensor([9.0, -5.0]))
        run(trainer, 1)
        assert owner.envs.buffer["action"][128:191].min() > 1.99
        assert owner.envs.buffer["action"].max() <= 2
        assert trainer.inspect(8) is None


def test_the_policy_of_iqn_shows_the_range_of_returns():
    """For each action, from its quantile at 0.1 to that at 0.9; only legal actions are shown."""
    with training("leduc", kind=IQN, iterations=1) as (trainer, _):
        output, quantiles = trainer.inspect(0), trainer._quantiles[0]
    assert len(output.actions) == len(output.values) == len(output.ranges) == len(output.probabilities)
    assert min(output.values) > -100
    for action, (low, high) in zip(output.actions, output.ranges, strict=True):
        assert [low, high] == pytest.approx(np.quantile(quantiles[:, action].numpy(), [0.1, 0.9]), abs=1e-5)


@pytest.mark.session
def test_sac_learns_to_aim():
    """After 3,000 decisions its greedy actions are nearly those that are shown; the bounds differ by a factor of 20."""
    chosen = {"learning_starts": 200, "batch": 64, "learning_rate": 3e-3, "hidden": 32, "train_frequency": 4}
    with training(aim(continuous=True), kind=SAC, **chosen, iterations=6) as (trainer, _):
        state = trainer.state()
        alpha = trainer.policy.log_alpha.exp()
    with training(aim(continuous=True), kind=SacPlayer, state=state, hidden=32, iterations=1) as (_, owner):
        assert owner.envs.buffer["reward"][1:65].mean() > -0.02
    assert alpha < 0.2


@pytest.mark.session
@pytest.mark.parametrize(("kind", "player_kind"), [(DQN, DqnPlayer), (IQN, IqnPlayer)])
def test_it_learns_a_corridor(kind, player_kind):
    """After 2,000 decisions nearly every greedy episode takes the shortest way."""
    chosen = {"learning_starts": 200, "train_frequency": 4, "target_update": 200, "gamma": 0.8}
    with training(corridor(), kind=kind, epsilon="0:1,1500:0.1", **chosen, iterations=4) as (trainer, _):
        state = trainer.state()
    with training(corridor(), kind=player_kind, state=state, iterations=1) as (_, owner):
        buffer = owner.envs.buffer
        ended = (buffer["terminated"] | buffer["truncated"]) > 0
        assert buffer["episode_length"][ended].mean() < CELLS - 1 + 0.2


@pytest.mark.session
@pytest.mark.parametrize(
    ("name", "task", "least"), [("dqn", "noop:length=3", 3), ("iqn", "noop:length=3", 3), ("sac", "Pendulum-v1", -2e3)]
)
def test_its_runs_are_evaluated(tmp_path, name, task, least):
    """The real commands: `run` trains, and `eval` plays the policy."""
    common = ["--runs-dir", str(tmp_path), "--headless", "--json"]
    settings = [f"--{name}.{setting}" for setting in ("learning_starts=448", "hidden=8")]
    run = ["run", "--task", task, "--trainer", name, "--steps", "2048", "--num-envs", "8", *settings]
    for command in ([*run, *common], ["eval", "latest", "--episodes", "8", *common]):
        ran = pac_tui(*command)
        assert ran.returncode == 0, ran.stderr
        assert least <= json.loads(ran.stdout)["return_mean"] <= abs(least)
