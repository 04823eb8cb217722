"""Tasks by their text."""

from __future__ import annotations

import pytest

from pac.envs import BadParameter, UnknownName, find
from pac.envs.specs import split_spec


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


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ("drmario:level=high", "level expects a whole number, got 'high'"),
        ("drmario:level=21", "level expects 0 to 20"),
        ("drmario:speed=warp", "speed expects one of low, med, hi"),
        ("autochess:players=9", "players expects 1 to 8"),
        ("autochess:bots=8", "bots expects 0 to 7"),
        ("autochess:reward=v2", "reward expects one of v1, v3"),
        ("autochess:turn_actions=0", "turn_actions expects 1 to 30"),
        ("autochess:turn_actions=31", "turn_actions expects 1 to 30"),
        ("treasure:agents=1", "agents expects 2 to 16"),
        ("treasure:size=49", "size expects 5 to 48"),
        ("treasure:view=0", "view expects 1 to 7"),
        ("treasure:agents=3,bots=3", "bots must be fewer than the 3 agents"),
        ("treasure:size=5,agents=16,resources=0.5", "must fit on the grid"),
        ("staghunt:size=5", "use a larger size"),
        ("staghunt:prey=wolf", "prey expects one of stag, hare"),
    ],
)
def test_bad_parameters_are_refused(spec, complaint):
    """Of another type, out of range, or not fitting together: the error says what was expected."""
    with pytest.raises(BadParameter, match=complaint):
        find(spec)


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [("drmario:levl=3", "of drmario 'levl'. Did you mean level"), ("autochess:bot=1", "of autochess 'bot'")],
)
def test_an_unknown_parameter(spec, complaint):
    """The error names the task and lists its parameters."""
    with pytest.raises(UnknownName, match=f"parameter {complaint}"):
        find(spec)
