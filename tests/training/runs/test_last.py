"""What a session that died leaves to be looked at."""

from pac.backends.segment import runtime_directory
from pac.envs import find
from pac.training.runs.folder import LAST
from pac.training.runs.last import sweep_dead
from pac.training.runs.sessions import read_session
from pac.training.telemetry.blocks import TelemetryWriter
from pac.training.telemetry.description import describe
from pac.training.telemetry.records import Phase

NOBODY = "999999999-1-00"


def test_a_session_that_was_killed_inside_a_block_is_kept(tmp_path):
    """Wherever it was killed, its last state can be read in its run's folder."""
    task, died = find("drmario"), runtime_directory() / NOBODY
    died.mkdir()
    facts = {"run": "r", "trainer": "ppo", "backend": "inline", "device": "cpu", "seed": 1, "version": "0", "pid": 1}
    writer = TelemetryWriter(task, describe(task, **facts, folder=str(tmp_path)), 4, 1, died)
    with writer.write("state") as state:
        state["phase"], state["num_envs"] = Phase.RUNNING, 4
        sweep_dead()
    assert not died.exists()
    kept = read_session(tmp_path / LAST, 0, alive=False)
    assert kept is not None
    assert kept.snapshot.num_envs == 4
