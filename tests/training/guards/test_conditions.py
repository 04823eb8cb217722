"""The language of breakpoints."""

import math
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pac.envs import UnknownName
from pac.training.guards.conditions import BadCondition, parse

NAMES = {
    "reward": np.array([1.0, -6.0, math.nan]),
    "length": np.array([3, 4, 5]),
    "hung": np.array([False, True, False]),
}


def hits(text):
    condition = parse(text, NAMES, 3)
    assert condition.names <= set(NAMES)
    return condition.hits(NAMES.__getitem__, 3).tolist()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("reward < -5", [1]),
        ("any: reward < -5", [1]),
        ("env 1: reward < -5", []),
        ("env 2: reward < -5", [1]),
        ("nan(reward)", [2]),
        ("not nan(reward)", [0, 1]),
        ("hung", [1]),
        ("hung or length >= 5", [1, 2]),
        ("hung and length >= 5", []),
        ("not hung and length != 3", [2]),
        ("length - 1 == 3", [1]),
        ("length == 2 + 1 * 2", [1]),
        ("length == (2 + 1) * 2 - 1", [2]),
        ("length / 2 > 2", [2]),
        ("-length < -4", [2]),
        ("abs(reward) > 5", [1]),
        ("length / 0 > 1e300", [0, 1, 2]),
        ("reward", [0, 1]),
        ("1 > 0", [0, 1, 2]),
        (".5 > 1", []),
    ],
)
def test_it_means_what_it_says(text, found):
    """Environments are numbered from 1 in the text, from 0 in the answer; NaN is never true."""
    assert hits(text) == found


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "a number or a name at the end"),
        ("reward <", "a number or a name at the end"),
        ("reward < 1 2", "and, or, a comparison or the end at '2'"),
        ("(reward", "a closing parenthesis at the end"),
        ("nan reward", "a parenthesis after nan"),
        ("env 4: hung", "an environment from 1 to 3 at '4: hung'"),
        ("env 0: hung", "an environment from 1 to 3"),
        ("env: hung", "an environment from 1 to 3"),
        ("any hung", "a colon"),
        ("reward = 1", "a number, a name or a sign"),
        ("1 < 2 < 3", "and, or, a comparison or the end"),
        ("__import__('os')", "a number, a name or a sign"),
        ("and", "a number or a name"),
        ("(" * 40 + "1" + ")" * 40, "at most 32 parentheses"),
        ("1 + " * 60 + "1", "at most 200 characters"),
    ],
)
def test_what_is_no_condition_is_told(text, told):
    """The error says what was expected, and where."""
    with pytest.raises(BadCondition, match=told.replace("(", r"\(").replace(")", r"\)")):
        parse(text, NAMES, 3)


def test_an_unknown_name_lists_the_nearest():
    """As everywhere."""
    with pytest.raises(UnknownName, match="reward"):
        parse("rewrad < 1", NAMES, 3)


NUMBER = st.integers(0, 9).map(str)
SUM = st.recursive(
    NUMBER | st.just("length"),
    lambda inner: (
        st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda parts: f"({' '.join(parts)})")
        | inner.map(lambda part: f"-{part}")
    ),
    max_leaves=6,
)
COMPARISON = st.tuples(SUM, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), SUM).map(" ".join)
TRUTH = st.recursive(
    COMPARISON,
    lambda inner: (
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(" ".join) | inner.map(lambda part: f"not ({part})")
    ),
    max_leaves=4,
).filter(lambda text: len(text) <= 200)


@given(TRUTH)
def test_it_computes_what_python_computes(text):
    """Precedence and meaning are Python's, for each environment."""
    expected = [env for env, length in enumerate(NAMES["length"].tolist()) if eval(text, {"length": length})]
    assert hits(text) == expected


@given(
    st.text(max_size=60)
    | st.lists(st.sampled_from(["env", "any", ":", "(", ")", "reward", "<", "1", "not", "-"])).map(" ".join)
)
def test_anything_else_is_refused_in_a_sentence(text):
    """No text brings it down."""
    with suppress(BadCondition, UnknownName):
        hits(text)
