"""Scripts give the same results while viewers attach, pause, step and leave at random.

`python -m tests.harm.attach` tries each script many times.
"""

import sys

import pytest

from .attach import SCRIPTS, attached_run
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
