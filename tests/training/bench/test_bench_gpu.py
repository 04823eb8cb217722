"""The benchmark of environments on a GPU, run on the CPU."""

import sys

import pytest
import torch

from pac.envs import PacError
from pac.training.bench.gpu import measure_gpu

from ...programs import python


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


@pytest.mark.session
@pytest.mark.skipif(sys.platform != "linux", reason="Numba may use another OpenMP")
def test_threads_of_openmp_sleep_in_benchmarks() -> None:
    """Threads that spin made steps of the device backend up to 50 times slower on busy cores."""
    code = "from pac.training.bench.parts import PARTS; PARTS['device'].load()"
    done = python("-c", code, environ={"OMP_DISPLAY_ENV": "verbose"}, check=True)
    assert "GOMP_SPINCOUNT = '0'" in done.stderr
