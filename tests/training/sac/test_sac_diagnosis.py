"""What the diagnosis says of trainings with SAC, healthy and sick ones."""

import pytest

from ..watched import run_here

pytestmark = pytest.mark.session
QUICK = {"learning_starts": 128, "train_frequency": 2, "batch": 32, "hidden": 32, "learning_rate": 3e-3}
SICK = {
    "temperature-exploding": {"target_entropy": 1.0},
    "values-diverge": {"gamma": 1.0, "tau": 1.0, "learning_rate": 0.03},
}


@pytest.mark.parametrize("rule", ["", *SICK])
def test_findings(tmp_path, rule):
    """A target entropy that no policy has, values that feed on themselves; else nothing."""
    settings = QUICK | SICK.get(rule, {})
    options = {"task": "Pendulum-v1", "trainer": "sac", "backend": "inline", "num_envs": 4, "steps": 8_192, "seed": 3}
    report, _ = run_here(tmp_path, settings=settings, **options)
    found = {one["rule"] for one in report["findings"] if one["severity"] != "note"}
    assert rule in found if rule else not found
