"""Ranks as processes that torchrun starts."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from ..programs import python
from .rank_program import ITERATIONS
from .test_ranks import train
from .thread_ranks import on_ranks

ROOT = Path(__file__).parents[2]


@pytest.mark.session
def test_processes_learn_what_threads_learn(tmp_path: Path) -> None:
    """Some iterations on two ranks give the same weights, bit for bit; a rank whose partner has left says so."""
    torchrun = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    environ = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = python(*torchrun, "-m", "tests.training.rank_program", tmp_path, environ=environ)
    assert done.returncode == 0, done.stderr
    wanted = on_ranks(2, lambda ranks: train(ranks, 4, ITERATIONS)[0])
    for rank, weights in enumerate(wanted):
        found = torch.load(tmp_path / f"rank{rank}.pt", weights_only=True)
        assert found.keys() == weights.keys()
        assert all(torch.equal(found[name], weights[name]) for name in weights)
    assert "another rank" in (tmp_path / "lost").read_text() or "rank 1" in (tmp_path / "lost").read_text()
