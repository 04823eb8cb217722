"""Solving in a real session: its figures, its workers, and runs that are left and resumed."""

import os
import re
import resource
import shutil
import signal
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from pac.training.config import Config
from pac.training.runs.checkpoint import DATA, TENSORS, load_newest, save
from pac.training.runs.folder import RunFolder
from pac.training.session.control import CommandRefused, SessionClient
from pac.training.session.host import SessionFailed, SessionProcess, launch
from pac.training.telemetry.blocks import TelemetryReader
from pac.training.telemetry.snapshot import Snapshot, ViewRequest, take_snapshot

from ...waiting import LIMIT
from ...waiting import until as waited

pytestmark = pytest.mark.session
KILLS = 20


def started(folder: Path, **options: Any) -> SessionProcess:
    common = {"task": "leduc", "runs_dir": folder, "num_envs": 2}
    return launch(Config.model_validate({**common, **options}), headless=True)


def until(session: SessionProcess, condition: Any) -> Snapshot:
    """Watch a session until a condition is true of what is seen; return that."""
    reader = TelemetryReader(session.directory)

    def seen() -> Snapshot | None:
        assert session.poll() is None, "the session ended"
        snapshot = take_snapshot(reader, ViewRequest(count=0))
        return snapshot if condition(snapshot) else None

    found = waited(seen, "what is seen", LIMIT)
    assert found is not None
    return found


def texts(seen: Snapshot) -> list[str]:
    return [event.text for event in seen.events]


def test_a_session_solves_and_reports(tmp_path):
    """NashConv falls, fps are iterations, the memory was reported before it began, and a killed worker is replaced."""
    session = started(tmp_path, name="run")
    seen = until(session, lambda seen: seen.state["frames"] > 0 and len(seen.processes) == 2)
    os.kill(int(seen.processes["pid"][1]), signal.SIGKILL)
    back = until(session, lambda seen: any("is back" in text for text in texts(seen)))
    said = texts(until(session, lambda seen: seen.state["frames"] > back.state["frames"] + 100_000))
    session.terminate()
    begun = [
        next(at for at, text in enumerate(said) if text.startswith(start)) for start in ("table: ", "using transport")
    ]
    assert begun == sorted(begun)
    assert said[begun[1]].startswith("using transport: shm, 2 workers")
    assert any("killed by SIGKILL" in text for text in said)
    assert not any("inference" in text for text in said)
    report = session.report()
    assert (report["trainer"], report["backend"], report["num_envs"]) == ("mccfr", "shm", 2)
    assert 0 < report["nash_conv"] < 0.5
    assert 900 < report["information_sets"] <= 936  # those that were reached
    assert report["fps"] > report["sps"] > 0
    assert sum(report["time_ms"].values()) == pytest.approx(1000 / report["sps"], rel=0.05)
    assert RunFolder.find(tmp_path, "run").metadata()["nash_conv"] == report["nash_conv"]


def test_it_can_be_stopped_while_the_cards_are_sorted(tmp_path, monkeypatch):
    """How far that is can be seen meanwhile; whoever stops it has not to wait for the end, and nothing is kept."""
    monkeypatch.setenv("PAC_CACHE_DIR", str(tmp_path / "cache"))
    session = started(tmp_path, task="holdem:flop=300,turn=20000,river=20000")
    building = "building the card abstraction: "
    until(session, lambda seen: building in seen.state["message"] and seen.state["progress"] > 0)
    session.terminate()
    assert session.report()["frames"] == 0
    assert not list((tmp_path / "cache").glob("holdem-*"))


def test_it_goes_on_with_another_number_of_workers(tmp_path):
    """Three workers go on where two were interrupted, not before: no count is lost, and numbers of iterations go on."""
    first = started(tmp_path, name="run")
    until(first, lambda seen: seen.state["iterations"] > 0)
    with pytest.raises(SessionFailed, match=f"being trained by process {first.pid}"):
        started(tmp_path, resume="run")
    first.terminate()
    before = first.report()
    saved = load_newest(RunFolder.find(tmp_path, "run").checkpoints)
    assert saved.data["data"]["iterations"] == saved.data["counters"]["frames"] == before["frames"]
    second = started(tmp_path, resume="run", num_envs=3, seconds=0.3)
    after = second.report()
    again = load_newest(RunFolder.find(tmp_path, "run").checkpoints)
    assert after["num_envs"] == 3
    assert again.data["data"]["iterations"] == after["frames"] > before["frames"]
    assert (again.tensors["updates"] >= saved.tensors["updates"]).all()


def test_kuhn_says_why_it_has_one_worker(tmp_path):
    """Where two are asked for, one is taken, which is reported once; what it learns is no episode to be recorded."""
    session = started(tmp_path, task="kuhn")
    seen = until(session, lambda seen: seen.state["frames"] > 0)
    (reported,) = (text for text in texts(seen) if "too few for workers" in text)
    assert reported == "kuhn has 12 information sets, too few for workers to share: using 1"
    with closing(SessionClient(session.directory)) as client, pytest.raises(CommandRefused, match="no episodes"):
        client.call("record", env=0)
    session.terminate()
    assert session.report()["num_envs"] == 1


def test_a_killed_session_loses_one_interval_at_most(tmp_path):
    """What was saved before the kill is what the next one begins with."""
    session = started(tmp_path, name="run", checkpoint_every=0.2)
    seen = until(session, lambda seen: sum(text.startswith("checkpoint at") for text in texts(seen)) >= 2)
    session.kill()
    with pytest.raises(SessionFailed, match="SIGKILL"):
        session.report()
    saved = load_newest(RunFolder.find(tmp_path, "run").checkpoints)
    assert saved.data["counters"]["frames"] > 0
    assert saved.skipped == ()
    report = started(tmp_path, resume="run", seconds=0.3).report()
    assert report["frames"] > saved.data["counters"]["frames"] >= seen.state["frames"] // 100


def told_to_be_saved(seen: Snapshot) -> int:
    """Return the iterations of the last checkpoint that a session said it has written."""
    found = [re.match("checkpoint at ([0-9,]+) iterations", text) for text in texts(seen)]
    return max((int(match[1].replace(",", "")) for match in found if match), default=0)


def test_checkpoints_that_are_damaged_or_foreign_are_passed_over(tmp_path):
    """Each is named with its reason, the one before them is taken, and a run that is another's is not touched."""
    plain = {"backend": "inline", "num_envs": 1, "settings": {"batch": 500}}
    good = started(tmp_path, name="run", frames=2000, **plain).report()
    assert good["frames"] == 2000
    run = RunFolder.find(tmp_path, "run")
    saved = load_newest(run.checkpoints)

    def copy(step: int, file: str, harm: Callable[[bytes], bytes]) -> None:
        folder = shutil.copytree(saved.path, run.checkpoints / f"step-{step:012d}")
        (folder / file).write_bytes(harm((folder / file).read_bytes()))

    copy(10**9, TENSORS, lambda body: body[: len(body) // 2])
    copy(10**9 + 1, TENSORS, lambda body: body[:-1] + bytes([body[-1] ^ 1]))
    copy(10**9 + 2, DATA, lambda body: body.replace(b'"task": "', b'"task": "my-'))
    for number, changed in enumerate(({"fingerprint": "another"}, {"task": "kuhn"}, {"trainer": "ppo"})):
        save(run.checkpoints, 10**9 + 3 + number, {"w": np.zeros(3)}, {**saved.data, **changed}, keep=9)
    session = started(tmp_path, resume="run", frames=4000, **plain)
    seen = texts(until(session, lambda seen: seen.state["frames"] > good["frames"]))
    skipped = {text.partition(" ")[0]: text for text in seen if "is skipped" in text}
    reasons = [*3 * ["its checksum is wrong"], "its fingerprint is another", "its task is kuhn", "its trainer is ppo"]
    assert sorted(skipped) == [f"step-{10**9 + number:012d}" for number in range(len(reasons))]
    assert all(reason in skipped[name] for name, reason in zip(sorted(skipped), reasons, strict=True))
    assert f"resumed run at {good['frames']:,} iterations with N=1" in seen
    assert session.report()["frames"] == 4000
    card = run.metadata()
    with pytest.raises(SessionFailed, match="leave out --task, --wrap and --trainer"):
        started(tmp_path, resume="run", task="kuhn").report()
    assert run.metadata() == card


@pytest.mark.parametrize("task", ["kuhn", "leduc"])
def test_a_limit_of_iterations_is_exact(tmp_path, task):
    """In one worker or two, although the first batches have more iterations."""
    assert started(tmp_path, task=task, num_envs=None, workers=2, frames=11).report()["frames"] == 11


def test_a_full_disk_costs_nothing_but_checkpoints(tmp_path):
    """What cannot be written is reported, training goes on, and the first try after there is room again succeeds."""
    session = started(tmp_path, name="run", checkpoint_every=0.1)
    until(session, told_to_be_saved)
    usual = resource.prlimit(session.pid, resource.RLIMIT_FSIZE, (10_000, resource.RLIM_INFINITY))
    seen = until(session, lambda seen: any(text.startswith("no checkpoint was saved") for text in texts(seen)))
    until(session, lambda later: later.state["frames"] > seen.state["frames"])
    before = told_to_be_saved(seen)
    resource.prlimit(session.pid, resource.RLIMIT_FSIZE, usual)
    seen = until(session, lambda seen: told_to_be_saved(seen) > before)
    session.terminate()
    report = session.report()
    assert report["frames"] >= told_to_be_saved(seen)
    assert min(report["checkpoint_pauses_ms"]) > 0
    assert any(re.search(r"iterations; .* paused for at most \d+ ms", text) for text in texts(seen))
    assert load_newest(RunFolder.find(tmp_path, "run").checkpoints).skipped == ()


def killed(session: SessionProcess, random: np.random.Generator, saved: int) -> int:
    """Kill a worker and then the session, some time after it saved more than `saved`; return what it said it saved."""
    seen = until(session, lambda seen: told_to_be_saved(seen) > saved and len(seen.processes) == 2)
    reader, workers = TelemetryReader(session.directory), [psutil.Process(int(pid)) for pid in seen.processes["pid"]]
    time.sleep(random.uniform(0, 0.2))
    workers[random.integers(2)].kill()
    time.sleep(random.uniform(0, 0.5))
    os.kill(session.pid, signal.SIGKILL)
    with pytest.raises(SessionFailed, match="SIGKILL"):
        session.report()
    assert not psutil.wait_procs(workers, timeout=LIMIT)[1]
    return told_to_be_saved(take_snapshot(reader, ViewRequest(count=0)))


@pytest.mark.slow
@pytest.mark.timeout(60 * KILLS)
def test_kills_at_any_moment_cost_what_was_not_yet_saved(tmp_path, runtime_directory):
    """Of a worker, then of the session, which saves all the time: what it said it saved loads, and nothing is left."""
    random, reached = np.random.default_rng(0), 0
    for kill in range(KILLS):
        session = started(tmp_path, checkpoint_every=0.02, **{"resume" if kill else "name": "run"})
        reported = killed(session, random, reached)
        found = load_newest(RunFolder.find(tmp_path, "run").checkpoints)
        reached = found.data["counters"]["frames"]
        assert found.skipped == ()
        assert found.data["data"]["iterations"] == reached >= reported
    report = started(tmp_path, resume="run", seconds=1).report()
    assert report["frames"] > reached
    assert report["nash_conv"] < 0.5
    assert not [path for path in runtime_directory.rglob("*") if path.is_file()]
