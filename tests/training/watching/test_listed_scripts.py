"""The scripts of the list in docs/watch.md, watched: they show what they should, and compute the same."""

import sys
from importlib.util import find_spec

import pytest

from .external_scripts import EXTERNAL
from .listed_scripts import SCRIPTS, run

pytestmark = [pytest.mark.session, pytest.mark.slow]
NEEDS = ("stable_baselines3", "tensorboardX", "wandb", "pettingzoo", "torch.utils.tensorboard")


def needed_by(script):
    """Return the libraries that a script needs."""
    text = script.read_text()
    return [name if name != "torch.utils.tensorboard" else "tensorboard" for name in NEEDS if name in text]


def skip_without(packages):
    """Skip the test if a package is not installed."""
    for package in packages:
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")


@pytest.mark.parametrize("script", sorted(SCRIPTS.glob("*.py")), ids=lambda path: path.stem)
def test_a_script_shows_its_environments_and_computes_the_same(script):
    """Environments, returns and its own curves; and the same weights as without watching."""
    skip_without(needed_by(script))
    plain, watched = (run(script, sys.executable, watched=way, whole=True) for way in (False, True))
    assert (watched.code, watched.weights) == (0, plain.weights)
    assert plain.weights
    assert watched.complete
    assert watched.curves
    assert not watched.trouble


@pytest.mark.parametrize("script", EXTERNAL, ids=lambda script: script.name)
def test_a_script_of_another_project_shows_its_environments(script):
    """Environments, returns and its own curves."""
    if not script.file.exists():
        pytest.skip("download it with tests/training/watching/external_scripts.py")
    skip_without(script.needs)
    script.check(script.file.read_text())
    watched = run(script.file, sys.executable, watched=True, whole=False)
    assert watched.code in {0, None}
    assert watched.complete
    assert watched.curves
    assert not watched.trouble
