"""What all tests share: a runtime directory of their own, and nothing of what a user keeps or prefers."""

import gc
import json
import os
import signal
import sys
from importlib.util import find_spec
from pathlib import Path

import hypothesis
import pytest

from pac.backends.system.cores import usable_cores
from pac.envs import registry
from pac.envs.spaces.drawing import BUDGET

from . import leftovers, warm
from .folders import runtime, sweep

DURATIONS = Path(__file__).parent / "durations.json"
SHORT = 0.5  # s: files below need no place in the order
FAILED = pytest.StashKey[bool]()

# A busy machine is no fault of the code.
hypothesis.settings.register_profile("here", deadline=None, max_examples=20)
hypothesis.settings.register_profile("quick", hypothesis.settings.get_profile("here"), max_examples=10)
hypothesis.settings.register_profile("slow", hypothesis.settings.get_profile("here"), max_examples=500)
hypothesis.settings.load_profile("here")

# A shell starts background jobs with SIGINT ignored, which processes inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Read when the app's modules are imported: what the person who runs the tests prefers must not matter.
os.environ["XDG_CONFIG_HOME"] = os.devnull

# No baseline and no answer is remembered.
os.environ["XDG_STATE_HOME"] = os.devnull

# Watched scripts leave no runs, except where a test wants them.
os.environ["PAC_WATCHED_RUNS"] = ""

# Without bytecode on disk, each process that a test starts would compile every module.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_xdist_auto_num_workers():
    """Start a worker for each core that this process may use, where xdist would count those of the machine.

    No more than 16: each imports for some seconds before its first test.
    """
    return min(usable_cores(), 16)


# Importing and collecting make little garbage, and looking for it took a sixth of their time.
gc.disable()


def pytest_collection_finish():
    """Let collections of garbage pass over what was imported: looking through it took a fifth of a second each."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def runtime_directory():
    """Point the runtime directory at a new folder. At the end, no process may be left."""
    sweep()
    with runtime() as folder:
        os.environ["PAC_RUNTIME_DIR"] = str(folder)
        yield folder
        leftovers.end_all()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    """Remember which tests failed."""
    report = yield
    if report.failed:
        item.stash[FAILED] = True
    return report


@pytest.fixture(autouse=True)
def a_failed_test_leaves_no_process(runtime_directory, request):
    """End what a test has started if it failed, but not what fixtures of its module have."""
    began = leftovers.now()
    yield
    if FAILED in request.node.stash:
        leftovers.end_since(began)


def pytest_collection_modifyitems(items):
    """Begin with the files that take longest, so that no process ends alone; skip tests of a missing GPU."""
    seconds = json.loads(DURATIONS.read_text()) if DURATIONS.exists() else {}
    items.sort(key=lambda item: -seconds.get(item.nodeid.partition("::")[0], 0.0))
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if marked and (reason := _without_gpu()):
        for item in marked:
            item.add_marker(pytest.mark.skip(reason=reason))


def _without_gpu() -> str:
    """Return why kernels cannot run on a GPU here, or an empty string."""
    if find_spec("torch") is None:
        return "PyTorch is not installed"
    import torch

    from pac.envs.cuda import unavailable

    return "PyTorch finds no GPU" if not torch.cuda.is_available() else unavailable()


@pytest.fixture(scope="session", autouse=True)
def described_here():
    """Describe Gymnasium environments in this process, which takes less time; see `envs/test_probing.py`."""
    registry.APART = False


@pytest.fixture(autouse=True)
def unspent():
    """Let each test draw as in a process that has drawn nothing."""
    BUDGET.__init__()  # type: ignore[misc]


@pytest.fixture(scope="session", autouse=True)
def warm_start(runtime_directory):
    """Start the product's processes from a warm one; see `warm.py`."""
    warm.install()
    yield
    warm.uninstall()


def pytest_addoption(parser):
    """Offer to record how long the files take."""
    parser.addoption("--record-durations", action="store_true", help=f"write the seconds of each file to {DURATIONS}")


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter, config):
    """Record how long the files took."""
    if config.getoption("record_durations"):
        seconds: dict[str, float] = {}
        for report in (report for reports in terminalreporter.stats.values() for report in reports):
            if hasattr(report, "duration"):
                file = report.nodeid.partition("::")[0]
                seconds[file] = seconds.get(file, 0.0) + report.duration
        kept = {file: round(total, 1) for file, total in sorted(seconds.items()) if total >= SHORT}
        DURATIONS.write_text(json.dumps(kept, indent=0) + "\n")
