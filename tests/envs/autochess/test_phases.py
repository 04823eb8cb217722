"""Steps by the kernels that a GPU runs one after the other, with fights side by side or not."""

from __future__ import annotations

import numpy as np
import pytest

from pac.envs.native import ALL_LEGAL

from ..begun import begun, legal_actions, step_by_phases


@pytest.mark.thorough
@pytest.mark.timeout(900)  # compiles for most of it
@pytest.mark.parametrize("combat", ["inline", "device"])
@pytest.mark.parametrize("options", ["players=8", "turn_actions=3"])
def test_the_phases_equal_a_step(options: str, combat: str) -> None:
    """Every byte of every field over whole games, with rounds against creatures, between players and against ghosts."""
    task, expected, whole = begun(f"autochess:{options}", 4, 2)
    _, found, parts = begun(f"autochess:{options},combat={combat}", 4, 2)
    random, games = np.random.default_rng(4), 0
    for step in range(600):
        slot = step % 2
        expected["action"][slot] = found["action"][slot] = legal_actions(task, expected, slot, random)
        whole.step(slot)
        assert set(step_by_phases(parts, slot)) == {ALL_LEGAL}
        games += int((expected["outcome"][1 - slot] > 0).sum())
        for name, array in expected.items():
            assert array.tobytes() == found[name].tobytes(), f"{name} after {step + 1} steps"
    assert games
