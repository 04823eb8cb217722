"""The benchmark of environments on a GPU, run on the CPU."""

import sys
from dataclasses import asdict

import pytest

from pac.training.bench.clearing import seconds_to_clear
from pac.training.bench.gpu import measure_gpu
from pac.training.nets.line_convolution import VARIANT

from ...programs import python


@pytest.mark.session
def test_the_program_runs_in_memory_apart() -> None:
    """Every figure is there, random actions are legal, and without a GPU the results say so."""
    before = asdict(VARIANT)
    names = ("bfloat16", "default settings")
    found = measure_gpu(
        device="apart", envs=(32,), seconds=0.01, clearing=0, variants=names, progress=lambda _text, _share: None
    )
    (row,) = found["rows"]
    assert (row["task"], found["left_out"], found["cleared"]) == ("drmario", [], {})
    assert row["steps_per_second"] > 0
    assert row["with_inference"] > 0
    assert tuple(row["with_training"]) == names
    assert all(variant["steps_per_second"] > 0 for variant in row["with_training"].values())
    assert row["with_training"]["default settings"]["precision"] == "float32"
    assert "N=32 needs about" in row["memory"]
    assert "errors" not in row
    assert found["note"].startswith("There is no GPU")
    assert asdict(VARIANT) == before


@pytest.mark.slow
def test_a_training_that_does_not_clear_the_bottle_ends() -> None:
    """Within the limit, with the viruses of the last evaluation; the start of the process counts."""
    found = seconds_to_clear("cpu", 3.0, num_envs=8)
    assert found["seconds"] is None
    assert found["first_step"] > 0.1
    assert found["decisions"] > 0


@pytest.mark.session
@pytest.mark.skipif(sys.platform != "linux", reason="Numba may use another OpenMP")
def test_threads_of_openmp_sleep_in_benchmarks() -> None:
    """Threads that spin made steps of the device backend up to 50 times slower on busy cores."""
    code = "from pac.training.bench.parts import PARTS; PARTS['device'].load()"
    done = python("-c", code, environ={"OMP_DISPLAY_ENV": "verbose"}, check=True)
    assert "GOMP_SPINCOUNT = '0'" in done.stderr
