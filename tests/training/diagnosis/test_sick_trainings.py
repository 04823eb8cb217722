"""Real trainings with an illness built in, each of which is named, and a healthy one, of which nothing bad is said."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SICK = Path(__file__).with_name("sick.py")
SECONDS = 75
NAMED = {
    "same seeds": {"identical-environments"},
    "no reward": {"reward-never-paid", "return-always-the-same"},
    "huge reward": {"reward-scale", "gradient-far-beyond-limit"},
    "ends at once": {"episodes-end-at-once", "return-always-the-same"},
    "still observation": {"observation-still", "policy-sees-the-same"},
    "large observation": {"observation-scale"},
    "one action": {"one-action"},
    "dead units": {"dead-units", "weights-without-gradient"},
    "critic forgotten": {"policy-not-trained", "weights-without-gradient"},
    "fast": {"updates-too-large", "entropy-collapse"},
    "slow": {"updates-too-small"},
    "actions shuffled": {"entropy-does-not-fall"},
    "entropy punished": {"entropy-collapse"},
    "not a number": {"loss-not-finite", "weights-not-finite"},
    "steps forgotten": {"policy-not-updated"},
}
"""Illnesses, and the rules one of which names each."""


def findings(folder, illness, seconds=SECONDS):
    """Watch a training; return its findings by rule."""
    environment = {"PAC_WATCHED_RUNS": str(folder), "PAC_RUNTIME_DIR": str(folder)}
    command = [sys.executable, "-m", "pac.tui", "watch", "--headless", str(SICK), illness, str(seconds)]
    subprocess.run(command, check=illness == "healthy", env={**os.environ, **environment})
    (run,) = folder.glob("sick-*/run.json")
    return {found["rule"]: found["severity"] for found in json.loads(run.read_text())["findings"]}


@pytest.mark.slow
@pytest.mark.parametrize("illness", NAMED)
def test_an_illness_is_named(tmp_path, illness):
    """Within a minute or so, without a log."""
    found = findings(tmp_path, illness)
    assert NAMED[illness] & set(found), found


@pytest.mark.slow
def test_a_healthy_training_has_no_warning(tmp_path):
    """Notes are allowed."""
    assert {"warning", "fault"}.isdisjoint(findings(tmp_path, "healthy").values())
