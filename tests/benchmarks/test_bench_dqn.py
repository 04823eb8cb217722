"""`python -m tests.benchmarks dqn` and `sac`: gradient steps beside Stable-Baselines3, and a replay of images."""

from typing import Any

import pytest

from . import dqn, sac
from .dqn import CAPACITY, IMAGE, replay

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_a_replay_of_images_needs_the_memory_that_its_layout_says():
    """One observation per transition and a tenth more, as measured with a tenth of the transitions."""
    found = replay(0.2, 1)
    images = CAPACITY * IMAGE[0] * IMAGE[1]
    assert images < found["bytes"] < 1.1 * images
    assert found["bytes_measured"] == pytest.approx(found["bytes"], rel=0.15)
    assert found["share_of_copy_stacks"] > found["share_of_copy_frames"] > 0


@pytest.mark.parametrize("gradient_steps", [dqn.gradient_steps, sac.gradient_steps])
def test_both_sides_take_gradient_steps(gradient_steps):
    """The ratio is that of the medians."""
    pytest.importorskip("stable_baselines3")
    found = gradient_steps(0.2, 1)
    assert found["ratio"] == pytest.approx(found["ours"]["median"] / found["sb3"]["median"])


def test_returns_are_compared_and_finished_trainings_are_not_repeated(tmp_path):
    """The second call reads what the first one has written."""
    pytest.importorskip("stable_baselines3")
    options: dict[str, Any] = {
        "tasks": ["Pendulum-v1"],
        "seeds": 1,
        "steps": 200,
        "progress": lambda _what, _share: None,
    }
    found = sac.compare_returns(tmp_path, **options)
    (row,) = found["rows"]
    assert row["ratio"] is None
    assert all(row[side]["median"] < 0 < row[side]["cpu_seconds"] for side in ("pac-tui", "SB3"))
    times = [file.stat().st_mtime_ns for file in sorted(tmp_path.iterdir())]
    assert sac.compare_returns(tmp_path, **options) == found
    assert [file.stat().st_mtime_ns for file in sorted(tmp_path.iterdir())] == times
