"""The illnesses of `sick.py`, the rules that name them, and what watching a training with one says."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from pac.training.runs.folder import RunFolder

SICK = Path(__file__).with_name("sick.py")
SECONDS = 12


class Illness(NamedTuple):
    """An illness.

    Attributes:
        rules: The rules that name it; one of them is enough.
        advised: Whether what they recommend can be done without knowing the script: `sick.py` does it.
        seconds: How long a training takes to show it, in CPU time.
    """

    rules: tuple[str, ...]
    advised: bool = False
    seconds: int = SECONDS


ILLNESSES = {
    "same seeds": Illness(("identical-environments",), advised=True),
    "same seed": Illness(("same-seed-at-each-reset",), advised=True),
    "kinds mixed": Illness(("observation-kind-changes",), advised=True),
    "no reward": Illness(("reward-never-paid",)),
    "fixed reward": Illness(("return-always-the-same",)),
    "huge reward": Illness(("reward-scale", "gradient-far-beyond-limit"), advised=True),
    "ends at once": Illness(("episodes-end-at-once", "return-always-the-same")),
    "only cut": Illness(("episodes-only-cut",)),
    "still observation": Illness(("observation-still", "policy-sees-the-same")),
    "old observation": Illness(("policy-sees-the-same",), advised=True),
    "large observation": Illness(("observation-scale",), advised=True),
    "numbers missing": Illness(("observation-constant",), advised=True),
    "observation not a number": Illness(("nan-observation",)),
    "reward not a number": Illness(("nan-reward",)),
    "one action": Illness(("one-action",)),
    "random actions": Illness(("actions-random",), advised=True),
    "never drawn": Illness(("policy-not-sampled",), advised=True),
    "dead units": Illness(("dead-units", "weights-without-gradient"), advised=True),
    "critic forgotten": Illness(("policy-not-trained",), advised=True),
    "fast": Illness(("updates-too-large", "entropy-collapse", "kl-too-high", "value-loss-growing"), advised=True),
    "grows": Illness(("weights-blown-up",), advised=True),
    "slow": Illness(("updates-too-small",), advised=True),
    "rate ends": Illness(("learning-rate-zero",), advised=True),
    "weights decay": Illness(("features-collapsed",), advised=True),
    "actions shuffled": Illness(("entropy-does-not-fall",)),
    "advantages of nothing": Illness(("advantages-near-zero",), advised=True),
    "same part again": Illness(("clip-fraction-high", "kl-too-high"), advised=True),
    "beyond the end": Illness(("values-beyond-returns", "values-diverge"), advised=True),
    "gradients kept": Illness(("gradients-not-cleared",), advised=True),
    "entropy punished": Illness(("entropy-collapse",), advised=True),
    "not a number": Illness(("loss-not-finite", "weights-not-finite")),
    "steps forgotten": Illness(("policy-not-updated",), advised=True),
    "many threads": Illness(("too-many-threads",), advised=True),
    "slow environment": Illness(("one-slow-environment",)),
    "slow worker": Illness(("one-slow-worker",), seconds=75),
    "saves always": Illness(("inner-loop-works",), advised=True, seconds=80),
}
"""All of them. A healthy training has the name `healthy`."""


class Watched(NamedTuple):
    """What watching a training has shown.

    Attributes:
        findings: Its findings, by rule.
        rows: Its metrics.
    """

    findings: dict[str, dict[str, Any]]
    rows: list[dict[str, float]]

    @property
    def length(self) -> float:
        """The mean length of its last episodes, which says how good it is, whatever the illness does to rewards."""
        return next((row["length_mean"] for row in reversed(self.rows) if "length_mean" in row), 0.0)

    @property
    def steps(self) -> float:
        """Environment steps in its time."""
        return self.rows[-1]["steps"] if self.rows else 0.0

    def said(self, *severities: str) -> set[str]:
        """Return the rules of findings of some severities."""
        return {rule for rule, found in self.findings.items() if found["severity"] in severities}


def watched(folder: Path, illness: str, *, advised: bool = False) -> Watched:
    """Watch a training with an illness, which may end it early."""
    seconds = ILLNESSES[illness].seconds if illness in ILLNESSES else SECONDS
    environment = {**os.environ, "PAC_WATCHED_RUNS": str(folder), "PAC_RUNTIME_DIR": str(folder)}
    arguments = [str(SICK), illness, str(seconds), *(["advice"] if advised else [])]
    subprocess.run([sys.executable, "-m", "pac.tui", "watch", "--headless", *arguments], check=False, env=environment)
    (found,) = folder.glob("sick-*/run.json")
    findings = {found["rule"]: found for found in json.loads(found.read_text())["findings"]}
    return Watched(findings, RunFolder(found.parent).metrics())
