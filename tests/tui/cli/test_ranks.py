"""`pac-tui run --ranks`: sessions in several processes that train together."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import psutil
import pytest

from pac.training.runs.checkpoint import load_newest
from pac.training.runs.folder import RunFolder
from pac.training.runs.sessions import FoundSession, sessions
from pac.training.session.control import SessionClient
from pac.training.telemetry.blocks import TelemetryReader
from pac.training.telemetry.records import Phase
from pac.training.telemetry.snapshot import ViewRequest, take_snapshot
from pac.tui.cli.commands import main
from pac.tui.cli.ranks import without_ranks

from ...titles import runs
from ...waiting import until
from ..commands import Terminal, kill_all, left, start, tidy

GAME = (
    *("--task", "noop", "--backend", "inline", "--num-envs", "2"),
    *("--ppo.batch", "128", "--ppo.minibatch", "64", "--ppo.hidden", "16"),
)
INTERVAL, SLACK, BATCH = 0.5, 2.0, 128
"""Seconds between two checkpoints and for writing one; steps of an iteration."""
TRAINING = ("run", "--headless", "--ranks", "2", *GAME)
START_LIMIT = 200.0
"""Seconds until two ranks train: each imports PyTorch, on a machine that may be busy."""
FAILING = """
import os
from gymnasium.envs.classic_control import CartPoleEnv

class Failing(CartPoleEnv):
    count = 0

    def step(self, action):
        self.count += 1
        if self.count == 300 and os.environ["RANK"] == "1":
            raise RuntimeError("the cart has lost a wheel")
        return super().step(action)
"""


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A runtime directory of this test's own, in which sessions are found, and which must be empty at the end."""
    with tidy() as folder, monkeypatch.context() as patch:
        patch.setenv("PAC_RUNTIME_DIR", str(folder))
        yield folder


@contextlib.contextmanager
def started(arguments: tuple[str, ...], shared: Path, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Run `pac-tui`. If the test fails meanwhile, all of its processes are killed."""
    process = start(arguments, shared, folder)
    try:
        yield process
    except BaseException:
        kill_all(shared)
        process.communicate()
        raise


def ended(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Return what a command has printed on stdout and stderr."""
    return process.communicate(timeout=START_LIMIT)


def both(process: subprocess.Popen[str]) -> list[FoundSession]:
    """Return the sessions of two ranks that train, rank 0 first."""

    def found() -> bool:
        assert process.poll() is None, process.stderr and process.stderr.read()
        running = [each for each in sessions() if each.alive and each.snapshot.state["iterations"] > 1]
        return len(running) == 2

    until(found, "two ranks that train", START_LIMIT)
    return sorted(sessions(), key=lambda each: each.name)


def test_the_option_is_not_passed_on() -> None:
    """Each rank gets the other arguments, in the same order."""
    assert without_ranks(["run", "--ranks", "2", "--seed", "3"]) == ["run", "--seed", "3"]
    assert without_ranks(["run", "--seed", "3", "--ranks=2"]) == ["run", "--seed", "3"]


@pytest.mark.session
def test_ranks_share_a_limit_and_write_one_run(shared: Path, tmp_path: Path) -> None:
    """The steps of all ranks count. Rank 0 prints the report."""
    with started((*TRAINING, "--steps", "500", "--json"), shared, tmp_path) as process:
        out, err = ended(process)
    assert process.returncode == 0, err
    report = json.loads(out)
    assert (report["ranks"], report["num_envs"], report["steps"]) == (2, 2, 256)
    assert len(list(tmp_path.glob("runs/*"))) == 1


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, list[FoundSession]]]:
    """Two ranks that have trained and are paused, and their runtime directory. A stop of one ends all."""
    with tidy() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PAC_RUNTIME_DIR", str(folder))
        with started(TRAINING, folder, tmp_path_factory.mktemp("trained")) as process:
            ranks = both(process)
            with closing(SessionClient(ranks[1].directory)) as client:
                client.call("pause")
            yield folder, ranks
            patch.setenv("PAC_RUNTIME_DIR", str(folder))
            assert process.poll() is None
            with closing(SessionClient(ranks[1].directory)) as client:
                client.call("stop")
            _, err = ended(process)
        assert process.returncode == 0, err
        assert "checkpoint at" in err


@pytest.fixture
def ranks(trained: tuple[Path, list[FoundSession]], monkeypatch: pytest.MonkeyPatch) -> tuple[Path, list[FoundSession]]:
    """The same, which are found in this test."""
    monkeypatch.setenv("PAC_RUNTIME_DIR", str(trained[0]))
    return trained


@pytest.mark.session
def test_a_pause_of_one_rank_holds_all(ranks: tuple[Path, list[FoundSession]]) -> None:
    """Between the same two steps: each makes exactly the steps that the other is allowed."""

    def steps() -> list[int]:
        return [int(each.snapshot.state["steps"]) for each in sessions()]

    first, second = ranks[1]
    assert second.name == f"{first.name}.rank1"
    with closing(SessionClient(second.directory)) as client:
        trained = steps()[0]
        client.call("resume")
        until(lambda: min(steps()) > trained, "steps of both ranks")
        client.call("pause")
        until(lambda: any(each.snapshot.phase is Phase.PAUSED for each in sessions()), "a paused session")
        until(lambda: len(set(steps())) == 1, "both ranks at the same step")
        before = steps()[0]
        client.call("step", count=3)
        until(lambda: steps() == [before + 3 * 2] * 2, "three steps of each environment")


@pytest.mark.session
@pytest.mark.parametrize("killed", [1, pytest.param(0, marks=pytest.mark.slow)])
def test_a_rank_that_is_killed_ends_the_others_with_a_checkpoint(shared: Path, tmp_path: Path, killed: int) -> None:
    """The error names it. One process can continue the run."""
    lose_rank(shared, tmp_path, killed)
    resumed = ("run", "--headless", "--resume", "latest", *GAME, "--seconds", "1", "--json")
    with started(resumed, shared, tmp_path) as again:
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


def has_said(reader: TelemetryReader, text: str) -> bool:
    """Return whether an event of a session contains a text."""
    return any(text in event.text for event in take_snapshot(reader, ViewRequest(count=0)).events)


def longest_iteration(folder: Path) -> float:
    """Return the seconds of the longest iteration of the only run, at the end of each of which it may save."""
    (file,) = folder.glob("runs/*/metrics.jsonl")
    lines = file.read_text().splitlines()
    times = [json.loads(line)["seconds"] for line in lines if line.endswith("}")]
    return float(np.diff(times, prepend=0.0).max())


def lose_rank(shared: Path, folder: Path, killed: int, *, after: float = 0.0) -> None:
    """Kill one of two ranks that train. The other one must name it within 10 s, and end with a recent checkpoint."""
    folder.mkdir(exist_ok=True)
    with started((*TRAINING, "--checkpoint-every", str(INTERVAL)), shared, folder) as process:
        ranks = both(process)
        until(lambda: list(folder.glob("runs/*/checkpoints/step-*")), "the first checkpoint")
        time.sleep(after)
        reached = [int(one.snapshot.state["steps"]) for one in sessions()]
        other = TelemetryReader(ranks[1 - killed].directory)
        os.kill(ranks[killed].pid, signal.SIGKILL)
        begun, when = time.monotonic(), time.time()
        said = f"rank {killed} (process {ranks[killed].pid}) of 2 has ended"
        until(lambda: has_said(other, said), "the name of the rank")
        assert time.monotonic() - begun < 10
        _, err = ended(process)
    assert process.returncode == 1
    assert said in err
    newest = max(folder.glob("runs/*/checkpoints/step-*"))
    if killed:
        assert int(newest.name.removeprefix("step-")) >= min(reached) - BATCH
    else:  # rank 0 has not saved at its end
        assert newest.stat().st_mtime >= when - INTERVAL - longest_iteration(folder) - SLACK


@pytest.mark.session
def test_an_error_on_one_rank_is_the_error_of_all(shared: Path, tmp_path: Path) -> None:
    """The other rank names it and saves a checkpoint."""
    (tmp_path / "failing.py").write_text(FAILING)
    options = ("--task", "failing:Failing", *GAME[2:])
    with started(("run", "--headless", "--ranks", "2", *options), shared, tmp_path) as process:
        _, err = ended(process)
    assert process.returncode == 1
    (other,) = (line for line in err.splitlines() if "rank 1 of 2 has failed: " in line)
    assert "the cart has lost a wheel" in other
    assert list(tmp_path.glob("runs/*/checkpoints/step-*"))


@pytest.mark.session
def test_a_full_disk_of_the_rank_that_writes_is_reported_once(shared: Path, tmp_path: Path) -> None:
    """The training goes on without checkpoints, and fails at its end. Nothing half written is left."""
    with started((*TRAINING, "--checkpoint-every", str(INTERVAL)), shared, tmp_path) as process:
        first, second = both(process)
        until(lambda: list(tmp_path.glob("runs/*/checkpoints/step-*")), "a checkpoint")
        resource.prlimit(first.pid, resource.RLIMIT_FSIZE, (10_000, resource.RLIM_INFINITY))
        reader = TelemetryReader(first.directory)
        until(lambda: has_said(reader, "no checkpoint was saved"), "the alarm")
        with contextlib.closing(SessionClient(second.directory)) as client:
            client.call("stop")
        _, err = ended(process)
    assert process.returncode == 1
    assert err.count("what was learned since the last checkpoint is lost") == 1
    assert "Traceback" not in err
    (run,) = tmp_path.glob("runs/*")
    assert load_newest(RunFolder.find(tmp_path / "runs", run.name).checkpoints).skipped == ()


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
    with started(("run", "--headless", "--ranks", "2", *options), shared, tmp_path) as process:
        _, err = ended(process)
    assert process.returncode == 2
    assert said in err
    assert not list(tmp_path.glob("runs/*"))


@pytest.mark.session
def test_the_app_needs_a_terminal(shared: Path, tmp_path: Path) -> None:
    """Nothing is started without one."""
    with started(("run", "--ranks", "2"), shared, tmp_path) as process:
        _, err = ended(process)
    assert process.returncode == 2
    assert "not a terminal" in err


@pytest.mark.session
@pytest.mark.parametrize("way", ["stop", "kill"])
def test_one_screen_shows_all_ranks_and_ends_them(shared: Path, tmp_path: Path, way: str) -> None:
    """A stop prints the report. If the app is killed, the ranks save and end."""
    with closing(Terminal(("run", "--ranks", "2", *GAME), shared, tmp_path)) as terminal:
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


@pytest.mark.session
@pytest.mark.parametrize("through", ["nothing", "relays"])
def test_attached_ranks_are_on_one_screen(ranks: tuple[Path, list[FoundSession]], tmp_path: Path, through: str) -> None:
    """Of this host, whichever is newest, or each through a relay of its own. Leaving them ends the relays only."""
    folder, (first, second) = ranks
    transport = tmp_path / "rsh"
    transport.write_text('#!/bin/sh\nshift\nexec sh -c "$*"\n')
    transport.chmod(0o700)
    places = ("--rsh", str(transport), "--command", f"{sys.executable} -m pac.tui", f"b:{second.pid}", f"a:{first.pid}")
    with closing(Terminal(("attach", *(places if through == "relays" else ("latest",))), folder, tmp_path)) as terminal:
        until(lambda: terminal.has_drawn("rank 0") and terminal.has_drawn("rank 1"), "the names of the ranks")
        terminal.press("a")
        until(lambda: terminal.has_drawn("All ranks"), "the page of all ranks")
        terminal.press("qd")
        until(lambda: terminal.process.poll() is not None, "the end of the app")
        assert terminal.process.returncode == 0
    assert all(psutil.pid_exists(each.pid) for each in (first, second))


def test_several_names_are_of_hosts(capsys: pytest.CaptureFixture[str]) -> None:
    """The error says what shows the sessions of this machine."""
    assert main(["attach", "box:one", "two"]) == 2
    assert "several sessions are given as HOST:RUN, got 'two'; --all shows" in capsys.readouterr().err


def own(process: subprocess.Popen[str], module: str) -> list[psutil.Process]:
    """Return the processes below one that run a module."""
    found = []
    for child in psutil.Process(process.pid).children(recursive=True):
        with contextlib.suppress(psutil.Error):
            found += [child] * runs(child, module)
    return found


@pytest.mark.session
def test_an_interrupt_while_the_ranks_start(shared: Path, tmp_path: Path) -> None:
    """Ctrl-C before the first iteration, here while their interpreters start: no traceback."""
    with started(TRAINING, shared, tmp_path) as process:
        until(lambda: len(own(process, "pac.tui")) == 2, "the ranks", START_LIMIT)
        process.send_signal(signal.SIGINT)
        _, err = ended(process)
    assert process.returncode == 130
    assert "Traceback" not in err


@pytest.mark.session
def test_a_rank_that_is_killed_while_it_starts_ends_the_others(shared: Path, tmp_path: Path) -> None:
    """They wait for it, in code in which no exception is raised."""
    with started(TRAINING, shared, tmp_path) as process:
        until(lambda: len(own(process, "pac.training.session.host")) == 2, "the sessions", START_LIMIT)
        own(process, "pac.training.session.host")[0].kill()
        _, err = ended(process)
    assert process.returncode == 1
    assert "Traceback" not in err
