"""DQN and IQN learn a real task: minutes on one core, so not in the quick part."""

import pytest

from pac.training.bench.facts import Results
from pac.training.config import Config

from ...benchmarks.learning import train_ours
from ...benchmarks.learning_checks import Checks


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ["dqn", "iqn"])
def test_it_learns_cartpole(name):
    """With the recommended settings: from about 20 steps per episode to more than 195, in one of 20 checks."""
    points: list[Results] = []
    train_ours(Config(task="CartPole-v1", trainer=name), Checks(50_000, 2_500), points.append)
    assert max(point["mean"] for point in points) > 195
