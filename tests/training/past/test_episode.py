"""An episode is recorded as it was played, plays again to the byte, and says where it does not."""

import json
import os
import threading
from dataclasses import replace

import numpy as np
import pytest

from pac.envs import BadParameter, find
from pac.envs.trust import NotTrusted, accept
from pac.training.past.episode import check, episode_moments, play
from pac.training.past.episode_file import BadEpisode, read, write
from pac.training.past.recorder import EpisodeRecorder
from pac.training.past.rerun import RerunMismatch
from pac.training.ranks import SingleRank
from pac.training.telemetry.events import EventLog
from pac.training.telemetry.moments import MomentSource
from pac.training.telemetry.records import RECORDING, WAITING

from ...waiting import until
from ..dice import DICE
from ..journey import Journey
from ..wanderer import WANDERER

SEED = 11


def recorded(folder, spec, steps=400, env=1, ranks=None, **options):
    """Play until an episode of an environment was recorded; return the file, the journey and the message."""
    events = EventLog()
    recorder = EpisodeRecorder(find(spec), SEED, "a-run", folder, events, ranks=ranks)
    assert recorder.want(env)
    journey = Journey(spec, steps, seed=SEED, recorder=recorder, **options)
    assert not recorder, "no episode ended"
    until(lambda: events.recent, "the recording is written")
    (path,) = folder.glob("*.jsonl")
    return path, journey, events.recent[-1][4]


@pytest.fixture(scope="module")
def bottle(tmp_path_factory):
    """The file of an episode, and the journey."""
    return recorded(tmp_path_factory.mktemp("episodes"), "drmario")[:2]


@pytest.mark.thorough
@pytest.mark.parametrize("spec", ["drmario", "CartPole-v1"])
def test_an_episode_is_recorded_from_its_reset_to_its_end(tmp_path, spec):
    """The second episode of the environment: as many steps as it had, and it plays again to the byte."""
    path, journey, reported = recorded(tmp_path, spec)
    episode = read(path)
    ends = [index for index, truth in enumerate(journey.truth) if truth[1]["end"]]
    assert (episode.env, episode.number, episode.run) == (1, 1, "a-run")
    assert episode.length == ends[1] - ends[0]
    assert episode.replays
    check(episode)
    assert f"{episode.length} steps of environment 2" in reported
    assert str(path) in reported


class SecondRank(SingleRank):
    """The second process of a training."""

    rank, size = 1, 2


@pytest.mark.thorough
def test_an_environment_of_another_process_has_its_global_number(tmp_path):
    """The episode replays, since the number decides its seeds; the second of three is the fifth of all."""
    path, _, message = recorded(tmp_path, "drmario", ranks=SecondRank(), first_env=3)
    episode = read(path)
    assert (episode.env, path.name) == (4, "env5-episode2.jsonl")
    check(episode)
    assert "environment 5; it replays" in message


@pytest.mark.thorough
def test_a_replay_shows_what_was_seen(bottle):
    """Boards, observations, rewards and terms of every moment are those of the journey."""
    path, journey = bottle
    episode = read(path)
    begun = next(index for index, truth in enumerate(journey.truth) if truth[1]["end"])
    for index, moment in enumerate(episode_moments(episode)):
        truth = (journey.truth if index else journey.begun)[begun + index][1]
        assert moment["source"] == MomentSource.REBUILT
        assert (moment["board:bottle"] == truth["board:bottle"]).all()
        assert (moment["observation"] == truth["observation"]).all()
        if index:
            assert moment["reward"] == truth["reward"]
            assert np.allclose(moment["terms"], truth["terms"])
    assert moment["end"] == truth["end"]


@pytest.mark.thorough
def test_a_seat_that_waited_took_no_action(tmp_path):
    """At each step of a recorded card game, exactly one of the two seats acted."""
    path, *_ = recorded(tmp_path, "leduc")
    both = np.array([episode_moments(read(path), seat)["acted"] for seat in (0, 1)])
    assert both.sum(axis=0).tolist() == [0] + [1] * (both.shape[1] - 1)


def test_an_episode_that_follows_no_seed_begins_from_a_state(tmp_path):
    """The state that an environment offers is in the file, and leads to the same bytes."""
    path, journey, reported = recorded(tmp_path, WANDERER, 100)
    assert "replays byte for byte" in reported
    episode = read(path, accept)
    assert episode.state is not None
    check(episode)
    with pytest.raises(RerunMismatch):
        check(replace(episode, state=None))
    begun = next(index for index, truth in enumerate(journey.truth) if truth[1]["end"])
    seen = [moment["observation"].tolist() for moment in episode_moments(episode)][:-1]
    assert seen == [truth[1]["observation"].tolist() for truth in journey.begun[begun:][: episode.length]]


@pytest.mark.thorough
def test_what_does_not_play_again_is_kept_with_its_boards(tmp_path):
    """Where seed and actions do not tell, the file has what was drawn, and the check says that it differs."""
    path, journey, reported = recorded(tmp_path, f"{DICE}:length=20", 100, looked_at=True)
    episode = read(path, accept)
    assert not episode.replays
    assert "does not replay: step 0: observation" in reported
    begun = next(index for index, truth in enumerate(journey.truth) if truth[1]["end"])
    for index, moment in enumerate(episode_moments(episode)):
        assert moment["source"] == MomentSource.STORED
        truth = (journey.truth if index else journey.begun)[begun + index][1]
        assert (moment["board:bars"] == truth["board:bars"]).all()


@pytest.mark.parametrize("name", ["observation", "action_mask", "reward", "terminated", "final_observation"])
def test_the_first_difference_is_named(bottle, name):
    """A step whose fingerprint is another is reported with its field."""
    episode = read(bottle[0])
    at = episode.length if name == "final_observation" else 5
    steps = list(episode.steps)
    steps[at] = replace(steps[at], prints={**steps[at].prints, name: "00" * 8})
    with pytest.raises(RerunMismatch, match=f"step {at}: {name} is ") as caught:
        check(replace(episode, steps=tuple(steps)))
    assert (caught.value.step, caught.value.field) == (at, name)


def unsummed(lines):
    """Return a file's lines without its checksum, as older versions wrote them."""
    end = json.loads(lines[-1])
    del end["sha256"]
    return [*lines[:-1], json.dumps(end)]


def with_line(lines, index, **changes):
    """Return a file's lines, where one has other values; it lacks those that are `...`."""
    line = {name: value for name, value in {**json.loads(lines[index]), **changes}.items() if value is not ...}
    found = list(lines)
    found[index] = json.dumps(line)
    return found


@pytest.fixture
def lines(bottle):
    """The lines of the file."""
    return bottle[0].read_text().splitlines()


@pytest.fixture
def other(tmp_path):
    """Return a function that writes lines into another file, whose path it returns."""

    def write_lines(lines):
        (path := tmp_path / "other.jsonl").write_text("\n".join(lines))
        return path

    return write_lines


def test_a_changed_reward_is_found(lines, other):
    """By the file's checksum; in a file of an older version, which has none, by playing it again."""
    check(read(other(unsummed(lines))))
    with pytest.raises(BadEpisode, match="its checksum or length is wrong"):
        read(other(with_line(lines, 6, reward=1e6)))
    with pytest.raises(RerunMismatch, match=r"step 5: reward is .*, 1000000\.0 was recorded"):
        check(read(other(with_line(unsummed(lines), 6, reward=1e6))))


def test_a_changed_board_is_found(bottle):
    """What is shown without playing again is compared, too."""
    episode = read(bottle[0])
    for index, machine in enumerate(play(episode)):
        if index == 3:
            board = machine.row("bottle")[0].copy()
    steps = list(episode.steps)
    for change, differs in ((0, False), (1, True)):
        steps[3] = replace(steps[3], boards={"bottle": board + change})
        changed = replace(episode, replays=False, steps=tuple(steps))
        if differs:
            with pytest.raises(RerunMismatch, match="step 3: bottle differs"):
                check(changed)
        else:
            check(changed)


DEEP = "[" * 100_000


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: [DEEP, *lines[1:]],
        lambda lines: [*lines[:4], DEEP, *lines[5:]],
        lambda lines: [*lines[:-1], DEEP],
        *(
            lambda lines, index=index, changes=changes: with_line(unsummed(lines), index, **changes)
            for index, changes in (
                (4, {"action": json.loads("[" * 60 + "]" * 60)}),
                (4, {"action": [10**90]}),
                (4, {"action": [float("inf")]}),
                *((4, {"reward": reward}) for reward in ("much", None, ...)),
                *((4, {"prints": prints}) for prints in ("", json.loads('{"observation": {}}'), ...)),
                (4, {"boards": {"bottle": "AAAA"}}),
                (4, {"action": ...}),
                *((0, {"steps": steps}) for steps in ("2", 1e999, ...)),
                *((0, {"seed": seed}) for seed in (10**90, 0.5, ...)),
                *((0, {"task": task}) for task in (3, ...)),
                *((0, {name: ...}) for name in ("format", "version")),
                *((0, {"episode": -1}), (0, {"env": None}), (-1, {"trajectory": ...})),
            )
        ),
        # Those that are whole, but changed or cut.
        lambda lines: with_line(lines, 4, action=[json.loads(lines[4])["action"][0] + 1]),
        lambda lines: [*lines[:4], *lines[5:]],
        lambda lines: lines[:-1],
        *(lambda lines, new=new: with_line(lines, 0, **new) for new in ({"version": 9}, {"env": -1}, {"env": 10**15})),
        *(lambda _, text=text: text for text in (["nothing"], [], ["[]"])),
    ],
)
def test_lines_that_no_recorder_wrote_are_refused(lines, other, change):
    """Nesting, numbers, types, missing keys and lines: each is the same sentence."""
    with pytest.raises(BadEpisode, match=r"other\.jsonl"):
        read(other(change(lines)))


def test_an_episode_of_another_task_is_refused(bottle, lines, other, tmp_path):
    """If observations and actions meant something else, or if the defaults of a task have changed since."""
    episode, path = read(bottle[0]), tmp_path / "version.jsonl"
    write(path, replace(episode, task=replace(episode.task, version=2)))
    with pytest.raises(BadEpisode, match="was recorded with version 2 of drmario, and this is version 1"):
        read(path)
    with pytest.raises(BadEpisode, match=r"other\.jsonl was recorded with 2 seats, and drmario.* has 1"):
        read(other(with_line(unsummed(lines), 2, action=[3, 3])))


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero"), lambda path: path.mkdir()])
def test_what_is_no_regular_file_is_refused(tmp_path, make):
    """Nothing waits for it."""
    with pytest.raises(BadEpisode, match="cannot be read"):
        read(tmp_path / "x.jsonl")
    make(tmp_path / "x.jsonl")
    with pytest.raises(BadEpisode, match="a regular file was expected"):
        read(tmp_path / "x.jsonl")


def test_a_task_that_may_run_code_needs_trust(lines, other, tmp_path):
    """Nothing is imported or called; whoever is asked sees the task and the file."""
    spec, asked = f"os:system:command=touch {tmp_path / 'created'}", []
    path = other(with_line(unsummed(lines), 0, task=spec))
    with pytest.raises(NotTrusted, match="Add --trust"):
        read(path)

    def vouch(*what):
        asked.append(what)
        return False

    with pytest.raises(NotTrusted):
        read(path, vouch)
    with pytest.raises(BadParameter, match=r"[Ii]t was not called"):
        read(path, accept)
    ((named, file),) = asked
    assert (repr(spec) in str(named), file) == (True, str(path))
    assert not (tmp_path / "created").exists()


def test_a_state_is_read_of_environments_only_that_save_theirs(lines, other):
    """A compiled game would compute with whatever a file says."""
    assert read(other(with_line(unsummed(lines), 0, state="AAAA"))).state is None


def test_writing_and_reading_gives_the_same(bottle, tmp_path):
    """Every step comes back, whatever the shape of the actions."""
    episode = read(bottle[0])
    write(tmp_path / "again.jsonl", episode)
    again = read(tmp_path / "again.jsonl")
    assert again.trajectory == episode.trajectory
    assert [step.prints for step in again.steps] == [step.prints for step in episode.steps]


def test_asking_again_takes_it_back(tmp_path):
    """The second wish ends the first; the states tell which environments wait and which are recorded."""
    recorder = EpisodeRecorder(find("drmario"), SEED, "a-run", tmp_path, EventLog())
    assert recorder.want(0)
    assert recorder.want(2)
    assert not recorder.want(0)
    assert recorder.states(3).tolist() == [0, 0, WAITING]
    Journey("drmario", 40, seed=SEED, recorder=recorder)
    assert recorder.states(3).tolist() == [0, 0, RECORDING]
    recorder.reset()
    assert not recorder
    assert not [thread for thread in threading.enumerate() if thread.name == "recorder"]
