"""Breakpoints: what their names stand for, when they hit, and what is said of it."""

import numpy as np
import pytest

from pac.backends.core.layout import Layout
from pac.backends.core.status import EnvStatus
from pac.envs import Field, Outcome, UnknownName
from pac.envs.fields import DECIDES
from pac.envs.slots import Span
from pac.training.guards.breakpoints import Breakpoints, ConditionValues, condition_names
from pac.training.guards.conditions import BadCondition
from pac.training.telemetry.records import BREAKPOINT, MAX_BREAKPOINTS
from pac.training.telemetry.step_results import StepReader

from ...toys import toy

INFO = (Field("life", "float32"), Field("hand", "uint8", (3,)))
TOY = toy(info=INFO, outcomes=(Outcome("topped out", "bad"), Outcome("won", "good")))


class Steps:
    """Three environments of a task, stepped by hand."""

    def __init__(self, task=TOY):
        self.task = task
        self.buffer = Layout(task, 3, slots=2).map()
        self.reader = StepReader(task, self.buffer)
        self.buffer["active"][:] = DECIDES
        self.buffer["frames"][:] = 1
        self.breakpoints = Breakpoints(task)

    def check(self, **values):
        """Look at a step that wrote `values`; return what is said."""
        for name, value in values.items():
            self.buffer[name][-1] = value
        estimates, entropies = np.array([[0.5, 1.5, 2.5]]), {0: 0.1, 1: 0.2, 2: 0.3}
        self.reader.request(Span(slice(1, 2), slice(0, 1)), newest=self.breakpoints.fields, values=estimates)
        (results,) = self.reader.delivered()
        return self.breakpoints.check(ConditionValues(self.task, results, entropy=entropies.__getitem__))


@pytest.fixture
def steps():
    return Steps()


@pytest.mark.parametrize(
    ("text", "values", "reported"),
    [
        ("reward < -5", {"reward": [0, -6.25, -7]}, "env 2: reward < -5 (reward -6.25), and in 1 more"),
        ("any: life == 3", {"life": [0, 0, 3]}, "env 3: life == 3 (life 3)"),
        ("env 3: return > 2", {"episode_return": [3, 3, 2.5]}, "env 3: return > 2 (return 2.5)"),
        ("length > 9", {"episode_length": [9, 10, 0]}, "env 2: length > 9 (length 10)"),
        ("value > 2 and entropy > 0.2", {}, "env 3: value > 2 and entropy > 0.2 (entropy 0.3, value 2.5)"),
        ("topped_out", {"outcome": [0, 2, 1]}, "env 3: topped_out"),
        ("truncated", {"truncated": [0, 1, 0]}, "env 2: truncated"),
        ("ended", {"terminated": [0, 0, 1]}, "env 3: ended"),
        ("hung", {"status": [EnvStatus.READY, EnvStatus.DEAD, EnvStatus.READY]}, "env 2: hung"),
        ("nan(obs)", {"observation": [[0] * 4, [0, np.nan, 0, 0], [np.inf] * 4]}, "env 2: nan(obs)"),
    ],
)
def test_a_breakpoint_says_where_it_hits_and_why(steps, text, values, reported):
    """The first environment by number, and the numbers that the condition names."""
    steps.breakpoints.add(text, 3)
    assert steps.check(**values) == f"break: {reported}"


def test_the_action_is_the_one_that_led_to_the_step(steps):
    """It stands in the slot before."""
    steps.breakpoints.add("action == 2", 3)
    steps.buffer["action"][0] = [0, 1, 2]
    assert steps.check(action=[2, 2, 2]) == "break: env 3: action == 2 (action 2)"


def test_the_last_observation_of_an_episode_counts_too(steps):
    """It no longer stands among the observations; what stands there of older episodes does not count.

    Asking bits and bytes for NaN is no error.
    """
    steps.breakpoints.add("nan(obs)", 3)
    last = np.zeros((3, 4))
    last[:2] = np.nan
    assert steps.check(final_observation=last, terminated=[0, 1, 0]) == "break: env 2: nan(obs)"
    whole = Steps(toy("uint8"))
    whole.breakpoints.add("nan(obs)", 3)
    assert not whole.check(terminated=[1, 1, 1])


def test_of_several_seats_any_one_counts():
    """The environment is pointed at once, whoever of it meets the condition; the first such seat is named."""
    steps = Steps(toy(players=2))
    steps.breakpoints.add("env 2: reward > 0", 3)
    assert steps.check(reward=[5, 5, 0, 2, 1, 0]) == "break: env 2, seat 2: reward > 0 (reward 2)"
    steps.breakpoints.add("reward > 2", 3)
    assert steps.check(reward=[5, 5, 0, 0, 0, 3]) == "break: env 1, seat 1: reward > 2 (reward 5), and in 1 more"
    assert steps.breakpoints.hit == (0, 2)


def test_what_a_seat_has_and_what_all_share_are_looked_at_together():
    """The task's info may be per environment or per seat; one seat must meet all of a condition."""
    info = (Field("life", "float32", per="seat"), Field("stage", "float32"))
    steps = Steps(toy(players=2, info=info))
    steps.breakpoints.add("life < 5 and stage > 1 and not ended", 3)
    assert steps.check(life=[0, 0, 9, 9, 9, 4], stage=[1, 2, 2], terminated=[0, 0, 0, 0, 1, 0]) == (
        "break: env 3, seat 2: life < 5 and stage > 1 and not ended (life 4, stage 2)"
    )


def test_what_goes_on_hits_once_in_an_episode(steps):
    """It hits where it becomes true, and anew in the next episode."""
    steps.breakpoints.add("life < 5", 3)
    low, high = [9, 9, 1], [9, 9, 9]
    assert steps.check(life=low)
    assert steps.breakpoints.hit == (2,)
    assert not steps.check(life=low)
    assert steps.breakpoints.hit == ()
    assert not steps.check(life=high)
    assert steps.check(life=low, terminated=[0, 0, 1])
    assert not steps.check(life=high, terminated=[0, 0, 0])
    assert steps.check(life=low, terminated=[0, 0, 1]).startswith("break: env 3")
    assert steps.check(life=low, terminated=[0, 0, 1])


def test_what_is_off_or_removed_does_not_hit(steps):
    """On again, it does; the number stays. Number, whether it is on, hits, where, and what was typed are published."""
    block = np.zeros(MAX_BREAKPOINTS, BREAKPOINT)
    for text in ("any: ended", "env 2: life < 1"):
        steps.breakpoints.add(text, 3)
    steps.breakpoints.toggle(2)
    assert steps.check(terminated=[0, 1, 0])
    steps.breakpoints.write(block)
    assert block[:3].tolist() == [(1, 1, 1, 1, b"any: ended"), (2, 0, 0, -1, b"env 2: life < 1"), (0, 0, 0, 0, b"")]
    steps.breakpoints.toggle(1)
    assert not steps.check(terminated=[1, 1, 1])
    steps.breakpoints.toggle(1)
    assert steps.check()
    for number in (1, 2):
        steps.breakpoints.remove(number)
    assert not steps.breakpoints.enabled
    with pytest.raises(BadCondition, match="there is no breakpoint 1; known: none"):
        steps.breakpoints.toggle(1)


def test_what_is_no_breakpoint_is_refused(steps):
    """Nothing is added. The list has an end."""
    for text in ("obs > 3", "nan(obs) or obs", "env 9: ended", "reward <"):
        with pytest.raises(BadCondition):
            steps.breakpoints.add(text, 3)
    assert not steps.breakpoints.enabled
    for _ in range(MAX_BREAKPOINTS):
        steps.breakpoints.add("ended", 3)
    with pytest.raises(BadCondition, match="remove one"):
        steps.breakpoints.add("ended", 3)


def test_names_are_those_of_the_task(steps):
    """Scalars of the info and outcomes, with underscores; an action of several parts is no number."""
    assert {"life", "topped_out", "won", "action"} < set(condition_names(TOY))
    assert "hand" not in condition_names(TOY)
    assert "action" not in condition_names(toy(choices=(2, 3)))
    with pytest.raises(UnknownName, match="Did you mean topped_out"):
        steps.breakpoints.add("toped_out", 3)
