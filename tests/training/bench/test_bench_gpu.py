"""The benchmark of environments on a GPU, run on the CPU."""

from __future__ import annotations

import pytest
import torch

from pac.envs import PacError
from pac.training.bench.gpu import measure_gpu


@pytest.mark.session
def test_the_program_runs_in_memory_apart() -> None:
    """Every figure is there, and random actions are legal."""
    found = measure_gpu(
        device="apart", tasks=("drmario",), envs=(16,), seconds=0.1, progress=lambda _text, _share: None
    )
    (row,) = found["rows"]
    assert row["steps_per_second"] > 0
    assert row["ppo_steps_per_second"] > 0
    assert row["ppo_graph_steps_per_second"] > 0
    assert "N=16 needs about" in row["memory"]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_the_reason_is_named() -> None:
    """One sentence, before anything is measured."""
    with pytest.raises(PacError, match="finds no GPU"):
        measure_gpu(progress=lambda _text, _share: None)
