"""Steps by the kernels that a GPU runs one after the other, with fights side by side or not."""

from __future__ import annotations

import numpy as np
import pytest

from pac.envs.autochess.driver import AutochessEnvironments
from pac.envs.fields import Array
from pac.envs.native import ALL_LEGAL

from ..begun import begun, step_by_phases

NUM_ENVS = 4


def made(spec: str) -> tuple[AutochessEnvironments, dict[str, Array]]:
    """Return environments that were reset, and their buffers of two slots."""
    _, buffers, envs = begun(spec, NUM_ENVS, 2)
    return envs, dict(buffers)


@pytest.mark.thorough
@pytest.mark.timeout(900)  # compiles for most of it
@pytest.mark.parametrize("combat", ["inline", "device"])
@pytest.mark.parametrize("options", ["players=8", "turn_actions=3"])
def test_the_phases_equal_a_step(options: str, combat: str) -> None:
    """Every byte of every field over whole games, with rounds against creatures, between players and against ghosts."""
    whole, expected = made(f"autochess:{options}")
    parts, found = made(f"autochess:{options},combat={combat}")
    random, games = np.random.default_rng(4), 0
    for step in range(1_500):
        slot = step % 2
        masks = np.unpackbits(expected["action_mask"][slot], axis=-1, bitorder="little")
        expected["action"][slot] = (random.random(masks.shape) * masks).argmax(axis=1)
        found["action"][slot] = expected["action"][slot]
        whole.step(slot)
        assert set(step_by_phases(parts, slot)) == {ALL_LEGAL}
        games += int((expected["outcome"][1 - slot] > 0).sum())
        for name, array in expected.items():
            assert array.tobytes() == found[name].tobytes(), f"{name} after {step + 1} steps"
    assert games


@pytest.mark.thorough
def test_an_illegal_action_leaves_a_game_as_it_is() -> None:
    """The first phase returns its row, and the others do nothing with that game."""
    envs, buffers = made("autochess:players=8,combat=device")
    before = buffers["state"][0, 2].copy()
    masks = np.unpackbits(buffers["action_mask"][0], axis=-1, bitorder="little")
    buffers["action"][0] = masks.argmax(axis=1)
    buffers["action"][0, 2 * 8 + 5] = 92
    found = step_by_phases(envs, 0)
    assert [row for row in found if row != ALL_LEGAL] == [2 * 8 + 5]
    assert np.array_equal(buffers["state"][0, 2], before)
    assert buffers["episode_length"][1].tolist() == [1, 1, 0, 1]
