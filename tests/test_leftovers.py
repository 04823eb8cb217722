"""The suite's own surroundings: SIGINT as in a terminal, and no process that tests leave running."""

import sys
from pathlib import Path

import psutil
import pytest

from .folders import sweep
from .programs import program, python

ROOT = Path(__file__).parents[1]
TESTS = """
import os, signal, subprocess, time
import pytest
from tests import leftovers

@pytest.fixture(scope="session")
def warm_start():
    pass  # which no test here needs

def start(name, **options):
    process = subprocess.Popen(["sleep", "600"], **options)
    open(name, "w").write(str(process.pid))
    return process

@pytest.fixture(scope="module")
def shared():
    process = start("shared")
    time.sleep(0.02)  # processes know their start in hundredths of a second
    yield process
    process.kill()

@pytest.fixture
def own():
    start("own")

def test_that_fails(shared, own):
    subprocess.run(["sh", "-c", "sleep 600 & echo $! > orphan"], start_new_session=True)
    assert 0

def test_that_shares(shared):
    for name in ("own", "orphan"):
        assert not leftovers.running().keys() & {int(open(name).read())}
    assert shared.poll() is None

def test_that_interrupts():
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)
    assert subprocess.run(["sh", "-c", "kill -INT $$"]).returncode == -signal.SIGINT

def test_that_leaves_a_process():
    leftovers.LIMIT = 0.1
    start("left")
"""
DEAD = """
import os, subprocess
from tests.folders import runtime
held = runtime()
os.environ["PAC_RUNTIME_DIR"] = str(held.__enter__())
print(os.environ["PAC_RUNTIME_DIR"], subprocess.Popen(["sleep", "600"], stdout=-3, stderr=-3).pid, flush=True)
os._exit(9)
"""

pytestmark = pytest.mark.session


def test_surroundings(tmp_path):
    """Failed tests' processes end, those of shared fixtures do not, the last ones are errors; SIGINT interrupts."""
    (tmp_path / "test_here.py").write_text(TESTS)
    command = "trap '' INT; exec \"$0\" -m pytest -q -p tests.conftest -p no:cacheprovider test_here.py"
    done = program("sh", "-c", command, sys.executable, environ={"PYTHONPATH": str(ROOT)}, cwd=tmp_path)
    assert "1 failed, 3 passed, 1 error in" in done.stdout, done.stdout
    pids = {path.name: int(path.read_text()) for path in tmp_path.iterdir() if path.is_file() and not path.suffix}
    assert set(pids) == {"shared", "own", "orphan", "left"}
    assert not any(map(psutil.pid_exists, pids.values()))


def test_the_processes_of_the_dead_are_swept():
    """The next tests end what others left that were killed, and remove their folder."""
    done = python("-c", DEAD, cwd=ROOT)
    assert done.returncode == 9, done.stderr
    dead, pid = done.stdout.split()
    assert psutil.pid_exists(int(pid))
    sweep()
    assert not psutil.pid_exists(int(pid))
    assert not Path(dead).exists()
