"""The commands `pac-tui profile` and `pac-tui stacks`, with real processes."""

import gzip
import json
import socket
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import gymnasium
import pytest
from torch.nn import Linear

from pac.backends.profiling.asking import SUFFIX
from pac.backends.profiling.kinds import kind_of, sign_of
from pac.training import watch
from pac.training.nets.gradient_step import GradientStep
from pac.training.ppo.rollout import Actor
from pac.tui.cli.commands import main

from ...training import hot
from ...training.watched import running, session
from ...training.watching.scripted import forget_all
from ...waiting import until

pytestmark = pytest.mark.session

SECONDS = "3"
NEAR = 0.1
"""How far the share may be off."""
REQUESTS = (
    b"\n",
    b"{\n",
    b'{"seconds": 1e9}\n',
    b'{"seconds": "1"}\n',
    b'{"allocations": 61}\n',
    b"\xff" * 10_000 + b"\n",
)


def profiled(name, capsys, *options):
    """Profile until the share is near 60 %: on a busy machine, many samples come late, and few are left."""

    def once():
        assert main(["profile", name, "--seconds", SECONDS, "--json", *options]) == 0
        found = json.loads(capsys.readouterr().out)
        return found if abs(found["lines"][0]["share"] - 0.6) < NEAR else None

    return until(once, "a share of about 60 %")


def check_hottest(found, process):
    """The known line is named first, with its share, and its function calls the rest."""
    first = found["lines"][0]
    assert (first["file"], first["line"], first["function"]) == (hot.__file__, hot.LINE, "Hot.step")
    assert (first["process"], first["kind"]) == (process, "environment")
    shares = [line["share"] for line in found["lines"]]
    assert shares == sorted(shares, reverse=True)
    own = {function["function"]: function for function in found["functions"]}
    assert own["Hot.step"]["total"] > own["Hot.step"]["share"] + own["rest"]["share"] - NEAR


@pytest.mark.parametrize(("backend", "process"), [("inline", "session"), ("shm", "worker 1")])
def test_the_hot_line_of_an_environment_is_named_first(tmp_path, capsys, backend, process):
    """In the session and in a worker; the file for speedscope has its stacks, and nothing stays behind."""
    with session(tmp_path, task=hot.HOT, backend=backend, num_envs=2, workers=1, name="hot") as watched:
        watched.until(running)
        file = tmp_path / "stacks.json"
        found = profiled("hot", capsys, "--speedscope", str(file))
        check_hottest(found, process)
        stacks = json.loads(file.read_text())
        assert stacks["$schema"].startswith("https://www.speedscope.app/")
        frames = stacks["shared"]["frames"]
        for profile in stacks["profiles"]:
            assert (profile["type"], profile["unit"], profile["startValue"]) == ("sampled", "seconds", 0)
            assert len(profile["samples"]) == len(profile["weights"])
            assert all(0 <= frame < len(frames) for stack in profile["samples"] for frame in stack)
            assert 0 < sum(profile["weights"]) == pytest.approx(profile["endValue"])
        names = {
            frames[frame]["name"] for profile in stacks["profiles"] for stack in profile["samples"] for frame in stack
        }
        assert {"Hot.step", "rest"} <= names
        check_memory(capsys, [process] if backend == "shm" else [])
        if backend == "shm":
            check_refusals(next(watched.process.directory.glob(f"*{SUFFIX}")))
        watched.end()
        assert not watched.process.directory.exists()


def check_memory(capsys, workers):
    """Each process is there with its memory; the parts are all of it; what following allocations costs is said."""
    assert main(["memory", "hot", "--lines", "--seconds", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["process"] for one in found["processes"]] == ["session", *workers]
    assert all(one["own"] > 0 and one["curve"] for one in found["processes"])
    own, parts = (sum(one[key] for one in found[name]) for name, key in (("processes", "own"), ("parts", "size")))
    assert parts >= own
    sizes = {part["name"]: part for part in found["parts"]}
    assert sizes["rollout"]["where"] == ("shared" if workers else "session")
    assert "2 rows" in sizes["rollout"]["detail"]
    assert sizes["telemetry"]["size"] > 0
    assert (found["gpu"], found["silent"]) == (None, {})
    assert found["cost"]["during"] > 0
    assert main(["memory", "hot"]) == 0
    text = capsys.readouterr().out
    assert all(word in text for word in ("what it is", "measuring", "no GPU", "rest of this process", *workers))


def check_refusals(path):
    """What is no request is refused, and the next one is answered."""
    assert path.stat().st_mode & 0o777 == 0o600
    for line in (*REQUESTS, b'{"seconds": 0}\n'):
        with socket.socket(socket.AF_UNIX) as raw:
            raw.settimeout(10)
            raw.connect(str(path))
            raw.sendall(line)
            assert (b'"error"' in raw.recv(1 << 20)) is (line in REQUESTS), line


@pytest.mark.parametrize("threaded", [False, True])
def test_the_hot_line_of_a_watched_script_is_named_first(capsys, threaded):
    """Whether its main thread steps the environments or another one; there is no thread more afterwards."""
    envs = watch(gymnasium.vector.SyncVectorEnv([hot.Hot] * 2), name="hot-script")
    envs.reset(seed=1)
    envs.step(envs.action_space.sample())
    done = threading.Event()

    def steps():
        while not done.is_set():
            envs.step(envs.action_space.sample())

    def asks():
        try:
            return profiled("hot-script", capsys)
        finally:
            done.set()

    before, interval = len(sys._current_frames()), sys.getswitchinterval()
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(steps if threaded else asks)
        found = (asks if threaded else steps)() or other.result()
    check_hottest(found, "script")
    assert found["lines"][0]["thread"] == ("ThreadPoolExecutor" if threaded else "")
    assert main(["profile", "hot-script", "--kernels"]) == 1
    assert "this is a watched script" in capsys.readouterr().err
    assert sys.getswitchinterval() == pytest.approx(interval)
    assert len(sys._current_frames()) <= before + 1  # the viewer's thread may see the end of its connection later
    envs.close()
    forget_all()


def test_the_stacks_of_a_worker_that_cannot_answer_are_those_of_its_log(tmp_path, capsys):
    """Native code keeps the GIL there; the others answer themselves."""
    with session(tmp_path, task=f"{hot.HOT}:stuck=5", backend="shm", num_envs=1, workers=1, name="stuck") as watched:
        watched.until(lambda snapshot: snapshot.state["steps"] >= 4)

        def said():
            assert main(["stacks", "stuck"]) == 0
            text = capsys.readouterr().out
            return text if f'"{hot.__file__}", line' in text else ""

        assert "Session.run" in until(said, "the worker is stuck")


def test_a_trace_has_the_times_of_the_timing_view(tmp_path, capsys):
    """All processes of a running session in one file, with the slow environment's steps, and nothing lost."""
    file = tmp_path / "trace.json.gz"
    with session(tmp_path, task=hot.HOT, backend="shm", num_envs=4, workers=2, name="traced") as watched:
        watched.until(running)
        assert main(["trace", "traced", "--seconds", "1", "--out", str(file), "--json"]) == 0
        found = json.loads(capsys.readouterr().out)["sessions"][0]
        assert main(["trace", "traced", "--out", str(file)]) == 2
        assert "name another file" in capsys.readouterr().err
        assert main(["profile", "traced", "--kernels"]) == 1
        assert "computes nothing with PyTorch" in capsys.readouterr().err
        watched.end()
    measured, written = found["timing"], found["written"]
    stepping = measured["environment"] + measured["transport"]
    # One step began before the trace and one ended after it; on busy cores each may take some 30 ms.
    assert written["environment"] == pytest.approx(stepping, rel=0.01, abs=0.06)
    assert found["lost_steps"] == 0
    events = json.loads(gzip.decompress(file.read_bytes()))["traceEvents"]
    names = Counter(event["name"] for event in events)
    assert min(names[f"environment {number}"] for number in range(1, 5)) > 5
    assert len({event["pid"] for event in events}) == 3
    titles = {event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert titles == {"session traced", "worker 1", "worker 2"}


def test_operators_of_a_session_are_in_its_profile_and_in_its_trace(tmp_path, capsys):
    """With what that has cost; those of the optimizer are in the trace where it learns."""
    small = {"batch": 64, "minibatch": 64, "epochs": 1, "threads": 1}
    options = {"task": "noop", "trainer": "ppo", "device": "cpu", "num_envs": 2, "settings": small, "name": "kernels"}
    with session(tmp_path, **options) as watched:
        watched.until(running)
        watched.call("speed", sps=200)  # fewer operators, which are counted and written one by one
        assert main(["profile", "kernels", "--kernels"]) == 0
        text = capsys.readouterr().out
        assert "the CPU, since this training uses no GPU" in text
        assert "aten::addmm" in text
        assert "steps/s while PyTorch's profiler was on" in text
        assert main(["profile", "kernels", "--kernels", "--seconds", "6"]) == 2
        file = tmp_path / "trace.json"
        assert main(["trace", "kernels", "--kernels", "--seconds", "0.4", "--out", str(file)]) == 0
        assert "Kernels or operators: " in capsys.readouterr().out
        watched.end()
    events = [event for event in json.loads(file.read_text())["traceEvents"] if event["ph"] == "X"]
    learned = [(one["ts"], one["ts"] + one["dur"]) for one in events if one["name"] == "learner"]
    adam = [one["ts"] for one in events if "adam" in one["name"]]
    assert adam
    inside = sum(any(begin <= ts <= end for begin, end in learned) for ts in adam)
    assert inside / len(adam) > 0.9  # the last phase may be written after the end of the trace


def test_what_does_not_run_cannot_be_profiled(capsys, tmp_path):
    """The error says what to do."""
    assert main(["profile", "nothing"]) == 2
    assert "'nothing'" in capsys.readouterr().err
    assert main(["profile", "nothing", "--speedscope", str(tmp_path / "no" / "file")]) == 2
    assert "make it" in capsys.readouterr().err


@pytest.mark.parametrize(("caller", "kind"), [(GradientStep.take, "learner"), (Actor.decide, "policy")])
def test_a_network_is_the_learners_where_it_computes_gradients(caller, kind):
    """Also in a thread of its own, whose stack begins with a part of the minibatch."""
    part = next(one for one in caller.__code__.co_consts if getattr(one, "co_name", "") == "part")
    outermost = [part] if kind == "learner" else [caller.__code__, part]
    assert kind_of([sign_of(code, ()) for code in (*outermost, Linear.forward.__code__)]) == kind
