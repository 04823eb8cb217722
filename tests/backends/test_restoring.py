"""States that a backend is asked to go on from."""

from __future__ import annotations

import numpy as np
import pytest

from pac.backends import make
from pac.envs.errors import ImpossibleState


def test_an_impossible_state_changes_nothing():
    """A refused state leaves no trace in what is played after it."""
    asked, other = (make("drmario", 3, "inline", seed=9, strict=True) for _ in range(2))
    for backend in (asked, other):
        backend.start()
    states = asked.buffer["state"][0].copy()
    states[1] = 2**63
    with pytest.raises(ImpossibleState, match="drmario cannot be in the state that was given for environment 1"):
        asked.restore(states)
    for _ in range(30):
        for backend in (asked, other):
            masks = np.unpackbits(backend.buffer["action_mask"][0].view(np.uint8), axis=1, bitorder="little")
            backend.buffer["action"][0] = masks.argmax(axis=1)
            backend.advance(0)
    for name in other.buffer:
        assert asked.buffer[name].tobytes() == other.buffer[name].tobytes(), name
    asked.close()
    other.close()
