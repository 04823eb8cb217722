"""The language of breakpoints, `env 3: reward < -5` or `any: nan(obs) or hung`: it computes, and does nothing else.

    breakpoint  = [ ( "any" | "env" NUMBER ) ":" ] condition
    condition   = conjunction { "or" conjunction }
    conjunction = negation { "and" negation }
    negation    = "not" negation | comparison
    comparison  = sum [ ( "<" | "<=" | ">" | ">=" | "==" | "!=" ) sum ]
    sum         = product { ( "+" | "-" ) product }
    product     = factor { ( "*" | "/" ) factor }
    factor      = "-" factor | NUMBER | NAME | ( "nan" | "abs" ) "(" condition ")" | "(" condition ")"

Every name stands for one number per environment, so a condition is computed for all environments at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...envs import BadParameter, UnknownName

Values: TypeAlias = NDArray[Any]
Lookup: TypeAlias = Callable[[str], Values]
Node: TypeAlias = Callable[[Lookup], Values]

MAX_LENGTH = 200
MAX_DEPTH = 32
TOKEN = re.compile(r"\s*(?:(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)|([A-Za-z_]\w*)|(<=|>=|==|!=|[-+*/<>():]))")
COMPARISONS: dict[str, Callable[[Values, Values], Values]] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}
ARITHMETIC: dict[str, Callable[[Values, Values], Values]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
}
FUNCTIONS: dict[str, Callable[[Values], Values]] = {"nan": np.isnan, "abs": np.abs}
WORDS = frozenset({"and", "or", "not", "any", "env", *FUNCTIONS})


class BadCondition(BadParameter):
    """A condition that is not one."""

    title = "Bad condition"


@dataclass(frozen=True)
class Condition:
    """A breakpoint's condition.

    Attributes:
        text: As it was written.
        env: The environment that it looks at, from 0; None for all.
        names: The names that it uses.
    """

    text: str
    env: int | None
    names: frozenset[str]
    _node: Node

    def hits(self, lookup: Lookup, rows: int, players: int = 1) -> NDArray[np.intp]:
        """Return the rows where it holds.

        Args:
            lookup: Returns the numbers `(rows,)` that a name stands for.
            rows: Seats of all environments.
            players: Seats of each.
        """
        with np.errstate(all="ignore"):
            found = np.flatnonzero(np.broadcast_to(_true(self._node(lookup)), rows))
        return found if self.env is None else found[found // players == self.env]


def parse(text: str, names: Collection[str], num_envs: int) -> Condition:
    """Return the condition that `text` says.

    Args:
        text: A breakpoint as in the module's text.
        names: The names that it may use.
        num_envs: Number of environments, which are numbered from 1.

    Raises:
        BadCondition: It is not one; the error says where.
        UnknownName: A name is unknown.
    """
    if len(text) > MAX_LENGTH:
        raise BadCondition(f"a condition has at most {MAX_LENGTH} characters, got {len(text)}")
    parser = _Parser(text, names)
    env = parser.scope(num_envs)
    node = parser.condition()
    parser.end()
    return Condition(text.strip(), env, frozenset(parser.used), node)


def _true(values: Values) -> NDArray[np.bool_]:
    """Numbers as truth: zero and NaN are false."""
    if values.dtype == np.bool_:
        return values
    truth: NDArray[np.bool_] = (values != 0) & ~np.isnan(values)
    return truth


class _Parser:
    """Descends through the grammar, a method per rule."""

    def __init__(self, text: str, names: Collection[str]) -> None:
        self._text = text
        self._names = names
        self._tokens = list(self._split(text))
        self._at = 0
        self._depth = 0
        self.used: set[str] = set()

    def _split(self, text: str) -> Iterator[tuple[str, int]]:
        at, length = 0, len(text.rstrip())
        while at < length:
            found = TOKEN.match(text, at)
            if found is None:
                raise self._error("a number, a name or a sign", at)
            at = found.end()
            yield found[0].strip(), at
        yield "", length

    @property
    def _token(self) -> str:
        return self._tokens[self._at][0]

    def _take(self, *wanted: str) -> str:
        """Take the next token if it is one of `wanted`; return it, or nothing."""
        token = self._token
        if token and token in wanted:
            self._at += 1
            return token
        return ""

    def _error(self, expected: str, at: int | None = None) -> BadCondition:
        if at is None:
            token, end = self._tokens[self._at]
            at = end - len(token)
        rest = self._text[at:].strip()
        return BadCondition(
            f"expected {expected} at {rest[:20]!r} of {self._text.strip()!r}"
            if rest
            else f"expected {expected} at the end of {self._text.strip()!r}"
        )

    def scope(self, num_envs: int) -> int | None:
        """Take `any:` or `env 3:`."""
        if self._take("any"):
            env = None
        elif self._take("env"):
            number = self._token
            if not number.isdigit() or not 1 <= int(number) <= num_envs:
                raise self._error(f"an environment from 1 to {num_envs:,}")
            self._at += 1
            env = int(number) - 1
        else:
            return None
        if not self._take(":"):
            raise self._error("a colon")
        return env

    def condition(self) -> Node:
        """`or`, the loosest."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise BadCondition(f"a condition has at most {MAX_DEPTH} parentheses inside each other")
        left = self._conjunction()
        while self._take("or"):
            left = _either(left, self._conjunction())
        self._depth -= 1
        return left

    def _conjunction(self) -> Node:
        left = self._negation()
        while self._take("and"):
            left = _both(left, self._negation())
        return left

    def _negation(self) -> Node:
        if self._take("not"):
            inner = self._negation()
            return lambda lookup: ~_true(inner(lookup))
        return self._comparison()

    def _comparison(self) -> Node:
        left = self._sum()
        sign = self._take(*COMPARISONS)
        return _joined(COMPARISONS[sign], left, self._sum()) if sign else left

    def _sum(self) -> Node:
        left = self._product()
        while sign := self._take("+", "-"):
            left = _joined(ARITHMETIC[sign], left, self._product())
        return left

    def _product(self) -> Node:
        left = self._factor()
        while sign := self._take("*", "/"):
            left = _joined(ARITHMETIC[sign], left, self._factor())
        return left

    def _factor(self) -> Node:
        if self._take("-"):
            inner = self._factor()
            return lambda lookup: -_number(inner(lookup))
        token = self._token
        if self._take("("):
            return self._closed()
        if token in FUNCTIONS:
            self._at += 1
            if not self._take("("):
                raise self._error(f"a parenthesis after {token}")
            function, argument = FUNCTIONS[token], self._closed()
            return lambda lookup: function(_number(argument(lookup)))
        if token[:1].isdigit() or token[:1] == ".":
            self._at += 1
            constant = np.float64(token)
            return lambda _: np.asarray(constant)
        if token[:1].isalpha() or token[:1] == "_":
            return self._name(token)
        raise self._error("a number or a name")

    def _closed(self) -> Node:
        inner = self.condition()
        if not self._take(")"):
            raise self._error("a closing parenthesis")
        return inner

    def _name(self, name: str) -> Node:
        if name in WORDS:
            raise self._error("a number or a name")
        if name not in self._names:
            raise UnknownName("name in a condition", name, sorted(self._names))
        self._at += 1
        self.used.add(name)
        return lambda lookup: lookup(name)

    def end(self) -> None:
        """Make sure that nothing is left over."""
        if self._token:
            raise self._error("and, or, a comparison or the end")


def _number(values: Values) -> Values:
    return values.astype(np.float64) if values.dtype == np.bool_ else values


def _joined(function: Callable[[Values, Values], Values], left: Node, right: Node) -> Node:
    return lambda lookup: function(_number(left(lookup)), _number(right(lookup)))


def _either(left: Node, right: Node) -> Node:
    return lambda lookup: _true(left(lookup)) | _true(right(lookup))


def _both(left: Node, right: Node) -> Node:
    return lambda lookup: _true(left(lookup)) & _true(right(lookup))
