"""Samples from outside: what py-spy prints is counted as what a process answers itself."""

import subprocess
import sys
import time
from collections import Counter

import pytest

from pac.backends.profiling.kinds import ENVIRONMENT, IDLE, LEARNER, OTHER, kind_of, sign_of_name
from pac.backends.profiling.spying import counted, py_spy, spied

WORKER = "run (process.py:108);_async_worker (/lib/gymnasium/vector/async_vector_env.py:"
LINES = (
    f"{WORKER}878);Hot.step (/a b (c)/hot.py:34) 60",
    f"{WORKER}878);Hot.step (/a b (c)/hot.py:35);rest (/a b (c)/hot.py:41) 40",
    f"{WORKER}843);_recv ({sys.prefix}/lib/connection.py:395) 10".replace(
        f"{sys.prefix}/lib", subprocess.__file__.rpartition("/")[0] + "/multiprocessing"
    ),
    "",
)


def test_what_py_spy_prints_is_counted():
    """Below a step is the environment; in a pipe, and in samples that are not printed, it has nothing to do."""
    found = counted(LINES, 150)
    kinds: Counter[str] = Counter()
    for _, kind, waits, count, places in found["stacks"]:
        kinds[kind] += count
        assert waits is (kind == IDLE)
        assert not places or found["frames"][places[0]] == ("process.py", 108, "run")
    assert kinds == {ENVIRONMENT: 100, IDLE: 50}
    assert ("/a b (c)/hot.py", 34, "Hot.step") in found["frames"]


def test_who_passes_steps_to_other_processes_does_not_step():
    """The script that waits for them is not the environment, which is in the other processes."""
    names = (
        ("/lib/gymnasium/vector/vector_env.py", "step"),
        ("/lib/gymnasium/vector/async_vector_env.py", "step_wait"),
    )
    assert [kind_of([sign_of_name(*name) for name in names[:end]]) for end in (1, 2)] == [ENVIRONMENT, OTHER]
    assert kind_of([LEARNER, sign_of_name("/lib/torch/nn/modules/linear.py", "forward")]) == LEARNER


@pytest.mark.session
@pytest.mark.skipif(py_spy() is None, reason="py-spy is not installed")
def test_a_process_is_sampled_from_outside():
    """It is named with its line; of a process that has ended, py-spy says why not."""
    code = "def step():\n    while True:\n        sum(range(1000))\nstep()"
    with subprocess.Popen((sys.executable, "-c", code)) as process:
        time.sleep(0.5)  # the interpreter has started
        found = spied([process.pid], 1)[0]
        process.kill()
    assert ("<string>", 3, "step") in found["frames"]
    assert found["stacks"][0][1] == ENVIRONMENT
    assert "py-spy" in spied([process.pid], 1)[0]["text"]
