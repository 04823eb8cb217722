"""Tasks by their text."""

from __future__ import annotations

import pytest

from pac.envs import BadParameter, UnknownName, find
from pac.envs.registry import split_spec


@pytest.mark.parametrize(
    ("spec", "name", "parameters"),
    [
        ("drmario", "drmario", {}),
        ("drmario:level=5,speed=hi", "drmario", {"level": "5", "speed": "hi"}),
        ("my_pkg.my_module:MyEnv", "my_pkg.my_module:MyEnv", {}),
        ("my_pkg.my_module:MyEnv:size=3", "my_pkg.my_module:MyEnv", {"size": "3"}),
        ("ALE/Pong-v5", "ALE/Pong-v5", {}),
    ],
)
def test_a_name_and_its_parameters(spec, name, parameters):
    """Parameters follow the last colon; a colon without them belongs to the name."""
    assert split_spec(spec) == (name, parameters)


@pytest.mark.parametrize("spec", ["drmario:level=", "drmario:=5", "drmario:level=5,,speed=hi"])
def test_parameters_that_are_no_pairs(spec):
    """The error says what they look like."""
    with pytest.raises(BadParameter, match="key=value"):
        find(spec)


def test_a_found_task_says_how_to_find_it_again():
    """A worker finds an equal task by the spec."""
    task = find("drmario:level=5")
    assert task.values["level"] == 5
    assert find(task.spec) == task


def test_an_unknown_task():
    """The error lists the known ones, nearest first."""
    with pytest.raises(UnknownName, match="Did you mean drmario"):
        find("drmaryo")


def test_an_unknown_name_among_many():
    """Of hundreds, such as runs, the nearest are listed and the others counted."""
    text = str(UnknownName("run", "run-204", [f"run-{number}" for number in range(300)]))
    assert "Did you mean run-204" in text
    assert text.endswith(" and 270 more.")
    assert text.count(", ") == 29


def test_an_unknown_name_where_none_is_known():
    """There is nothing to list."""
    with pytest.raises(UnknownName, match="unknown parameter of kuhn 'foo': there is none"):
        find("kuhn:foo=2")


def test_a_parameter_of_another_type():
    """The error says in words what it takes."""
    with pytest.raises(BadParameter, match="level expects a whole number, got 'high'"):
        find("drmario:level=high")


def test_an_unknown_parameter():
    """The error names the task and lists its parameters."""
    with pytest.raises(UnknownName, match=r"parameter of drmario 'levl'. Did you mean level"):
        find("drmario:levl=3")
