"""What is counted of a watched training: its episodes and rewards, in whatever stretches, and what is no number."""

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv
from hypothesis import given
from hypothesis import strategies as st

from pac.training import watch
from pac.training.watching.batch_log import BatchLog
from pac.training.watching.boards import WatchedBoards
from pac.training.watching.mirror import MIN_SLOTS, STEPS_PER_FLUSH, ScriptMirror
from pac.training.watching.task import WatchedActions, describe_script

from ...waiting import until
from .scripted import counted_by, session_of


def mirror_of(num_envs):
    """A mirror of environments that observe nothing."""
    boards = WatchedBoards(None, np.zeros(1, np.float32))
    task = describe_script("toy", WatchedActions(gymnasium.spaces.Discrete(2)), boards, begins_at_once=True)
    return ScriptMirror(task, BatchLog(num_envs, None, small=False), None)


def is_full(mirror, rewards, terminated):
    """Note a step; return whether the steps must be flushed before the next."""
    full: list[float] = []
    mirror.step_log.process = full.append
    never = np.zeros(mirror.environments, np.bool_)
    mirror.step_log.note(None, 0.0, None, rewards, terminated, never, {})
    return bool(full)


@given(st.lists(st.tuples(st.sampled_from([1.0, 2.0, np.nan, np.inf]), st.booleans()), min_size=1, max_size=20))
def test_a_reward_that_is_no_number_spoils_its_own_episode_alone(steps):
    """The returns before and after it are what they are without it."""
    mirror, expected, total = mirror_of(1), [], 0.0
    for reward, done in steps:
        is_full(mirror, [reward], [done])
        total += reward
        expected.append(total)
        total = 0.0 if done else total
    mirror.flush()
    np.testing.assert_array_equal(mirror.buffer["episode_return"][1 : 1 + len(steps), 0], expected)


def test_a_stretch_that_is_full_is_flushed_and_another_begun():
    """Of many environments it is short; returns and lengths go on."""
    many = STEPS_PER_FLUSH // MIN_SLOTS
    mirror, never = mirror_of(many), np.zeros(many, np.bool_)
    flushed = [step for step in range(1, 2 * MIN_SLOTS + 3) if is_full(mirror, never + 2.0, never) and mirror.flush()]
    mirror.flush()
    assert flushed == [MIN_SLOTS, 2 * MIN_SLOTS]
    assert mirror.buffer.order.newest == 2
    assert mirror.buffer["episode_length"][2].tolist() == [2 * MIN_SLOTS + 2] * many
    assert mirror.buffer["episode_return"][2].tolist() == [2 * (2 * MIN_SLOTS + 2)] * many


class Blinking(gymnasium.Env):
    """Shows for one step what is no number."""

    observation_space = gymnasium.spaces.Dict(
        {"place": gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32), "kind": gymnasium.spaces.Discrete(2)}
    )
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, at):
        self.at, self.count = at, 0

    def reset(self, **_):
        return {"place": np.zeros(2, np.float32), "kind": 0}, {}

    def step(self, _action):
        self.count += 1
        place = np.array([0, np.nan if self.count == self.at else np.inf], np.float32)
        return {"place": place, "kind": 1}, 0.0, False, False, {}


@pytest.mark.thorough
def test_a_number_that_is_none_for_one_step_rings():
    """Of observations and of what was logged, although both are fine again by the time that somebody looks."""
    envs = watch(SyncVectorEnv([lambda: Blinking(at=0), lambda: Blinking(at=7)]))
    envs.reset()
    for steps in (6, 3):
        for _ in range(steps):
            envs.step(np.zeros(2, np.int64))
        diagnosis = session_of(envs).debugger.diagnosis
        assert not diagnosis.alarms
        counted_by(envs)
        session_of(envs).services.monitor.diagnose()
    assert diagnosis.alarms == ["env 2: observation is NaN"]
    for loss in (np.nan, 0.5):
        watch.log({"loss": loss})

    def stepped():
        envs.step(np.zeros(2, np.int64))
        return len(diagnosis.alarms) > 1

    until(stepped, "an iteration")
    assert diagnosis.alarms[1:] == ["loss is nan"]
