"""`pac-tui stop` has a session save and end."""

import os

import gymnasium
import pytest

from pac.training import watch
from pac.training.config import Config
from pac.training.runs.folder import RunFolder
from pac.training.session.host import launch
from pac.tui.cli.commands import main

from ...training.watching.scripted import forget_all
from ...waiting import until

pytestmark = pytest.mark.session


@pytest.mark.parametrize("trainer", ["dqn", "random"])
def test_a_session_saves_and_ends(tmp_path, capsys, trainer):
    """The command waits for that, and says how to go on if there is something to go on from."""
    runs = tmp_path / "runs"
    config = {"task": "noop", "backend": "inline", "num_envs": 2, "runs_dir": runs, "name": "mine", "trainer": trainer}
    process = launch(Config.model_validate(config), headless=True)
    until((runs / "mine" / "metrics.jsonl").exists, "some steps")
    assert main(["stop", "mine", "--runs-dir", str(runs)]) == 0
    assert process.report()["run"] == str(runs / "mine")
    run = RunFolder(runs / "mine")
    assert run.metadata()["state"] == "interrupted"
    said = capsys.readouterr().out
    assert "mine has ended after" in said
    assert ("continue it: pac-tui run --resume mine" in said) == run.saved


def test_a_watched_script_is_left_alone(capsys):
    """Only the person at its keyboard ends it."""
    env = watch(gymnasium.make("CartPole-v1"), name="a-script")
    env.reset(seed=1)
    env.step(0)
    assert main(["stop", "a-script"]) == 2
    assert f"kill -INT {os.getpid()}" in capsys.readouterr().err
    env.step(0)
    forget_all()


def test_what_does_not_run_cannot_be_stopped(capsys):
    """The error names it."""
    assert main(["stop", "nothing"]) == 2
    assert "'nothing'" in capsys.readouterr().err
