"""How often a model of Stable-Baselines3 uses its replay is read from its counters."""

from types import SimpleNamespace

import pytest

from pac.training.watching.replay_use import REPLAY_USE, use_of


@pytest.mark.parametrize(
    ("wanted", "updates", "unit", "share"),
    [(1, 500, "step", 0.125), (8, 4000, "step", 0.125), (-1, 8000, "step", 0.5), (1, 500, "episode", None)],
)
def test_updates_are_compared_with_the_settings(wanted, updates, unit, share):
    """16,000 steps of eight environments, of which four each are between updates; of whole episodes nothing is said."""
    frequency = SimpleNamespace(frequency=4, unit=SimpleNamespace(value=unit))
    model = {"num_timesteps": 17_000, "learning_starts": 1000, "train_freq": frequency}
    found = use_of({**model, "gradient_steps": wanted, "_n_updates": updates})
    assert found == ({} if share is None else {REPLAY_USE: share})
