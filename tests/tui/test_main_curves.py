"""The curves beside boards are those that say most about the success of a training."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pac.training.units import RETURN, STEPPED
from pac.tui.curve_options import CurveOptions
from pac.tui.views.curves import all_curves, main_curves


def shown(*names, flat=()):
    """The curves beside boards of a training that has logged under some names."""
    return main_curves(logged(*names, flat=flat))


def logged(*names, flat=(), frames=0):
    """A training that has logged under some names; some curves are flat."""
    metrics = dict.fromkeys(("return_mean", "length_mean", *names), 1.0)
    numbers = np.arange(3.0)
    curves = {name: SimpleNamespace(values=numbers * (name not in flat)) for name in metrics}
    about, state = SimpleNamespace(figures=(RETURN,), units=STEPPED), {"steps": 100, "frames": frames}
    snapshot: Any = SimpleNamespace(metrics=metrics, description=about, curves=curves, state=state)
    return snapshot


def test_returns_and_success_go_before_losses():
    """As Stable-Baselines3 and single-file scripts call them; growing counters and speeds are left out."""
    assert shown(
        *("time/iterations", "time/fps", "train/value_loss", "info/x_position", "rollout/ep_rew_mean"),
        *("charts/SPS", "global_step", "eval/mean_length", "rollout/success_rate", "fps", "sps"),
    ) == (
        *("return_mean", "rollout/ep_rew_mean", "rollout/success_rate", "eval/mean_length", "info/x_position"),
        *("train/value_loss", "length_mean"),
    )


@pytest.mark.parametrize("names", [(), ("fps", "sps")])
def test_a_script_that_logs_nothing_has_the_length_of_episodes(names):
    """And no speed, which is in figures."""
    assert shown(*names) == ("return_mean", "length_mean")


def test_quantiles_schedules_and_flat_curves_go_last():
    """A value loss says more than a policy loss, and a curve that does not move nothing."""
    names = ("loss/policy", "loss/value", "info/level", "info/rank", "return/p10", "clip", "decisions")
    assert shown(*names, flat=("info/level",)) == (
        *("return_mean", "info/rank", "loss/value", "loss/policy", "length_mean", "info/level"),
    )


def test_pinned_curves_go_first():
    """In the order in which they were pinned, whatever they are about, after the measure of success."""
    options = CurveOptions().pin("clip").pin("loss/kl").pin("gone")
    found = main_curves(logged("loss/policy", "clip", "loss/kl"), options)
    assert found[:3] == ("return_mean", "clip", "loss/kl")
    assert options.pin("clip").pinned == ("loss/kl", "gone")


@pytest.mark.parametrize(("frames", "both"), [(100, False), (400, True)])
def test_one_rate_is_shown_if_every_step_is_a_frame(frames, both):
    """Then fps and sps are the same."""
    assert ("sps" in all_curves(logged("fps", "sps", frames=frames))) is both


def test_curves_of_a_prefix_are_beside_each_other():
    """At the place of the first one."""
    names = all_curves(logged("loss/policy", "kl", "loss/value", "grad", "opt/lr", "opt/norm"))
    assert names == ["return_mean", "length_mean", *("loss/policy", "loss/value", "kl", "grad", "opt/lr", "opt/norm")]
