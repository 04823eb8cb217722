"""Each limit of a run holds across a resume: what counts the whole run, and seconds, which count since the resume."""

from itertools import count

import pytest

from pac.envs import BadParameter
from pac.training.config import Config
from pac.training.runs.checkpoint import load_newest
from pac.training.runs.folder import RunFolder
from pac.training.session.checkpoint_manager import CheckpointManager
from pac.training.session.session import Session

pytestmark = pytest.mark.session
TICK = 1 / 64  # s of the clock of a session for each step


@pytest.fixture
def train(tmp_path):
    """Return what runs a session in this process, by a clock of its own, and returns it and its report."""
    folders = count()

    def run(**options):
        (folder := tmp_path / f"session{next(folders)}").mkdir()
        common = {
            "task": "noop:length=32",
            "trainer": "random",
            "backend": "inline",
            "num_envs": 2,
            "checkpoint_every": 0,
        }
        session = Session(Config(**{**common, "runs_dir": tmp_path / "runs", **options}), folder, headless=True)
        passed, enter = [0], session.passage.enter

        def step():
            enter()
            passed[0] += 1

        session.passage.enter = step  # type: ignore[method-assign]
        session.clock._clock = lambda: passed[0] * TICK
        return session.run(), session

    return run


@pytest.mark.parametrize(("limit", "values"), [("steps", (200, 520)), ("frames", (200, 520)), ("episodes", (3, 9))])
def test_what_is_counted_counts_the_whole_run(tmp_path, train, limit, values):
    """A resumed run ends where one that was not interrupted does; further on, and not at once."""
    first, _ = train(name="run", seconds=99, **{limit: values[0]})
    whole, _ = train(name="whole", seconds=99, **{limit: values[1]})
    run = RunFolder.find(tmp_path / "runs", "run")
    before = run.metadata()
    with pytest.raises(BadParameter, match="A limit counts the whole run: set a higher one"):
        train(resume="run", **{limit: first[limit]})
    assert run.metadata() == before
    resumed, _ = train(resume="run", seconds=99, **{limit: values[1]})
    assert values[0] <= first[limit] < values[1] <= resumed[limit]
    for name in ("steps", "frames", "episodes", "iterations", "return_mean"):
        assert resumed[name] == whole[name], name
    assert (run.metadata()["state"], run.metadata()[limit]) == ("completed", whole[limit])
    assert load_newest(run.checkpoints).data["counters"][limit] == whole[limit]


def test_seconds_count_since_the_resume_and_go_on_in_the_run(tmp_path, train):
    """To the step: as many steps are taken within the same time, and the run's seconds are those of all sessions."""
    for options, steps, seconds in (
        ({"name": "run", "seconds": 3.0}, 384, 3.0),
        ({"resume": "run", "seconds": 3.0}, 768, 6.0),
        ({"resume": "run", "seconds": 5.0, "steps": 10_000}, 1408, 11.0),
        ({"resume": "run", "seconds": 5.0, "steps": 1536}, 1536, 12.0),
    ):
        report, session = train(**options)
        assert (report["steps"], report["seconds"]) == (steps, seconds)
        assert session.limits.used_up == 1
    rows = RunFolder.find(tmp_path / "runs", "run").metrics()
    assert [row["seconds"] for row in rows] == list(range(1, 13))


def test_the_time_between_checkpoints_begins_again_at_a_resume(monkeypatch, train):
    """So a resumed run is not saved at once, nor later than another."""
    saved, save = [], CheckpointManager.save

    def noted(manager, trainer, **options):
        saved.append(manager._counter.clock.now())
        save(manager, trainer, **options)
        manager._writer.wait()

    monkeypatch.setattr(CheckpointManager, "save", noted)
    train(name="run", checkpoint_every=2.0, seconds=7.0)
    train(resume="run", checkpoint_every=2.0, seconds=7.0)
    assert saved == [2, 4, 6, 7, 9, 11, 13, 14]


def test_a_condition_ends_a_run_and_holds_in_a_resumed_one(tmp_path, train):
    """The reason is in the report, in the run and an event; a resumed run does not take the condition over."""
    first, session = train(name="run", until="length > 31 and steps > 300", steps=100_000)
    run = RunFolder.find(tmp_path / "runs", "run")
    reason = f"--until length > 31 and steps > 300 (length 32, steps {first['steps']:,})"
    assert (first["reason"], first["steps"] % 128, first["episodes"] >= 100) == (reason, 0, True)
    assert (run.metadata()["state"], run.metadata()["reason"]) == ("completed", reason)
    assert f"the training has reached {reason}" in [event[-1] for event in session.events.recent]
    before = run.metadata()
    with pytest.raises(BadParameter, match=r"run already fulfils --until length > 31 \(length 32\)"):
        train(resume="run", until="length > 31")
    assert run.metadata() == before
    more, session = train(resume="run", until="length > 32 or rate/done < 0", steps=first["steps"] + 1)
    assert (more["reason"], more["steps"]) == (f"--steps {first['steps'] + 1:,}", first["steps"] + 128)
    assert session.config.until == "length > 32 or rate/done < 0"
