"""The start of a session's process, and what it refuses."""

import json
import os

import pytest

from pac.backends.system.segment import new_directory, remove_directory
from pac.envs import BadParameter
from pac.training.config import Config
from pac.training.session.session import Session

from ...programs import python
from ..watched import running, session

START = """
import tests.training.stuck, pac.training.session.commands, pac.training.session.session
from pac.training import loading
from pac.training.session import host
loading.MAKING_LIMIT, host.USUAL = 3, 1
raise SystemExit(host.main())
"""


@pytest.mark.session
def test_an_environment_that_blocks_while_it_is_probed_ends_the_start(tmp_path):
    """After the time limit, with an error that says where it blocks."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    pipe.with_suffix(".probed").touch()
    task = f"tests.training.stuck:Stuck:pipe={pipe},where=reset"
    request = Config(task=task, hang_timeout=0.5, runs_dir=tmp_path / "runs").model_dump(mode="json")
    process = python("-c", START, input=json.dumps({"headless": True, **request}))
    assert process.returncode == 1
    *said, answer = map(json.loads, process.stdout.splitlines())
    assert said[0] == {"does": f"making the environment {task}: 1 s"}
    assert "not done within 3 s; it is in _read, " in answer["error"]


def test_a_breakpoint_of_an_environment_that_does_not_exist_is_refused(tmp_path, runtime_directory):
    """The error has the range, and no run is left behind."""
    config = Config(task="noop", trainer="random", num_envs=4, breakpoints=("env 99: ended",), runs_dir=tmp_path)
    directory = new_directory()
    with pytest.raises(BadParameter, match=r"no environment 99 in .* numbered 1 to 4"):
        Session(config, directory)
    remove_directory(directory)
    assert not list(tmp_path.iterdir())


@pytest.mark.session
def test_a_breakpoint_whose_environment_is_gone_is_reported(tmp_path):
    """After a restart with fewer environments; the others are not mentioned."""
    with session(tmp_path, breakpoints=("env 4: reward > 1e9", "env 2: reward > 1e9")) as watched:
        watched.until(running)
        watched.call("restart", num_envs=3)
        watched.until(lambda snapshot: snapshot.num_envs == 3 and running(snapshot))
        events = [event.text for event in watched.see().events if "cannot hit" in event.text]
        assert events == ["the breakpoint 'env 4: reward > 1e9' cannot hit: there are only 3 environments"]
