"""Scripts give the same results while viewers attach, pause, step and leave at random.

`python -m tests.harm.attach` tries each script many times.
"""

import sys

import pytest

from .attach import SCRIPTS, ask_saliency, attached_run
from .run import lacks, own_cases, places, run

pytestmark = pytest.mark.session

OFTEN = ("single", "rows")
"""The scripts of each run of the tests; the others are slow tests."""
CASES = [
    pytest.param(case, id=case.name, marks=[] if case.name in OFTEN else [pytest.mark.slow])
    for case in own_cases(SCRIPTS)
]


@pytest.mark.parametrize("case", CASES)
def test_a_script_is_unharmed_by_viewers(case, runtime_directory):
    """Its output, exit code and files are those of a plain run."""
    if missing := lacks(sys.executable, tuple(case.directive("needs"))):
        pytest.skip(f"{missing} is not installed")
    with places() as found:
        reference = run(case, "plain", found["plain"])
    differences, commands = attached_run(case, reference, seed=1)
    assert not differences, "\n".join(differences)
    assert commands > 5


@pytest.mark.slow
def test_a_script_is_unharmed_by_saliency(runtime_directory):
    """Weights, gradients, random states and modes are the same while it is computed what its policy depends on."""
    case = next(case for case in own_cases(SCRIPTS) if case.name == "salient")
    if missing := lacks(sys.executable, tuple(case.directive("needs"))):
        pytest.skip(f"{missing} is not installed")
    with places() as found:
        reference = run(case, "plain", found["plain"])
    differences, computed = attached_run(case, reference, 1, ask_saliency)
    assert not differences, "\n".join(differences)
    assert computed > 1
