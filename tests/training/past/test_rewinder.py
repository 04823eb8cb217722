"""What is found by going back is what was there, to the byte; what is not there is said."""

import threading

import numpy as np
import pytest

from pac.training.past.rewinder import Rewinder
from pac.training.ranks import SingleRank
from pac.training.telemetry.moments import MomentSource
from pac.training.telemetry.records import MAX_STEPS_BACK

from ...waiting import until
from ..dice import DICE
from ..journey import Journey
from ..wanderer import WANDERER

KNOWN = ("step", "source", "note", "now", "value", "acted", "action", "decided", "next_action", "progress")


def rewinder(journey):
    """Return a rewinder of a journey, and what it published on the way."""
    said: list[np.ndarray] = []
    return Rewinder(journey.task, journey.seed, lambda: journey.history, said.append, pytest.fail), said


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("spec", "seat"),
    [
        ("drmario", 0),
        pytest.param("drmario-frames", 0, marks=pytest.mark.thorough),
        ("autochess:players=8", 5),
        pytest.param("CartPole-v1", 0, marks=pytest.mark.thorough),
        (WANDERER, 0),
    ],
)
def test_every_step_back_is_what_was_there(spec, seat):
    """Observation, mask, reward, terms, scalars and boards of 200 steps, over ends of episodes, for the chosen seat."""
    journey = Journey(spec, 200, seat=seat)
    back, _ = rewinder(journey)
    names = [name for name in journey.truth[0].dtype.names or () if name not in KNOWN]
    for steps in (*range(1, 70), 100, 150, 199, 200):
        for begun, truths in ((False, journey.truth), (True, journey.begun)):
            truth = truths[200 - steps][1]
            moment = back.moment(1, steps, seat, begun=begun)
            assert moment["source"] == MomentSource.REBUILT, moment["note"]
            assert moment["step"] == 200 - steps
            for name in names:
                if name.startswith(("board:picture", "board:bars")):
                    continue  # nobody looked when it was played
                if begun and name == "info":
                    continue  # the step left that of the ended episode: see test_last_state
                nan = name in {"terms", "info"}
                assert np.array_equal(moment[name], truth[name], equal_nan=nan), (name, steps)


class SecondRank(SingleRank):
    """The second process of a training."""

    rank, size = 1, 2


def test_an_environment_of_another_process_is_replayed_with_its_global_number():
    """Environment 1 of the second process of three environments each has the seeds of environment 4."""
    journey = Journey("drmario", 100, first_env=3)
    back = Rewinder(
        journey.task, journey.seed, lambda: journey.history, lambda _moment: None, pytest.fail, ranks=SecondRank()
    )
    moment = back.moment(1, 1)
    assert moment["source"] == MomentSource.REBUILT, moment["note"]
    assert np.array_equal(moment["observation"], journey.truth[99][1]["observation"])


def test_the_step_that_ends_an_episode_is_that_episodes():
    """Though the next one has begun in it; the step after it is the next one's first."""
    moments = [moments[0] for moments in Journey("CartPole-v1", 100).truth]
    numbers = [int(moment["episode"]) for moment in moments]
    lengths = [int(moment["episode_length"]) for moment in moments]
    ends = [step for step, moment in enumerate(moments) if moment["end"]]
    assert len(ends) > 1
    for count, end in enumerate(ends[:-1], 1):
        assert (numbers[end], numbers[end + 1], lengths[end + 1]) == (count - 1, count, 1)


def test_decisions_and_values_are_those_that_were_made():
    """The action that led to a state, the one decided in it, and the value of that decision.

    The first thing that is published is that it is being worked on.
    """
    journey = Journey("drmario", 60)
    back, said = rewinder(journey)
    moment = back.moment(2, 7)
    assert (said[0]["source"], said[0]["step"]) == (MomentSource.WORKING, 53)
    before, after = journey.history.decision(2, 53), journey.history.decision(2, 54)
    assert before is not None
    assert after is not None
    assert moment["action"] == before.action
    assert moment["next_action"] == after.action
    assert moment["value"] == np.float32(after.value)
    first = back.moment(2, 60)
    assert not first["acted"]
    assert first["decided"]


@pytest.mark.parametrize("seat", [0, 1])
def test_a_seat_that_waited_took_no_action(seat):
    """In a card game only one of two seats decides at each step; the action of the other has no meaning."""
    journey = Journey("leduc", 60)
    back, _ = rewinder(journey)
    waited = 0
    for step in range(20, 60):
        moment = back.moment(1, 60 - step, seat)
        if not moment["end"]:
            assert moment["acted"] == journey.decides[step - 1][2 + seat]
            assert moment["decided"] == journey.decides[step][2 + seat]
            waited += not moment["acted"]
    assert waited > 5


def test_an_environment_that_is_gone_is_not_looked_for():
    """A wish from before a restart with fewer environments is forgotten; the next one is granted."""
    journey, looked = Journey("noop", 10), threading.Event()
    said: list[np.ndarray] = []

    def history():
        looked.set()
        return journey.history

    back = Rewinder(journey.task, journey.seed, history, said.append, pytest.fail)
    back.request(99, 1)
    until(looked.is_set)
    assert not said
    back.request(1, 2)
    until(lambda: said)
    assert {int(moment["env"]) for moment in said} == {1}


def test_a_request_that_fails_is_reported_and_the_next_one_is_served():
    """Whatever raises in its thread, once per reason; the thread goes on."""
    journey, broken = Journey("noop", 10), threading.Event()
    said: list[np.ndarray] = []
    reported: list[str] = []
    broken.set()

    def publish(moment):
        if broken.is_set():
            raise OSError("no segment")
        said.append(moment)

    back = Rewinder(journey.task, journey.seed, lambda: journey.history, publish, reported.append)
    back.request(0, 1)
    until(lambda: reported)
    back.request(0, 1)
    until(lambda: back._wanted is None)
    broken.clear()
    back.request(1, 2)
    until(lambda: said)
    assert reported == ["an earlier step of environment 1 cannot be shown: OSError: no segment"]


def test_an_environment_that_does_not_replay_says_so_and_shows_what_was_kept():
    """A board that somebody saw is shown as it was; without one, the moment is missing."""
    journey = Journey(DICE, 40, looked_at=True)
    back, _ = rewinder(journey)
    moment = back.moment(0, 5)
    assert moment["source"] == MomentSource.STORED
    assert b"not deterministic: " in bytes(moment["note"])
    assert np.array_equal(moment["board:bars"], journey.truth[35][0]["board:bars"])
    unseen = Journey(DICE, 40)
    assert unseen.history._boards is not None
    unseen.history._boards.forget()
    assert rewinder(unseen)[0].moment(0, 5)["source"] == MomentSource.MISSING


@pytest.mark.thorough
def test_the_ring_forgets_and_says_so():
    """After more steps than it holds, an episode whose beginning is gone cannot be rebuilt; the last 500 steps can."""
    journey = Journey("drmario-frames", 1500, num_envs=1)
    assert journey.history.back == MAX_STEPS_BACK
    back, _ = rewinder(journey)
    for steps in (1, 63, 64, 65, MAX_STEPS_BACK):
        moment = back.moment(0, steps)
        assert moment["source"] == MomentSource.REBUILT
        assert np.array_equal(moment["observation"], journey.truth[1500 - steps][0]["observation"])
        span = journey.history.rerun_span(0, 1500 - steps)
        assert span is not None
        assert len(span.actions) <= 128
