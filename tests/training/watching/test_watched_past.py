"""While a viewer looks, what the environments of a script observed in the last steps is kept."""

from functools import partial

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from pac.envs import find
from pac.envs.unknown import UNKNOWN, unknown_in
from pac.training.past.drawn_boards import SeenSteps
from pac.training.telemetry.moments import MomentSource

from ...waiting import until
from .scripted import training

STEPS = 40


class Told(gym.Env):
    """Cannot be drawn, and remembers what it observed."""

    observation_space, action_space = gym.spaces.Box(-1, 1, (3,)), gym.spaces.Discrete(2)

    def __init__(self, seed):
        self.generator, self.seen = np.random.default_rng(seed), []

    def _observe(self):
        self.seen.append(self.generator.random(3, np.float32))
        return self.seen[-1].copy()

    def reset(self, *, seed=None, options=None):  # noqa: ARG002
        return self._observe(), {}

    def step(self, action):  # noqa: ARG002
        return self._observe(), 1.0, self.generator.random() < 0.1, False, {}


@pytest.mark.session
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
@pytest.mark.parametrize("env", [0, 2])
def test_past_observations_are_those_that_the_script_got(mode, env):
    """Of every environment, whichever is displayed."""
    told = [Told(seed) for seed in range(3)]
    with training(SyncVectorEnv([partial(lambda one: one, one) for one in told], autoreset_mode=mode)) as started:
        until(lambda: started.steps >= STEPS, "some steps")
        started.pause()
        history, rewinder = started.session.debugger.history, started.session.services.rewinder
        found = [rewinder.moment(env, back) for back in range(1, 15)]
        assert history.now > 20
        shown = [moment for moment in found if moment["full"]]
        assert len(shown) > 4
        got = [seen.tolist() for seen in told[env].seen]
        assert all(moment["observation"].tolist() in got for moment in shown)
        assert {MomentSource(int(moment["source"])) for moment in shown} == {MomentSource.STORED}
        assert all(moment["board:bars"].tolist() == moment["observation"].tolist() for moment in shown)


def test_only_steps_that_were_kept_are_known():
    """Neither older ones nor those in which an environment made no step."""
    seen = SeenSteps(2, 1, 3)
    observations = np.arange(600 * 3 * 2, dtype="f4").reshape(600, 3, 2)
    observations[599, 1] = UNKNOWN
    infos = np.full((1, 600, 3), np.nan, "f4")
    infos[0, 598] = 7
    seen.keep(599, observations, infos)
    for step in (99, 300, 598, 599):
        kept = seen.at(0, step)
        if step == 99:
            continue
        assert kept is not None
        assert kept[0].tolist() == observations[step, 0].tolist()
    assert seen.at(0, 98) is None
    assert seen.at(1, 599) is None
    known, unknown = seen.at(2, 598), seen.at(2, 599)
    assert known is not None
    assert unknown is not None
    assert known[1].tolist() == [7]
    assert unknown_in(unknown[1]).all()
    seen.forget()
    assert seen.at(0, 598) is None


def test_trainings_of_our_own_keep_none():
    """They replay."""
    from pac.training.past.history import History

    history = History(find("noop"), 2)
    history.keep_seen(1, np.zeros((1, 2, 0), "f4"), np.zeros((0, 1, 2), "f4"))
    assert history.seen(0, 0) is None
