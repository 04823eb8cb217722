"""What is seen of a watched training: what its environments observe, draw and tell, now and while it stands still."""

from contextlib import closing
from functools import partial

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, Text, Tuple
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from torch.distributions import Categorical

from pac.training import watch
from pac.training.telemetry.moments import MomentSource
from pac.training.telemetry.records import Phase
from pac.training.telemetry.snapshot import ViewRequest, take_snapshot
from pac.training.watching import mirror

from ...waiting import until
from .scripted import counted_by, session_of, training


def inspected(started, env):
    """Return what is known of an environment."""
    return take_snapshot(started.reader, ViewRequest(focus=env, detail=True, seat=0))


def observed(started, env):
    """Return what an environment is said to observe."""
    moment = inspected(started, env).moment
    return None if moment is None else moment.observation


def observes(started, env):
    """Whether it is known what an environment observes."""
    found = observed(started, env)
    return found is not None and found.any()


def stands(started, env, expected):
    """Whether an environment is shown as it is, by what it observes and by its board."""
    seen = inspected(started, env)
    return (
        seen.moment is not None
        and np.array_equal(seen.moment.observation, expected)
        and seen.focus_boards[seen.description.board.field].any()
    )


def runs(started, steps):
    """Whether there are more steps, and what an environment observes is known."""
    return inspected(started, 1).state["steps"] > steps and observed(started, 1) is not None


def test_what_stands_still_is_shown_as_it_stands():
    """The observation and the board, also of an environment that nobody looked at before."""
    with training() as started:
        until(lambda: started.session.step_log.observation(0) is not None, "somebody looks")
        started.pause()
        for env in (0, 2):
            started.client.call("look", focus=env, detail=True)
            until(partial(stands, started, env, started.session.step_log.observation(env)), f"env {env} as it is")


@pytest.mark.thorough
def test_what_is_observed_is_inspected_while_it_runs():
    """Whether its board is drawn at that moment or not."""
    with training() as started:
        started.client.call("look", focus=1, detail=True)
        for _ in range(5):
            until(partial(runs, started, inspected(started, 1).state["steps"]), "it runs")
            until(lambda: observes(started, 1), "what it observes")


def test_the_entropy_of_an_observed_policy_is_kept():
    """For the steps at which it was observed; unknown for the others."""

    def known():
        line = inspected(started, 0).line
        return [] if line is None else line.entropies[np.isfinite(line.entropies)].tolist()

    with training(act=lambda: Categorical(logits=torch.zeros(3, 2)).sample().numpy()) as started:
        assert until(known, "an observed step")[0] == pytest.approx(np.log(2))
        assert len(known()) < len(inspected(started, 0).line.entropies)


def test_what_a_choice_depends_on_is_computed_for_who_asks():
    """The gradient of the logit by what the first layer was given, and both reach the viewer."""
    layer, look = torch.nn.Linear(4, 2), ViewRequest(focus=1, detail=True, saliency=True)

    def found():
        started.client.call("look", focus=1, detail=True, saliency=True)
        seen = take_snapshot(started.reader, look).saliency
        return seen if seen is not None and seen.of else None

    holder = SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")] * 3)

    def acting():
        return Categorical(logits=layer(torch.as_tensor(holder._observations))).sample().numpy()

    with training(holder, act=acting) as started:
        seen = until(found, "a gradient")
    assert (seen.of, seen.named, seen.given.shape, seen.note) == ("logit", True, (4,), "")
    np.testing.assert_allclose(seen.gradient, layer.weight[int(seen.action)].detach(), atol=1e-5)


class Endless(gymnasium.Env):
    """Counts its steps, none of which ends an episode; observes what is no number at step `at`."""

    action_space, observation_space = Discrete(2), Box(-np.inf, np.inf, (1,), np.float32)

    def __init__(self, at=0):
        self.count, self.at = 0, at

    def reset(self, **_):
        return np.zeros(1, np.float32), {}

    def step(self, _action):
        self.count += 1
        return np.full(1, np.nan if self.count == self.at else self.count, np.float32), 0.0, False, False, {}


def hits_of(condition, envs, steps):
    """Make steps with a breakpoint and without a viewer; return the step, environment and text of each hit."""
    hits, made, watched = [], [0], watch(envs)
    watched.reset(seed=1)
    watched.step(np.zeros(2, np.int64))
    watched.reset(seed=1)
    with closing(watched):
        session = session_of(watched)
        debugger = session.monitor.debugger
        debugger.breakpoints.add(condition, 2)
        debugger.on_breakpoint = lambda text, env: hits.append((made[-1], env, text))
        session.process_soon()
        for step in range(1, steps + 1):
            made.append(step)
            watched.step(np.zeros(2, np.int64))
    return hits


def test_a_breakpoint_asks_for_observations_that_nobody_looks_at(monkeypatch):
    """It hits at the one step whose observation is no number, and at no later one."""
    monkeypatch.setattr(mirror, "STEPS_PER_FLUSH", 2 * mirror.MIN_SLOTS)
    envs = SyncVectorEnv([Endless, lambda: Endless(at=8)])
    assert hits_of("any: nan(obs)", envs, 3 * mirror.MIN_SLOTS) == [(7, 1, "break: env 2: nan(obs)")]


def test_a_breakpoint_holds_a_script_before_it_has_the_step():
    """What it would make of that may end it. What it then decides is not known yet; a step leads to the next step."""
    env = Endless()
    with training(SyncVectorEnv([lambda: env])) as started:
        started.pause()
        started.client.call("break", text="any: nan(obs)")
        started.client.call("look", focus=0, detail=True)
        env.at = env.count + 5
        started.client.call("resume")
        until(lambda: started.see().breakpoints["hits"].sum() > 0, "the breakpoint hits")
        until(lambda: observed(started, 0) is not None and np.isnan(observed(started, 0)).all(), "it is seen")
        moment = inspected(started, 0).moment
        assert moment is not None
        assert (env.count, started.steps, moment.next_action) == (env.at, env.at - 2, None)
        started.client.call("step", count=1)
        until(lambda: started.steps == env.at, "a step")
        until(lambda: getattr(inspected(started, 0).moment, "next_action", None) is not None, "and what comes next")
        assert started.steps == env.at


class Short(gymnasium.Env):
    """Observes how many steps its episode has, as a number or as the shade of a picture; the fifth one is the last."""

    action_space = Discrete(2)

    def __init__(self, space, mode=None):
        self.observation_space, self.render_mode = space, mode

    def reset(self, **_):
        self.count = 0
        return self.observe(), {}

    def step(self, _action):
        self.count += 1
        return self.observe(), 1.0, self.count == 5, False, {}

    def observe(self):
        return np.full(self.observation_space.shape, self.count, self.observation_space.dtype)

    def render(self):
        return np.full((8, 8, 3), self.count, np.uint8)


def last_board(started):
    """Run to the end of an episode of environment 1; return what is known of the step that ended it."""
    started.pause()
    started.client.call("look", focus=1)
    before = started.see().environments["ended"][1]
    started.client.call("episode", env=1)
    until(lambda: started.see().environments["ended"][1] > before, "the end")
    until(lambda: (seen := inspected(started, 1)).phase is Phase.PAUSED and seen.line is not None, "paused again")
    look = ViewRequest(focus=1, last=inspected(started, 1).line.now)
    started.client.call("look", focus=1, last=look.last)
    return until(lambda: ending_of(take_snapshot(started.reader, look).moment), "the last state")


def ending_of(moment):
    """Return what is known of a step if that ended an episode and its board is not being drawn."""
    ready = moment is not None and moment.source is not MomentSource.WORKING
    return moment if ready and moment.values["end"] else None


@pytest.mark.parametrize("space", [Box(0, 9, (2,), np.float32), Box(0, 9, (20, 20, 3), np.uint8)])
def test_the_last_board_before_a_reset_in_the_same_step_is_the_last_observation(space):
    """Where boards show observations, and not the first board of the next episode."""
    envs = SyncVectorEnv([lambda: Short(space)] * 2, autoreset_mode=AutoresetMode.SAME_STEP)
    with training(envs) as started:
        moment = last_board(started)
        assert moment.source is MomentSource.STORED
        assert [np.unique(board).tolist() for board in moment.boards.values()] == [[5]]


def test_what_is_rendered_has_no_last_board_after_a_reset_in_the_same_step():
    """The environments have been reset when they could be drawn."""
    make = [lambda: Short(Box(0, 9, (2,), np.float32), "rgb_array")] * 2
    envs = SyncVectorEnv(make, autoreset_mode=AutoresetMode.SAME_STEP)
    with training(envs) as started:
        until(lambda: "picture" in started.see().boards, "a picture", 10)
        assert last_board(started).source is MomentSource.MISSING


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_past_steps_have_their_return_length_and_action(mode):
    """With a reset at the next step, that step takes no action and belongs to the next episode."""
    envs = watch(SyncVectorEnv([lambda: Short(Box(0, 9, (2,), np.float32))], autoreset_mode=mode))
    envs.reset(seed=1)
    for step in range(13):
        envs.step(np.array([step % 2]))
    counted_by(envs)
    history = session_of(envs).monitor.debugger.history
    period = 6 if mode is AutoresetMode.NEXT_STEP else 5
    for step in range(1, 14):
        episode, place = divmod(step - 1, period)
        taken = place < 5
        assert history.episode_at(0, step) == ((episode, place + 1.0, place + 1) if taken else (episode + 1, 0.0, 0))
        decision = history.decision(0, step)
        assert decision is not None
        assert (decision.decided, int(decision.action)) == (taken, (step - 1) % 2)
    envs.close()


class LastUnknown(Short):
    """Observes what is no number in the last step of its episodes."""

    def observe(self):
        observation = super().observe()
        return observation if self.count < 5 else np.full_like(observation, np.nan)


def test_a_breakpoint_sees_the_last_observation_before_a_reset_in_the_same_step():
    """It hits at the step that ends the episode, in an environment that no viewer displays."""
    make = [lambda: LastUnknown(Box(0, 9, (2,), np.float32))] * 2
    envs = SyncVectorEnv(make, autoreset_mode=AutoresetMode.SAME_STEP)
    assert hits_of("env 2: nan(obs)", envs, 5) == [(5, 1, "break: env 2: nan(obs)")]


class Nested(Short):
    """Takes choices and numbers beside each other, or only choices."""

    def __init__(self, actions):
        super().__init__(Box(0, 9, (2,), np.float32))
        self.action_space = actions


@pytest.mark.parametrize(
    ("actions", "names"),
    [
        (Dict({"aim": Box(-1, 1, (2,), np.float32), "fire": Discrete(3)}), ("aim 0", "aim 1", "fire")),
        (Tuple((Discrete(3), MultiBinary(2))), ("0", "1 0", "1 1")),
    ],
)
def test_actions_of_several_parts_are_shown_with_their_names(actions, names):
    """Whether they are choices, or choices beside numbers, those taken and the next ones."""
    envs = watch(SyncVectorEnv([lambda: Nested(actions)] * 2))
    envs.reset(seed=1)
    taken = [envs.action_space.sample() for _ in range(3)]
    for action in taken[:2]:
        envs.step(action)
    mirror = session_of(envs).mirror
    assert session_of(envs).services.task.component_names == names
    while mirror.flush():
        pass
    mirror.decide(taken[2])
    parts = [list(action.values()) if isinstance(action, dict) else action for action in taken]
    flat = [np.concatenate([np.reshape(part, (2, -1)) for part in step], axis=1) for step in parts]
    assert np.array_equal(mirror.buffer["action"][:3], flat)
    envs.close()


def test_actions_that_are_text_are_not_shown_as_a_number():
    """They are not known."""
    envs = watch(SyncVectorEnv([lambda: Nested(Text(4))] * 2))
    envs.reset(seed=1)
    envs.step(("a", "b"))
    assert session_of(envs).services.task.action_names == ("N/A",)
    envs.close()
