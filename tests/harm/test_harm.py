"""Scripts with habits that Gymnasium does not forbid run under `pac-tui watch` as they do without it.

`python -m tests.harm` prints a table of all cases, and can run the scripts in other folders.
"""

import sys

import pytest

from .run import compare, lacks, own_cases

pytestmark = pytest.mark.session

OFTEN = (
    *(
        "closes_then_saves",
        "error_in_step",
        "exits_with_3",
        "introspection",
        "lifetimes",
        "odd_objects",
    ),
    *("own_modules", "pickles", "render_side_effects", "step_signatures", "subclass_hooks"),
    "surroundings",
)
"""The cases of each run of the tests; the others are slow tests."""
WITH_APP = ("closes_then_saves", "error_in_step", "exits_with_3", "study")
FAILING = {"details": "what only the implementation knows"}
"""The cases that are known to fail."""


class Harmed(AssertionError):
    """A script has not done what it does without pac-tui."""


def _cases(often, failing):
    for case in own_cases():
        marks = [] if case.name in often else [pytest.mark.slow]
        if case.name in failing:
            marks.append(pytest.mark.xfail(strict=True, raises=Harmed, reason=failing[case.name]))
        yield pytest.param(case, id=case.name, marks=marks)


def _expect_unharmed(case, way):
    if missing := lacks(sys.executable, tuple(case.directive("needs"))):
        pytest.skip(f"{missing} is not installed")
    found = compare(case, [way])[way]
    if found:
        raise Harmed("\n".join(found))


@pytest.mark.parametrize("case", [*_cases(OFTEN, FAILING)])
def test_a_script_is_unharmed(case):
    """Its output, exit code and files are those of a plain run."""
    _expect_unharmed(case, "headless")


@pytest.mark.parametrize("case", [*_cases(WITH_APP, FAILING)])
def test_a_script_is_unharmed_by_the_app(case):
    """What is on the terminal, its exit code and its files are those of a plain run on a terminal."""
    _expect_unharmed(case, "app")
