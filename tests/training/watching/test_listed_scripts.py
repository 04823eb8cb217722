"""The scripts of the list in docs/watch.md, watched: they show what they should, and compute the same."""

import sys
from importlib.util import find_spec

import pytest

from .listed_scripts import SCRIPTS, run

pytestmark = [pytest.mark.session, pytest.mark.slow]
NEEDS = ("stable_baselines3", "tensorboardX", "wandb", "pettingzoo", "torch.utils.tensorboard")


def missing(script):
    """Return the first library that a script needs and that is not installed."""
    text = script.read_text()
    names = {name: name if name != "torch.utils.tensorboard" else "tensorboard" for name in NEEDS if name in text}
    return next((package for package in names.values() if find_spec(package) is None), None)


@pytest.mark.parametrize("script", sorted(SCRIPTS.glob("*.py")), ids=lambda path: path.stem)
def test_a_script_shows_its_environments_and_computes_the_same(script):
    """Environments, returns and its own curves; and the same weights as without watching."""
    if (package := missing(script)) is not None:
        pytest.skip(f"{package} is not installed")
    plain, watched = (run(script, sys.executable, watched=way, whole=True) for way in (False, True))
    assert (watched.code, watched.weights) == (0, plain.weights)
    assert plain.weights
    assert watched.complete
    assert watched.curves
    assert not watched.trouble
