"""What `make gpu` and `make gpu-pack` do where there is no GPU."""

from __future__ import annotations

import os
import runpy
import shutil
import zipfile
from pathlib import Path

import pytest

from .programs import program

ROOT = Path(__file__).parents[1]
RECORD = "tool-1.dist-info/RECORD"


@pytest.mark.skipif(bool(shutil.which("nvidia-smi")), reason="there may be a GPU")
def test_make_gpu_ends_with_one_sentence_without_a_gpu() -> None:
    """Nothing is installed or run."""
    outside = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    done = program("make", "gpu", cwd=ROOT, env=outside | {"LC_ALL": "C"})
    assert done.returncode
    assert done.stdout + done.stderr.split(": *** ")[1] == (
        "make gpu needs an NVIDIA GPU and its driver, but nvidia-smi lists none.  Stop.\n"
    )


def test_a_wheel_is_packed_without_a_file(tmp_path: Path) -> None:
    """The file is left out of the wheel and of its list of files."""
    wheel = tmp_path / "tool-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as made:
        made.writestr("tool/large", b"1")
        made.writestr("tool/small", b"2")
        made.writestr(RECORD, "tool/large,sha256=a,1\ntool/small,sha256=b,1\n")
    runpy.run_path(str(ROOT / ".ci/pack-gpu"))["leave_out"](wheel, "tool/large")
    with zipfile.ZipFile(wheel) as packed:
        assert packed.namelist() == ["tool/small", RECORD]
        assert packed.read(RECORD) == b"tool/small,sha256=b,1\n"


@pytest.mark.parametrize("text", ["nvidia-nvvm", "nvidia_nvvm-13.5.37-py3-none-any.whl", "Nvidia-NVVM>=13"])
def test_packages_are_recognized_in_requirements_and_wheels(text: str) -> None:
    """The name has one spelling."""
    assert runpy.run_path(str(ROOT / ".ci/pack-gpu"))["name_of"](text) == "nvidia-nvvm"
