"""`python -m tests.benchmarks dqn`: gradient steps beside Stable-Baselines3, and a replay of images."""

import pytest

from .dqn import CAPACITY, IMAGE, gradient_steps, replay

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_a_replay_of_images_needs_the_memory_that_its_layout_says():
    """One observation per transition and a tenth more, as measured with a tenth of the transitions."""
    found = replay(0.2, 1)
    images = CAPACITY * IMAGE[0] * IMAGE[1]
    assert images < found["bytes"] < 1.1 * images
    assert found["bytes_measured"] == pytest.approx(found["bytes"], rel=0.15)
    assert found["share_of_copy_stacks"] > found["share_of_copy_frames"] > 0


def test_both_sides_take_gradient_steps():
    """The ratio is that of the medians."""
    pytest.importorskip("stable_baselines3")
    found = gradient_steps(0.2, 1)
    assert found["ratio"] == pytest.approx(found["ours"]["median"] / found["sb3"]["median"])
