"""The last state of an episode is shown as it was, and not the first one of the episode that the same step began."""

from contextlib import closing
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from pac.backends import make
from pac.envs import find
from pac.envs.actions import random_actions
from pac.envs.task import ASKED
from pac.training.past.rewinder import Rewinder
from pac.training.telemetry.moments import MomentSource, drawn_fields, fill_moment, has_last_boards, moment_dtype

from ..dice import DICE
from ..journey import Journey


def found(journey, env, step, *, begun=False):
    """What going back to a step of a journey finds."""
    rewinder = Rewinder(journey.task, journey.seed, lambda: journey.history, lambda _moment: None, pytest.fail)
    return rewinder.moment(env, journey.history.now - step, begun=begun)


def act(task, buffer, random):
    """Choose legal actions for all seats."""
    rows = len(buffer["action"][0])
    legal = np.ones((rows, task.num_actions), np.bool_)
    if task.masked:
        bits = np.unpackbits(buffer["action_mask"][0], axis=1, bitorder="little")
        legal = bits[:, : task.num_actions].astype(np.bool_)
    buffer["action"][0] = random_actions(task, random.random((rows, task.num_actions)), legal)


def ends_of(journey, env):
    """The steps that ended an episode of an environment."""
    return [step for step, moments in enumerate(journey.truth) if moments[env]["end"]]


@pytest.mark.thorough
@pytest.mark.parametrize("spec", ["noop:length=7", "CartPole-v1", "kuhn"])
def test_both_states_of_a_step_that_ended_an_episode(spec):
    """The last one has the end and no legal action; the first one nothing of the episode before."""
    journey = Journey(spec, 60)
    end = ends_of(journey, 1)[0]
    last, first = (found(journey, 1, end, begun=begun) for begun in (False, True))
    row = journey.task.players  # the first seat of environment 1
    assert last["end"]
    assert last["acted"] == journey.decides[end - 1][row]
    assert not last["decided"]
    assert not last["mask"].any()
    assert first["begun"]
    assert not first["end"]
    assert not first["acted"]
    assert first["decided"] == journey.decides[end][row]
    assert first["episode"] == last["episode"] + 1
    assert first["episode_length"] == first["episode_return"] == first["reward"] == 0
    assert not np.array_equal(first["observation"], last["observation"])


class Lottery(gymnasium.Env):
    """Episodes of three steps, whose info has a number that is drawn at the beginning."""

    observation_space = gymnasium.spaces.Box(0.0, 1.0, (1,))
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.left, self.info = 3, {"drawn": float(self.np_random.random())}
        return self._seen(), self.info

    def step(self, _action):
        self.left -= 1
        return self._seen(), 0.0, self.left == 0, False, self.info

    def _seen(self):
        return np.array([self.left / 3], np.float32)


def test_the_first_state_after_an_end_has_its_info():
    """The step that ended an episode left the info of that; going back finds the one of the next episode, too."""
    journey = Journey(f"{__name__}:Lottery", 9)
    end = ends_of(journey, 1)[1]
    last, first = (found(journey, 1, end, begun=begun) for begun in (False, True))
    assert last["info"].tolist() == found(journey, 1, end - 1)["info"].tolist()
    assert first["info"].tolist() == found(journey, 1, end + 1)["info"].tolist() != last["info"].tolist()


@pytest.mark.thorough
def test_the_last_board_of_a_replay_is_drawn_before_the_reset():
    """The bars of CartPole are its final observation."""
    journey = Journey("CartPole-v1", 60)
    end = ends_of(journey, 0)[0]
    (board,) = drawn_fields(journey.task)
    last, first = (found(journey, 0, end, begun=begun)[f"board:{board.name}"] for begun in (False, True))
    if board.name == "bars":
        assert np.array_equal(last, journey.truth[end][0]["observation"])
    assert not np.array_equal(last, first)


def test_what_cannot_be_played_again_has_the_last_board_that_somebody_saw():
    """Drawn before the reset; the next episode's first is kept beside it. One that nobody saw is missing."""
    unseen = Journey(f"{DICE}:length=20", 60)
    assert found(unseen, 0, ends_of(unseen, 0)[0])["source"] == MomentSource.MISSING
    journey = Journey(f"{DICE}:length=20", 60, looked_at=True)
    end = ends_of(journey, 0)[0]
    last, first = (found(journey, 0, end, begun=begun) for begun in (False, True))
    assert last["source"] == first["source"] == MomentSource.STORED
    assert np.array_equal(last["board:bars"], journey.truth[end][0]["board:bars"])
    assert np.array_equal(first["board:bars"], journey.begun[end][0]["board:bars"])
    assert not np.array_equal(last["board:bars"], first["board:bars"])


@pytest.mark.thorough
@pytest.mark.parametrize("depth", [1024, 40])
@pytest.mark.parametrize("spec", [f"{DICE}:length=20", "kinds:Tag"])
def test_return_and_length_are_known_without_a_replay(monkeypatch, spec, depth):
    """Of all steps whose episode began before no more than are kept; of others they are missing, and not 0."""
    monkeypatch.setattr("pac.training.past.history.MIN_DEPTH", depth)
    monkeypatch.setattr("pac.training.past.history.MAX_DEPTH", depth)
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "backends"))
    journey = Journey(spec, 60)
    known = 0
    for step in range(max(0, 60 - depth) + 1, 61):
        for begun in (False, True):
            found, truth = journey.history.episode_at(1, step, begun=begun), (journey.begun if begun else journey.truth)
            if begun and not truth[step][1]["begun"]:
                continue
            expected = truth[step][1]
            assert found.number == expected["episode"]
            if found.length >= 0:
                known += 1
                assert found.gained == pytest.approx(expected["episode_return"])
                assert found.length == expected["episode_length"]
            else:
                assert np.isnan(found.gained)
                assert depth == 40
    assert known > 10


@pytest.mark.parametrize(("looked_at", "asked"), [(0, 0), (1, 0), (0, ASKED)])
def test_environments_draw_their_last_state_only_for_who_asks(looked_at, asked):
    """Before the reset; who wants to see the end only is not drawn at every step."""
    task = find(f"{DICE}:length=5")
    backend = make(task, 2, "inline", slots=1, seed=3)
    backend.start(0)
    buffer = backend.buffer
    buffer["final_drawn"][0] = (asked, 0)
    for _ in range(5):
        buffer["looked_at"][0] = (looked_at, 0)
        backend.advance(0)
    assert (buffer["truncated"][0] | buffer["terminated"][0]).all()
    assert has_last_boards(buffer, 0) == (asked != 0)
    assert not has_last_boards(buffer, 1)
    if asked:
        assert np.array_equal(buffer["final_bars"][0, 0], buffer["final_observation"][0, 0])
    assert np.array_equal(buffer["bars"][0, 0], buffer["observation"][0, 0]) == (looked_at == 1)
    backend.close()


@pytest.mark.parametrize("spec", ["drmario-frames:level=20", "kuhn", "noop:length=3", "autochess"])
def test_no_game_draws_a_last_state_that_nobody_asked_for(spec):
    """The fields stay as they are, so that ends cost nothing."""
    task = find(spec)
    backend = make(task, 1, "inline", slots=1, seed=3)
    backend.start(0)
    random, buffer = np.random.default_rng(0), backend.buffer
    while not buffer["outcome"][0, 0]:
        act(task, buffer, random)
        backend.advance(0)
    for item in task.last_boards:
        assert not buffer[item.name].any(), item.name
    backend.close()


@pytest.mark.session
@pytest.mark.parametrize(
    ("spec", "name"),
    [
        *((spec, "shm") for spec in ("noop:length=5", "drmario:level=20", "CartPole-v1")),
        *(("drmario:level=20", "http"), ("CartPole-v1", "socket")),
    ],
)
def test_every_backend_has_the_same_last_boards(name, spec):
    """Those of `inline`, and the boards beside them too."""
    task, records = find(spec), []
    for kind in ("inline", name):
        with closing(make(task, 2, kind, slots=1, seed=3)) as backend:
            backend.start(0)
            random, buffer = np.random.default_rng(0), backend.buffer
            ends, seen = 0, []
            for _ in range(400):
                if "looked_at" in buffer:
                    buffer["looked_at"][0] = 1
                buffer["final_drawn"][0] = np.where(buffer["final_drawn"][0], buffer["final_drawn"][0], ASKED)
                act(task, buffer, random)
                backend.advance(0)
                for env in np.flatnonzero(buffer["outcome"][0]).tolist():
                    ends += 1
                    assert has_last_boards(buffer, env)
                    moment = np.zeros(2, moment_dtype(task))
                    for begun in (False, True):
                        fill_moment(moment[begun : begun + 1].reshape(()), task, buffer, 0, env, begun=begun)
                    seen.append(moment)
                if ends >= 3:
                    break
            records.append(seen)
    assert len(records[0]) == len(records[1]) >= 3
    for one, other in zip(*records, strict=True):
        for field in one.dtype.names:
            assert np.array_equal(one[field], other[field], equal_nan=one[field].dtype.kind == "f"), field
