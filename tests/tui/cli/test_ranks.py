"""`pac-tui run --ranks`: sessions in several processes that train together."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from pac.training.runs.sessions import FoundSession, sessions
from pac.training.session.control import SessionClient
from pac.training.telemetry.blocks import TelemetryReader
from pac.training.telemetry.records import Phase
from pac.training.telemetry.snapshot import ViewRequest, take_snapshot
from pac.tui.cli.ranks import without_ranks

from ...waiting import until
from ..commands import Terminal, left, start, tidy

GAME = ("--task", "drmario", "--backend", "inline", "--num-envs", "2", "--ppo.batch", "128", "--ppo.minibatch", "64")
INTERVAL, SLACK, BATCH = 0.5, 2.0, 128
"""Seconds between two checkpoints and for writing one; steps of an iteration."""
TRAINING = ("run", "--headless", "--ranks", "2", *GAME)


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A runtime directory of this test's own, in which sessions are found, and which must be empty at the end."""
    with tidy() as folder, monkeypatch.context() as patch:
        patch.setenv("PAC_RUNTIME_DIR", str(folder))
        yield folder


def ended(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Return what a command has printed on stdout and stderr."""
    return process.communicate(timeout=100)


def both(process: subprocess.Popen[str]) -> list[FoundSession]:
    """Return the sessions of two ranks that train, rank 0 first."""

    def found() -> bool:
        assert process.poll() is None, process.stderr and process.stderr.read()
        running = [each for each in sessions() if each.alive and each.snapshot.state["iterations"] > 1]
        return len(running) == 2

    until(found, "two ranks that train")
    return sorted(sessions(), key=lambda each: each.name)


def test_the_option_is_not_passed_on() -> None:
    """Each rank gets the other arguments, in the same order."""
    assert without_ranks(["run", "--ranks", "2", "--seed", "3"]) == ["run", "--seed", "3"]
    assert without_ranks(["run", "--seed", "3", "--ranks=2"]) == ["run", "--seed", "3"]


@pytest.mark.session
def test_ranks_share_a_limit_and_write_one_run(shared: Path, tmp_path: Path) -> None:
    """The steps of all ranks count. Rank 0 prints the report."""
    process = start((*TRAINING, "--steps", "500", "--json"), shared, tmp_path)
    out, err = ended(process)
    assert process.returncode == 0, err
    report = json.loads(out)
    assert (report["ranks"], report["num_envs"], report["steps"]) == (2, 2, 256)
    assert len(list(tmp_path.glob("runs/*"))) == 1


@pytest.mark.session
def test_a_pause_of_one_rank_holds_all_and_a_stop_ends_all(shared: Path, tmp_path: Path) -> None:
    """Between the same two steps: each makes exactly the steps that the other is allowed."""
    process = start(TRAINING, shared, tmp_path)
    first, second = both(process)
    assert second.name == f"{first.name}.rank1"

    def steps() -> list[int]:
        return [int(each.snapshot.state["steps"]) for each in sessions()]

    with contextlib.closing(SessionClient(second.directory)) as client:
        client.call("pause")
        until(lambda: any(each.snapshot.phase is Phase.PAUSED for each in sessions()), "a paused session")
        until(lambda: len(set(steps())) == 1, "both ranks at the same step")
        before = steps()[0]
        client.call("step", count=3)
        until(lambda: steps() == [before + 3 * 2] * 2, "three steps of each environment")
        client.call("resume")
        client.call("stop")
    _, err = ended(process)
    assert process.returncode == 0, err
    assert "checkpoint at" in err


@pytest.mark.session
@pytest.mark.parametrize("killed", [1, pytest.param(0, marks=pytest.mark.slow)])
def test_a_rank_that_is_killed_ends_the_others_with_a_checkpoint(shared: Path, tmp_path: Path, killed: int) -> None:
    """The error names it. One process can continue the run."""
    lose_rank(shared, tmp_path, killed)
    again = start(("run", "--headless", "--resume", "latest", *GAME, "--seconds", "1", "--json"), shared, tmp_path)
    out, err = ended(again)
    assert again.returncode == 0, err
    assert json.loads(out)["steps"] > 256


@pytest.mark.session
@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_twenty_killed_ranks_lose_at_most_a_checkpoint_interval(shared: Path, tmp_path: Path) -> None:
    """Either rank, at random moments: nothing hangs, nothing is left, and the newest checkpoint is at most so old."""
    random = np.random.default_rng(0)
    for number in range(20):
        lose_rank(shared, tmp_path / str(number), number % 2, after=2 * random.random())
        assert not left(shared)


def lose_rank(shared: Path, folder: Path, killed: int, *, after: float = 0.0) -> None:
    """Kill one of two ranks that train. The other one must name it within 10 s, and end with a recent checkpoint."""
    folder.mkdir(exist_ok=True)
    process = start((*TRAINING, "--checkpoint-every", str(INTERVAL)), shared, folder)
    ranks = both(process)
    time.sleep(after)
    reached = [int(one.snapshot.state["steps"]) for one in sessions()]
    os.kill(ranks[killed].pid, signal.SIGKILL)
    begun, when = time.monotonic(), time.time()
    other = TelemetryReader(ranks[1 - killed].directory)

    def named() -> bool:
        events = take_snapshot(other, ViewRequest(count=0)).events
        return any(f"rank {killed} (process {ranks[killed].pid}) of 2 has ended" in event.text for event in events)

    until(named, "the name of the rank")
    assert time.monotonic() - begun < 10
    _, err = ended(process)
    assert process.returncode == 1
    assert f"rank {killed} (process {ranks[killed].pid}) of 2 has ended" in err
    newest = max(folder.glob("runs/*/checkpoints/step-*"))
    if killed:
        assert int(newest.name.removeprefix("step-")) >= min(reached) - BATCH
    else:  # rank 0 has not saved at its end
        assert newest.stat().st_mtime >= when - INTERVAL - SLACK


@pytest.mark.session
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--trainer", "mccfr", "--task", "kuhn"), "mccfr trains in one process"),
        (("--task", "drmario", "--ppo.overlap", "true"), "several processes cannot learn together while they collect"),
    ],
)
def test_what_cannot_train_in_several_processes_is_refused(
    shared: Path, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    """With one sentence; nothing waits for the other processes."""
    process = start(("run", "--headless", "--ranks", "2", *options), shared, tmp_path)
    _, err = ended(process)
    assert process.returncode == 2
    assert said in err
    assert not list(tmp_path.glob("runs/*"))


def test_the_app_needs_a_terminal(shared: Path, tmp_path: Path) -> None:
    """Nothing is started without one."""
    process = start(("run", "--ranks", "2"), shared, tmp_path)
    _, err = ended(process)
    assert process.returncode == 2
    assert "not a terminal" in err


@pytest.mark.session
@pytest.mark.parametrize("way", ["stop", "kill"])
def test_one_screen_shows_all_ranks_and_ends_them(shared: Path, tmp_path: Path, way: str) -> None:
    """A stop prints the report. If the app is killed, the ranks save and end."""
    terminal = Terminal(("run", "--ranks", "2", *GAME), shared, tmp_path)
    try:
        until(lambda: terminal.has_drawn("rank 1"), "the names of the ranks")
        until(lambda: len([one for one in sessions() if one.snapshot.state["iterations"] > 1]) == 2, "two ranks")
        if way == "stop":
            terminal.press("q")
            until(lambda: terminal.has_drawn("save and end"), "the question")
            terminal.press("s")
            until(lambda: terminal.process.poll() is not None, "the end")
            assert terminal.process.returncode == 0
            until(lambda: terminal.has_drawn("episodes"), "the report")
        else:
            terminal.process.kill()
        until(lambda: not sessions(), "the end of the ranks")
        assert list(tmp_path.glob("runs/*/checkpoints/*"))
    finally:
        terminal.close()


@pytest.mark.session
def test_attach_shows_all_ranks_of_a_run(shared: Path, tmp_path: Path) -> None:
    """Whichever rank is the newest session."""
    process = start(TRAINING, shared, tmp_path)
    both(process)
    terminal = Terminal(("attach", "latest"), shared, tmp_path)
    try:
        until(lambda: terminal.has_drawn("rank 1"), "the names of the ranks")
        terminal.press("q")
        until(lambda: terminal.has_drawn("save and end"), "the question")
        terminal.press("s")
        until(lambda: terminal.process.poll() is not None, "the end")
    finally:
        terminal.close()
    _, err = ended(process)
    assert process.returncode == 0, err
