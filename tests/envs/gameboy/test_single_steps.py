"""Single-step cases from the file that `PAC_GAMEBOY_CASES` names, which is not part of the repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from .cases import failures

FILE = "PAC_GAMEBOY_CASES"
pytestmark = pytest.mark.skipif(not os.environ.get(FILE), reason=f"{FILE} is not set")


@pytest.mark.thorough
def test_a_sample_of_the_single_step_cases():
    """Registers, memory and every access with its cycle are as recorded, in four cases per operation."""
    assert not list(failures(Path(os.environ[FILE]), 25))


@pytest.mark.slow
def test_all_single_step_cases():
    """The same in all cases."""
    assert not list(failures(Path(os.environ[FILE]), 1))
