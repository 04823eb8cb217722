"""A run that was interrupted and resumed equals one that was not."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
import pytest

from pac.training.runs.checkpoint import Checkpoint, load_newest, save
from pac.training.runs.folder import RunFolder
from pac.training.runs.metrics import DISCARDED
from pac.training.session.resume_point import STATES
from pac.training.session.session import Session

from ..wanderer import SAILOR, WANDERER
from ..watched import run_here, session

pytestmark = pytest.mark.session
STEPS = 1024
PPO = {"batch": 256, "minibatch": 64, "epochs": 1, "threads": 1, "channels": 8, "hidden": 16}
MCCFR = {"batch": 100, "weighting": "discounted", "discount_interval": 3000}


def trained(runs_dir, *, stop_at: int = 0, **changes: Any) -> tuple[dict[str, Any], Checkpoint]:
    """Run a session in this process to its limit, or stop it after a step; return report and last checkpoint."""
    common = {"task": "drmario", "num_envs": 4, "backend": "inline", "device": "cpu", "steps": STEPS}
    common |= {"trainer": "mccfr", "settings": MCCFR} if changes.get("task") == "leduc" else {"settings": PPO}

    def begin(made: Session) -> None:
        look, steps = made.services.monitor.step, count(1)

        def step() -> None:
            look()
            if next(steps) == stop_at:
                made.stop()

        made.services.monitor.step = step  # type: ignore[method-assign]

    report, made = run_here(runs_dir, begin=begin, **common | changes)
    return report, load_newest(RunFolder.find(runs_dir, report["run"] or made.config.resume).checkpoints)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Callable[..., tuple[Checkpoint, list[Any]]]:
    """Return what a training that is not interrupted ends with, and its metrics' steps; the same on all backends."""
    known: dict[str, tuple[Checkpoint, list[Any]]] = {}

    def get(**options: Any) -> tuple[Checkpoint, list[Any]]:
        if (key := repr(options)) not in known:
            folder = tmp_path_factory.mktemp("whole")
            known[key] = trained(folder, name="run", **options)[1], steps_of(folder)
        return known[key]

    return get


def steps_of(runs_dir) -> list[Any]:
    return [row["steps"] for row in RunFolder.find(runs_dir, "run").metrics()]


def counted(checkpoint: Checkpoint) -> dict[str, Any]:
    """Return what was counted, of the last episodes return and length: scalars may tell of the machine's speed."""
    counters = checkpoint.data["counters"]
    return {**counters, "recent": [row[:2] for row in counters["recent"]]}


OVERLAP, GRAPH = {"settings": PPO | {"overlap": True}}, {"settings": PPO | {"cuda_graph": True}}
MEMORY = {"settings": PPO | {"memory": 8}}
SCALED = {"task": f"{WANDERER}:wind=2", "settings": PPO | {"normalize_reward": True}}
WIND = {"task": f"{WANDERER}:wind=3"}
SAC = {"learning_starts": 300, "train_frequency": 8, "batch": 32, "hidden": 8, "frame_stack": 2, "save_replay": True}
SAILING = {"task": f"{SAILOR}:wind=3", "trainer": "sac", "settings": SAC}


@pytest.mark.parametrize(
    "case",
    [
        (9, {}, {}),
        (2 * 64 + 9, {}, {"backend": "device"}),
        (2 * 64, {}, {"backend": "apart"}),
        (64 + 1, {}, {"backend": "apart", **GRAPH}),  # after the first rollout, each is one step
        pytest.param((2 * 64 + 9, {}, {"backend": "device", "device": "cuda"}), marks=pytest.mark.gpu),
        (2 * 64 + 9, OVERLAP, {}),
        (2 * 64 + 9, MEMORY, {}),
        (2 * 64 + 9, SCALED, {}),
        (5, {"task": "leduc"}, {}),
        (0, WIND, {"backend": "shm"}),
        (128 + 9, SAILING, {}),
    ],
)
def test_resumed_equals_uninterrupted(tmp_path, monkeypatch, whole, case):
    """Weights, moments, tables, random generators, counters and the environments' states: every bit is the same."""
    stop_at, options, backend = case
    if backend.get("backend") == "apart":  # memory that the host reads and writes as that of a GPU
        monkeypatch.setenv("PAC_DEVICE_MEMORY", "apart")
        backend = {**backend, "backend": "device"}
    expected, steps = whole(**options) if backend.get("device") != "cuda" else whole(**options, **backend)
    limit, made = {} if stop_at else {"steps": STEPS // 2}, 128 if backend.get("settings") else stop_at
    report, half = trained(tmp_path, name="run", stop_at=stop_at, **options, **backend, **limit)
    assert half.step == report["steps"] - report["discarded_steps"] < STEPS
    if "task" not in options:
        assert (report["steps"], report["iterations"]) == (4 * made, made // 64)
    _, resumed = trained(tmp_path, resume="run", **options, **backend)
    assert counted(resumed) == counted(expected)
    assert resumed.tensors.keys() == expected.tensors.keys()
    for name, tensor in expected.tensors.items():
        assert np.array_equal(resumed.tensors[name], tensor), name
    assert steps_of(tmp_path) == steps


DQN = {"learning_starts": 64, "batch": 16, "hidden": 16, "save_replay": True}


@pytest.mark.parametrize(
    ("options", "changed"),
    [
        ({}, {"learning_rate": "0:0.001,1000000:0.0001", "gamma": "0.9", "max_grad_norm": "0.1", "epochs": "2"}),
        ({"settings": PPO | {"overlap": True}}, {"learning_rate": "0.001"}),
        (SAILING, {"learning_rate": "0.001", "gamma": "0.9", "tau": "0.1", "target_entropy": "-0.5"}),
        ({"trainer": "dqn", "settings": DQN}, {"gamma": "0.9", "epsilon": "0.5", "max_grad_norm": "0.1"}),
    ],
)
def test_a_live_change_equals_one_between_two_sessions(tmp_path, options, changed):
    """A training whose settings change while it runs equals one that is stopped there and resumed with them."""

    def change(made: Session) -> None:
        end = made.checkpoints.end_iteration

        def end_iteration(*arguments: Any) -> None:
            end(*arguments)
            if made.counter.counts.steps == STEPS // 2:
                for name, text in changed.items():
                    made.live.request(name, text)

        made.checkpoints.end_iteration = end_iteration  # type: ignore[assignment,method-assign]

    half, whole = (tmp_path / name for name in ("half", "whole"))
    common = {"task": "drmario", "num_envs": 4, "backend": "inline", "device": "cpu", "settings": PPO, "steps": STEPS}
    report, _ = run_here(whole, begin=change, name="run", **{**common, **options})
    first, _ = trained(half, name="run", steps=report["changes"][0]["step"], **options)
    _, resumed = trained(half, resume="run", **{**options, "settings": {**options.get("settings", PPO), **changed}})
    run = RunFolder.find(whole, "run")
    expected = load_newest(run.checkpoints)
    assert first["steps"] == report["changes"][0]["step"] < report["steps"]
    assert resumed.step == expected.step
    for name in expected.tensors.keys() - {"replay.final_ago"}:  # which counts places that are not used, too
        assert np.array_equal(resumed.tensors[name], expected.tensors[name]), name
    other = RunFolder.find(half, "run").metadata()
    assert run.metadata()["config"]["settings"] == other["config"]["settings"]
    for found in (report, other):
        assert {(one["step"], one["name"], one["to"]) for one in found["changes"]} == {
            (STEPS // 2, name, text) for name, text in changed.items()
        }


def test_any_kept_checkpoint_can_be_resumed(tmp_path, whole):
    """The result is that of the whole training; the checkpoints after it are replaced, and say so before."""
    expected, _ = whole()
    trained(tmp_path, name="run", keep="every:1", steps=512)
    trained(tmp_path, resume="run")
    run = RunFolder.find(tmp_path, "run")
    assert [path.name[-4:] for path in sorted(run.checkpoints.iterdir())] == ["0512", "1024"]
    report, _ = trained(tmp_path, resume="run", checkpoint="512", steps=768)
    assert any("the next one replaces step-000000001024" in text for text in report["events"])
    assert [path.name[-4:] for path in sorted(run.checkpoints.iterdir())] == ["0512", "0768"]
    assert load_newest(run.checkpoints).data["number"] == 2
    _, resumed = trained(tmp_path, resume="run")
    assert all(np.array_equal(resumed.tensors[name], tensor) for name, tensor in expected.tensors.items())


def test_a_resumed_session_shows_the_whole_run(tmp_path):
    """Its curve begins with the run's first iteration, ends by reason add up with the episodes, time goes on."""
    options = {"task": "drmario", "backend": "inline", "num_envs": 4}
    with session(tmp_path, name="run", **options) as watched:
        watched.until(lambda snapshot: snapshot.state["iterations"] >= 5 and snapshot.state["episodes"] > 0)
        first = watched.end()
    run = RunFolder.find(tmp_path, "run")
    before = [row for row in run.metrics() if DISCARDED not in row]
    with session(tmp_path, resume="run", **options) as watched:
        watched.until(lambda snapshot: snapshot.state["iterations"] > 2 + first["iterations"])
        watched.call("pause")

        def whole(_):
            seen = watched.see(curves=("fps",))
            steps = [row["steps"] for row in run.metrics() if "fps" in row]
            return seen.curves["fps"].steps.tolist() == steps and sum(seen.outcomes) == seen.state["episodes"]

        seen = watched.until(whole)
        rows = run.metrics()
        assert rows[: len(before)] == before
        assert len(rows) > len(before)
        assert seen.state["training_seconds"] > before[-1]["seconds"]
        second = watched.end()
    assert [row["seconds"] for row in rows] == sorted(row["seconds"] for row in rows)
    assert sum(second["outcomes"].values()) == second["episodes"] >= before[-1]["episodes"]


def test_returns_of_agents_go_on(tmp_path):
    """Their means are over the last episodes, also of those before the resume."""
    small = {"learning_starts": 64, "batch": 16, "hidden": 16, "threads": 1, "processes": False}
    options: dict[str, Any] = {"task": "staghunt", "trainer": "independent", "settings": small}
    _, first = trained(tmp_path, name="run", **options, steps=512)
    _, second = trained(tmp_path, resume="run", **options, steps=1024)
    for before, after in zip(first.data["data"]["returns"], second.data["data"]["returns"], strict=True):
        kept = min(len(before), 3)
        assert kept
        assert any(after[place : place + kept] == before[-kept:] for place in range(len(after)))


def test_an_episode_that_began_before_a_resume_is_not_recorded(tmp_path):
    """The reason says so: the session does not have its first steps."""
    options: dict[str, Any] = {"trainer": "random", "settings": {}}
    trained(tmp_path, name="run", **options, steps=256)
    report, _ = trained(tmp_path, resume="run", **options, steps=2048, record="every:1")
    reasons = [text for text in report["events"] if "not recorded" in text]
    assert len(reasons) == 1
    assert "began before the run was resumed" in reasons[0]


def test_another_number_of_environments_begins_episodes_anew(tmp_path):
    """What was learned goes on; the states of four environments are nothing for six, and that is said."""
    trained(tmp_path, name="four", steps=256)
    report, _ = trained(tmp_path, resume="latest", num_envs=6, steps=512)
    assert report["num_envs"] == 6
    assert report["steps"] >= 512


def test_an_impossible_state_costs_the_episodes_only(tmp_path):
    """A file that was changed leads no kernel astray: what was learned goes on, and why episodes do not is said."""
    _, saved = trained(tmp_path, name="run", steps=256)
    states = np.full_like(saved.tensors[STATES], 77)
    save(saved.path.parent, saved.step, {**saved.tensors, STATES: states}, saved.data)
    report, _ = trained(tmp_path, resume="run", steps=512)
    assert report["steps"] >= 512
    assert any("episodes restart: drmario cannot be in the state" in text for text in report["events"])
