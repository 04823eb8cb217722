"""The CUDA kernels and their launcher, in Numba's CUDA simulator."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from ..programs import python
from .simulated import GAMES, recorded


@pytest.mark.session
@pytest.mark.timeout(600)
def test_kernels_of_every_game_equal_inline_in_the_simulator(tmp_path: Path) -> None:
    """Every byte after some steps; kernels that reset by mask and show states, and an illegal action."""
    steps = tmp_path / "steps"
    steps.write_bytes(pickle.dumps({spec: recorded(spec, count) for spec, count in GAMES.items()}))
    environ = {"NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}
    done = python("-m", "tests.backends.simulated", steps, environ=environ, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines() == [*(f"equal: {spec}" for spec in GAMES), "reset, restored, refused"]
