"""Scripts with habits that Gymnasium does not forbid run under `pac-tui watch` as they do without it.

`python -m tests.harm` prints a table of all cases, and can run the scripts in other folders.
"""

import sys

import pytest

from .run import compare, lacks, own_cases

pytestmark = pytest.mark.session

OFTEN = (
    *("closes_then_saves", "error_in_step", "exits_with_3", "introspection", "lifetimes", "odd_objects", "odd_values"),
    *("own_modules", "pickles", "reexecutes", "render_side_effects", "step_signatures", "subclass_hooks"),
    "surroundings",
)
"""The cases of each run of the tests; the others are slow tests."""
WITH_APP = ("closes_then_saves", "error_in_step", "exits_with_3", "study")
FAILING = {
    "headless": (
        "as_module closes_then_saves deletes_env ends_by_kill ends_by_signal error_in_reset error_in_step "
        "exits_with_0 exits_with_1 exits_with_3 exits_with_text introspection leaves_at_once lifetimes limits "
        "list_of_envs many_envs_in_turn monkeypatches odd_objects output_of_all_kinds own_dqn own_modules own_ppo "
        "pickles random_states references render_modes render_side_effects sanity_check_first self_made_loops "
        "signals step_signatures study subclass_hooks surroundings threads tree_search type_checks vector_wrappers "
        "warnings_as_errors warnings_stack worker_processes"
    ),
    "app": (
        "as_module closes_then_saves deletes_env ends_by_kill ends_by_signal error_in_reset error_in_step "
        "exits_with_0 exits_with_1 exits_with_3 exits_with_text introspection leaves_at_once lifetimes limits "
        "list_of_envs many_envs_in_turn monkeypatches odd_objects odd_values output_of_all_kinds own_dqn "
        "own_modules own_ppo pickles random_states references render_modes render_side_effects sanity_check_first "
        "self_made_loops signals step_signatures study subclass_hooks surroundings threads torch_values "
        "tree_search type_checks vector_wrappers warnings_as_errors warnings_stack worker_processes"
    ),
}
"""The cases that are known to fail, by the way of running them."""


class Harmed(AssertionError):
    """A script has not done what it does without pac-tui."""


def _cases(way, often):
    for case in own_cases():
        marks = [] if case.name in often else [pytest.mark.slow]
        if case.name in FAILING[way].split():
            marks.append(pytest.mark.xfail(strict=True, raises=Harmed, reason="not fixed yet"))
        yield pytest.param(case, id=case.name, marks=marks)


def _expect_unharmed(case, way):
    if missing := lacks(sys.executable, tuple(case.directive("needs"))):
        pytest.skip(f"{missing} is not installed")
    found = compare(case, [way])[way]
    if found:
        raise Harmed("\n".join(found))


@pytest.mark.parametrize("case", [*_cases("headless", OFTEN)])
def test_a_script_is_unharmed(case):
    """Its output, exit code and files are those of a plain run."""
    _expect_unharmed(case, "headless")


@pytest.mark.parametrize("case", [*_cases("app", WITH_APP)])
def test_a_script_is_unharmed_by_the_app(case):
    """What is on the terminal, its exit code and its files are those of a plain run on a terminal."""
    _expect_unharmed(case, "app")
