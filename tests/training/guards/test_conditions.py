"""The conditions of breakpoints."""

import math
import re
import string
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pac.envs import BadParameter, UnknownName
from pac.training.guards.conditions import BadCondition, parse, parse_of_metrics

NAMES = {
    "reward": np.array([1.0, -6.0, math.nan]),
    "length": np.array([3, 4, 5]),
    "hung": np.array([False, True, False]),
    "lives": np.array([0, 3, 250], np.uint8),
    "return": np.array([0.5, 2.5, -1.0], np.float32),
    "cost_of_\N{GREEK SMALL LETTER MU}\N{SUPERSCRIPT TWO}": np.array([1, 2, 3]),
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
        ("1. < 1.5e0", [0, 1, 2]),
        ("any:reward<-5 or(length>=5)", [1, 2]),
        ("  env 3 :  length  ==\t5 ", [2]),
        ("return > 2 and not return < 0", [1]),
        ("3 < length < 5", [1]),
        ("length > +4", [2]),
        ("lives - 1 < 0", [0]),
        ("-lives < -200", [2]),
        ("lives * 2 == 500", [2]),
        ("hung + hung == 2", [1]),
        ("nan(reward / 0 - reward / 0)", [0, 1, 2]),
        ("length == 3or length == 5", [0, 2]),
        ("cost_of_\N{GREEK SMALL LETTER MU}\N{SUPERSCRIPT TWO} > 2", [2]),
        ("-" * 199 + "1", [0, 1, 2]),
        ("not " * 49 + "1", []),
        ("9" * 195 + " > 1", [0, 1, 2]),
        ("1" + "+1" * 99, [0, 1, 2]),
        ("(" * 32 + "1" + ")" * 32, [0, 1, 2]),
    ],
)
def test_it_means_what_it_says(text, found):
    """Environments are numbered from 1 in the text, from 0 in the answer; NaN is never true."""
    assert hits(text) == found


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("", "a number or a name at the end"),
        ("reward <", "a number or a name at the end"),
        ("reward < 1 2", "and, or, an operator or the end at '2'"),
        ("(reward < 1 2)", "an operator between two values at 'reward < 1 2)'"),
        ("1 not 2", "and, or, an operator or the end at 'not 2'"),
        ("reward < not 1", "a number or a name at 'not 1'"),
        ("reward)", "and, or, an operator or the end at ')'"),
        ("(reward", "a closing parenthesis at the end"),
        ("nan reward", "a parenthesis after nan"),
        ("env 4: hung", "there is no environment 4 in 'env 4: hung'; they are numbered 1 to 3"),
        ("env 0: hung", "there is no environment 0"),
        ("env: hung", "the number of an environment, 1 to 3, at ': hung'"),
        ("any hung", "a colon"),
        ("reward = 1", "a number, a name or an operator at '= 1'"),
        ("__import__('os')", "a number, a name or an operator at \"'os')\""),
        ("length ** 99", "a number or a name at '* 99'"),
        ("length // 2", "a number or a name at '/ 2'"),
        ("1j > 0", "unknown name in a condition 'j'"),
        ("reward[0]", "a number, a name or an operator at '[0]'"),
        ("reward\0", "a number, a name or an operator"),
        ("length(1)", "a number, a name, abs(...) or nan(...) at 'length(1)'"),
        ("nan(*length)", "a number, a name, abs(...) or nan(...) at '*length)'"),
        ("nan() or 1", "a number, a name, abs(...) or nan(...) at 'nan() or 1'"),
        ("() == ()", "a number, a name, abs(...) or nan(...) at '() == ()'"),
        ("abs > 1", "a number, a name, abs(...) or nan(...) at 'abs > 1'"),
        ("007 < reward", "a number or a name at '007 < reward'"),
        ("and", "a number or a name"),
        ("(" * 40 + "1" + ")" * 40, "at most 32 parentheses"),
        ("1 + " * 60 + "1", "at most 200 characters"),
    ],
)
def test_a_bad_condition_is_refused(text, reported):
    """The error says what was expected, and where."""
    with pytest.raises(BadParameter, match=re.escape(reported)):
        parse(text, NAMES, 3)


def test_an_unknown_name_lists_the_nearest():
    """As everywhere."""
    with pytest.raises(UnknownName, match="reward"):
        parse("rewrad < 1", NAMES, 3)


SUM = st.recursive(
    st.sampled_from(["reward", "length", "lives", "hung"]) | st.integers(0, 99).map(str) | st.floats(0, 1e6).map(repr),
    lambda inner: (
        st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda parts: f"({' '.join(parts)})")
        | st.tuples(inner, st.integers(1, 9)).map(lambda parts: f"{parts[0]} / {parts[1]}")
        | st.tuples(st.sampled_from(["-", "+", "--"]), inner).map("".join)
        | inner.map("abs({})".format)
    ),
    max_leaves=6,
)
SIGN = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
COMPARISON = st.tuples(SUM, SIGN, SUM).map(" ".join) | st.tuples(SUM, SIGN, SUM, SIGN, SUM).map(" ".join)
TRUTH = st.recursive(
    COMPARISON | SUM.map("nan({})".format),
    lambda inner: (
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(" ".join)
        | inner.map("not ({})".format)
        | inner.map("not {}".format)
        | inner.map("({}) + 1 > 1".format)
    ),
    max_leaves=4,
).filter(lambda text: len(text) <= 200)


@given(TRUTH)
def test_conditions_are_computed_as_by_python(text):
    """Precedence and meaning are those of Python's eval, for each environment."""
    readings = [{name: NAMES[name][env].item() for name in NAMES} for env in range(3)]
    expected = [env for env in range(3) if eval(text, {"nan": math.isnan, **readings[env]})]
    assert hits(text) == expected


PIECES = ["env", "any", ":", "(", ")", "reward", "length", "<", "==", "1", "2.5", "not", "or", "-", "*", "nan", "abs"]


@given(
    st.text(max_size=60)
    | st.text(string.printable, max_size=60)
    | st.lists(st.sampled_from(PIECES), max_size=30).map(" ".join)
    | st.lists(st.sampled_from([*PIECES, "lambda", "if", "in", "1j", "[", "**", "'", "return", "\\"])).map("".join)
)
def test_no_text_causes_another_error(text):
    """Arbitrary text is a condition or is refused in a sentence."""
    with suppress(BadCondition, UnknownName):
        hits(text)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("loss/policy < 0.1 or eval/return > 5", {"loss/policy", "eval/return"}),
        ("steps / 1000 > iterations / seconds", {"steps", "iterations", "seconds"}),
        ("return > 475 and return/p10 > 400", {"return", "return/p10"}),
    ],
)
def test_names_of_metrics_contain_slashes_and_divisions_have_spaces(text, names):
    """A condition over metrics takes any name."""
    assert parse_of_metrics(text).names == names


def test_a_condition_over_metrics_has_no_environment():
    """`any:` and `env 3:` are for breakpoints."""
    with pytest.raises(BadCondition):
        parse_of_metrics("any: return > 5")
