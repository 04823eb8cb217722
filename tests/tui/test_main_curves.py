"""The curves beside boards are those that say most about the success of a training."""

from types import SimpleNamespace
from typing import Any

import pytest

from pac.training.units import RETURN, STEPPED
from pac.tui.views.curves import main_curves


def shown(*names):
    """The curves beside boards of a training that has logged under some names."""
    metrics = dict.fromkeys(("return_mean", "length_mean", *names), 1.0)
    snapshot: Any = SimpleNamespace(metrics=metrics, description=SimpleNamespace(figures=(RETURN,), units=STEPPED))
    return main_curves(snapshot)


def test_returns_and_success_go_before_losses():
    """As Stable-Baselines3 and single-file scripts call them; growing counters and speeds are left out."""
    assert shown(
        *("time/iterations", "time/fps", "train/value_loss", "info/x_position", "rollout/ep_rew_mean"),
        *("charts/SPS", "global_step", "eval/mean_length", "rollout/success_rate", "fps", "sps"),
    ) == (
        *("return_mean", "rollout/ep_rew_mean", "rollout/success_rate", "eval/mean_length", "info/x_position"),
        "train/value_loss",
    )


@pytest.mark.parametrize("names", [(), ("fps", "sps")])
def test_a_script_that_logs_nothing_has_the_length_of_episodes(names):
    """And no speed, which is in figures."""
    assert shown(*names) == ("return_mean", "length_mean")
