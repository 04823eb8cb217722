"""Episodes that have ended, made again from the actions that a session keeps."""

from dataclasses import replace

import numpy as np
import pytest

from pac.envs import find
from pac.training.episode_choice import EpisodeChoice
from pac.training.past.episode import check
from pac.training.past.episode_file import read, write
from pac.training.past.rebuilding import rebuilt
from pac.training.past.recorder import EpisodeRecorder
from pac.training.past.rerun import RerunImpossible, RerunMismatch
from pac.training.telemetry.events import EventLog

from ...waiting import until
from ..dice import DICE
from ..journey import Journey

SEED = 11


@pytest.fixture(scope="module")
def journey():
    """Three bottles, 400 steps."""
    return Journey("drmario", 400, seed=SEED)


def ends_of(journey, env):
    """The steps that ended an episode."""
    return [index for index, truth in enumerate(journey.truth) if truth[env]["end"]]


def length_of(journey, env, number):
    """The steps of an episode."""
    return len(journey.history.episode_span(env, number).actions)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_an_episode_is_the_one_that_was_played(journey, number):
    """As many steps, the same rewards, and a file that can be checked."""
    span = journey.history.episode_span(1, number)
    episode = rebuilt(journey.task, SEED, 1, span, "a-run")
    before, last = ([0, *ends_of(journey, 1)][number], ends_of(journey, 1)[number])
    assert (episode.env, episode.number, episode.length) == (1, number, last - before)
    played = [float(journey.truth[step][1]["reward"]) for step in range(before + 1, last + 1)]
    assert [step.reward for step in episode.steps[1:]] == played
    check(episode)


def test_the_steps_around_a_state_begin_with_the_oldest_one_that_is_kept(journey, tmp_path):
    """With the first state of the episode, or with a state that was stored, which only an own file restores."""
    passages = (journey.history.passages(1, step) for step in range(1, 400))
    whole, part = next(found for found in passages if len(found) == 2 and found[1].first > found[0].first)
    longer, shorter = (rebuilt(journey.task, SEED, 1, span, "a-run") for span in (whole, part))
    assert [step.prints for step in shorter.steps[1:-1]] == [step.prints for step in longer.steps[1:-1]][
        part.first - whole.first :
    ]
    write(tmp_path / "past.jsonl", replace(shorter, state=part.state))
    again = read(tmp_path / "past.jsonl", own=True)
    assert again.state is not None
    check(again)
    assert read(tmp_path / "past.jsonl").state is None


@pytest.mark.thorough
def test_a_running_or_unknown_episode_is_not_kept(journey):
    """Nor one whose beginning is no longer kept."""
    ended = len(ends_of(journey, 0))
    assert [journey.history.episode_span(0, number) for number in (-1, ended, ended + 5)] == [None] * 3
    long = Journey("noop:length=7", 4_500, num_envs=1, seed=SEED)
    kept = [number for number in range(4_500 // 7) if long.history.episode_span(0, number) is not None]
    assert kept == list(range(4_500 // 7 - len(kept), 4_500 // 7))
    assert len(kept) in {4_096 // 7 - 1, 4_096 // 7}


def test_a_recorder_keeps_an_episode_on_request(journey, tmp_path):
    """As a file like any other; later it is found there, and another one of that number is not taken for it."""
    recorder = EpisodeRecorder(journey.task, SEED, "a-run", tmp_path, EventLog())
    length = length_of(journey, 2, 1)
    path = recorder.keep(2, 1, length, journey.history)
    assert path == tmp_path / "env3-episode2.jsonl"
    assert read(path).length == length
    later = Journey("drmario", 3, seed=SEED).history
    assert recorder.keep(2, 1, length, later) == path
    with pytest.raises(RerunImpossible, match="no longer kept"):
        recorder.keep(2, 1, length + 1, later)


def test_an_environment_that_is_not_deterministic_is_refused(tmp_path):
    """The message says what differs."""
    journey = Journey(f"{DICE},length=20", 60, seed=SEED)
    recorder = EpisodeRecorder(find(f"{DICE},length=20"), SEED, "a-run", tmp_path, EventLog())
    with pytest.raises(RerunMismatch, match="was"):
        recorder.keep(0, 0, length_of(journey, 0, 0), journey.history)
    assert not list(tmp_path.iterdir())


@pytest.mark.thorough
def test_the_best_episode_is_recorded(tmp_path):
    """Again whenever there is a better one, also after the run was resumed."""
    recorder = EpisodeRecorder(find("drmario"), SEED, "a-run", tmp_path, EventLog(), choice=EpisodeChoice.parse("best"))
    journey = Journey("drmario", 400, seed=SEED, recorder=recorder)
    returns = [float(truth[env]["episode_return"]) for truth in journey.truth for env in range(3) if truth[env]["end"]]
    path = tmp_path / "best.jsonl"
    until(lambda: path.exists() and np.isclose(sum(step.reward for step in read(path).steps), max(returns)))
    check(read(path))
    choice = EpisodeChoice.parse("best")
    EpisodeRecorder(find("drmario"), SEED, "a-run", tmp_path, EventLog(), choice=choice)
    assert np.isclose(choice.record, max(returns))
