"""How long a training may go on without better returns."""

import pytest

from pac.training.diagnosis.evidence import IMAGE, IMAGE_STEPS, MANY_STEPS, Evidence


@pytest.mark.parametrize(("observed", "steps"), [(4, MANY_STEPS), (IMAGE, IMAGE_STEPS)])
def test_a_policy_of_images_has_longer_to_prefer_actions(observed, steps, monkeypatch):
    """PPO on Breakout was called stuck after 50,000 steps, and learned after 60,000."""
    monkeypatch.setattr(Evidence, "stuck", True)
    evidence = Evidence()
    evidence.observed, evidence.steps = observed, steps - 1
    assert not evidence.stuck_for_long
    evidence.steps = steps
    assert evidence.stuck_for_long
