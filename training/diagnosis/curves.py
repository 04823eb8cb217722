"""The learner's metrics by what they mean, whatever the library calls them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise
from statistics import median

from ..telemetry.metric_names import split_metric_name

KEPT = 1024
"""Points of a series. When there are more, every second one of the older half is dropped."""
ROLES = {
    "entropy": r"(policy_)?(entropy|ent)(_mean)?",
    "negative_entropy": r"entropy_loss",
    "temperature": r"alpha|ent(ropy)?_coef(ficient)?|temperature",
    "kl": r"(approx_?|mean_|policy_)?kl(_div(ergence)?|_mean)?",
    "clip_fraction": r"(policy_)?clip_?frac(tion)?",
    "explained_variance": r"(vf_)?(explained_var(iance)?|expl_var)|ev",
    "value_loss": r"(value|v|vf|critic|qf\d?|q|td|baseline)_?loss|loss/(value|critic|vf|q)",
    "policy_loss": r"(policy|pg|actor|pi)_?loss|policy_gradient_loss|loss/(policy|actor)",
    "grad_norm": r"(global_)?grad(ient)?s?_?(g?norm)|total_norm",
    "learning_rate": r"learning_rate|lr",
    "update_ratio": r"optimizer/update_ratio",
    "least_ratio": r"optimizer/least_update_ratio",
    "growth": r"optimizer/growth",
    "zero_gradients": r"optimizer/zero_gradients",
    "gradients_left": r"optimizer/gradients_left",
    "not_finite": r"optimizer/not_finite",
    "unchanged": r"policy/weights_unchanged",
    "fixed_copy": r"policy/copy_unchanged",
    "same_input": r"policy/same_input",
    "greedy": r"policy/greedy",
    "input_size": r"policy/input_size",
    "untrained": r"optimizer/without_gradient",
    "dead": r"optimizer/dead_units",
    "updates": r"optimizer/updates",
    "feature_rank": r"optimizer/feature_rank",
    "advantages": r"advantages?_(std|deviation)",
    "returns": r"returns?_(std|deviation)",
    "replay_use": r"optimizer/replay_use",
    "norm_limit": r"optimizer/norm_limit",
    "epsilon": r"(exploration_)?(epsilon|eps|rate)|rand_eps",
    "value": r"value_mean|(mean_)?q(f\d?)?_?(values?|mean)?|(mean_)?values?",
    "return": r"return_mean",
    "evaluation": r"eval(uation)?/(return|mean_(reward|return)|episode_reward(_mean)?|return_mean)",
}
"""What names of metrics mean: patterns of the last part of a name in small letters, or of the last two."""
_PATTERNS = {role: re.compile(pattern) for role, pattern in ROLES.items()}


@lru_cache(maxsize=2048)
def role_of(name: str) -> tuple[int, str, str]:
    """Return the learner that a metric belongs to, what it means (empty if unknown), and the learner's name of it."""
    learner, own = split_metric_name(name)
    parts = own.lower().split("/")
    ends = "/".join(parts[-2:]), parts[-1]
    role = next((role for role, pattern in _PATTERNS.items() if any(map(pattern.fullmatch, ends))), "")
    return learner, role, own


class Series:
    """A metric's values, oldest first; of older ones, only some.

    Attributes:
        name: What the metric is called.
        steps: The environment steps at which they were logged.
        values: The values.
        count: How many there were.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.steps: list[float] = []
        self.values: list[float] = []
        self.count = 0

    def add(self, step: float, value: float) -> None:
        """Add a value."""
        self.steps.append(step)
        self.values.append(value)
        self.count += 1
        if len(self.values) > KEPT:
            for numbers in (self.steps, self.values):
                numbers[: KEPT // 2] = numbers[: KEPT // 2 : 2]

    def early(self, points: int) -> float:
        """Return the median of the first values."""
        return median(self.values[:points])

    @property
    def noise(self) -> float:
        """How much the values jump from one to the next, in the median."""
        return median(abs(after - before) for before, after in pairwise(self.values))

    def late(self, points: int) -> float:
        """Return the median of the last values."""
        return median(self.values[-points:])


class LearnerCurves:
    """The series of a learner, by what they mean."""

    def __init__(self) -> None:
        self.series: dict[str, Series] = {}

    def add(self, role: str, name: str, step: float, value: float) -> None:
        """Add a value of a metric. If several metrics mean the same, the first one counts."""
        if role == "negative_entropy":
            role, value = "entropy", -value
        series = self.series.get(role)
        if series is None:
            series = self.series[role] = Series(name)
        if series.name == name:
            series.add(step, value)

    def known(self, role: str, points: int) -> Series | None:
        """Return the series of a role, if it has so many values."""
        series = self.series.get(role)
        return series if series is not None and series.count >= points else None


def add_row(learners: dict[int, LearnerCurves], row: Mapping[str, float], step: float) -> None:
    """Add the metrics of an iteration whose meaning is known."""
    for name, value in row.items():
        learner, role, _ = role_of(name)
        if role and value == value:  # noqa: PLR0124 - not NaN, of which there is a rule of its own
            curves = learners.get(learner)
            if curves is None:
                curves = learners[learner] = LearnerCurves()
            curves.add(role, name, step, float(value))
