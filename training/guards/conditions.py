"""Conditions of breakpoints, such as `env 3: reward < -5` or `any: nan(obs) or hung`.

A condition is an expression in Python's syntax, after an optional `any:` or `env NUMBER:`. It may contain numbers,
names, `+ - * /`, `< <= > >= == !=`, `and`, `or`, `not`, parentheses, `abs(...)` and `nan(...)`. Python parses it and
never executes it: the nodes of the syntax tree that are listed here are computed with NumPy, all others are refused. A
name is an array with one number per seat, so a condition is computed for all environments at once. `and`, `or` and
`not` return true or false, and NaN counts as false.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial, reduce
from itertools import accumulate, pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...envs import BadParameter, UnknownName

Values: TypeAlias = NDArray[Any]
Lookup: TypeAlias = Callable[[str], Values]
Node: TypeAlias = Callable[[Lookup], Values]

MAX_LENGTH = 200
MAX_DEPTH = 32
SCOPE = re.compile(r"\s*(?:any\b|env\b\s*(?P<env>\w*))\s*(?P<colon>:?)")
TOKEN = re.compile(
    r"(?P<number>[0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+)|(?P<word>[^\W\d]\w*)|[<>=!]=|[-+*/<>()]|(?P<other>\S)"
)
METRIC_TOKEN = re.compile(TOKEN.pattern.replace(r"[^\W\d]\w*", r"[^\W\d]\w*(?:/\w+)*"))
"""Of a condition over metrics, whose names contain slashes: `loss/value`. A division has spaces: `a / b`."""
TEXT = r"(?P<text>'[^'\\\n]*'|\"[^\"\\\n]*\")"
RUN_TOKEN = re.compile("|".join((TEXT, TOKEN.pattern.replace(r"[^\W\d]\w*", r"[^\W\d]\w*(?:[/.]\w+)*"))))
"""Of a condition over runs, which also has texts, and names with points: `ppo.clip == 0.1 and task == 'leduc'`."""
FIRST_TEXT = -1.7e308
"""The number that stands for the first text of a condition: none that anything else has."""
OPERATORS: dict[type[ast.AST], np.ufunc] = {
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
    ast.Eq: np.equal,
    ast.NotEq: np.not_equal,
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.UAdd: np.positive,
    ast.USub: np.negative,
    ast.And: np.logical_and,
    ast.Or: np.logical_or,
}
FUNCTIONS = {"nan": np.isnan, "abs": np.abs}
WORDS = frozenset({"and", "or", "not", "any", "env", *FUNCTIONS})


class BadCondition(BadParameter):
    """A text is not a condition."""

    title = "Bad condition"


@dataclass(frozen=True)
class Condition:
    """A breakpoint's condition.

    Attributes:
        text: The condition as it was written.
        expression: The part of the text after `any:` or `env NUMBER:`.
        env: The environment that is checked, from 0; None for all.
        names: The names in the expression.
        texts: The numbers that stand for the texts in it; a name whose value is another text is NaN.
    """

    text: str
    expression: str
    env: int | None
    names: frozenset[str]
    _node: Node
    texts: Mapping[str, float] = field(default_factory=dict)

    def hits(self, lookup: Lookup, rows: int, players: int = 1) -> NDArray[np.intp]:
        """Return the rows where the condition is true.

        Args:
            lookup: Returns a name's numbers, `(rows,)`.
            rows: Seats of all environments.
            players: Seats of each environment.
        """
        with np.errstate(all="ignore"):
            found = np.flatnonzero(np.broadcast_to(_truth(self._node(lookup)), rows))
        return found if self.env is None else found[found // players == self.env]


def parse(text: str, names: Collection[str], num_envs: int) -> Condition:
    """Return the condition that `text` describes.

    Args:
        text: A condition as in the module's docstring.
        names: The names that it may use; Python's keywords may be among them.
        num_envs: Number of environments, which are numbered from 1.

    Raises:
        BadCondition: The text is not a condition; the error says what was expected and where.
        UnknownName: A name is unknown.
    """
    if len(text) > MAX_LENGTH:
        raise BadCondition(f"a condition has at most {MAX_LENGTH} characters, got {len(text)}")
    env, start = _scope(text, num_envs)
    expression = _Expression(text, start, names)
    return Condition(text.strip(), text[start:].strip(), env, expression.names, expression.node(expression.tree()))


def parse_of_metrics(text: str) -> Condition:
    """Return the condition over metrics that `text` describes; any name is taken.

    Raises:
        BadCondition: The text is not a condition; the error says what was expected and where.
    """
    if len(text) > MAX_LENGTH:
        raise BadCondition(f"a condition has at most {MAX_LENGTH} characters, got {len(text)}")
    expression = _Expression(text, 0, None, METRIC_TOKEN)
    return Condition(text.strip(), text.strip(), None, expression.names, expression.node(expression.tree()))


def parse_of_runs(text: str) -> Condition:
    """Return the condition over runs that `text` describes, which may compare names with texts; any name is taken.

    Raises:
        BadCondition: The text is not a condition; the error says what was expected and where.
    """
    if len(text) > MAX_LENGTH:
        raise BadCondition(f"a condition has at most {MAX_LENGTH} characters, got {len(text)}")
    expression = _Expression(text, 0, None, RUN_TOKEN)
    node = expression.node(expression.tree())
    return Condition(text.strip(), text.strip(), None, expression.names, node, expression.texts)


def _scope(text: str, num_envs: int) -> tuple[int | None, int]:
    """Return the environment that `env NUMBER:` selects, or None, and where the expression begins."""
    found = SCOPE.match(text)
    if found is None:
        return None, 0
    number = found["env"]
    if number is not None and not number.isdecimal():
        raise _refusal(f"the number of an environment, 1 to {num_envs:,},", text, found.start("env"))
    if number is not None and not 1 <= int(number) <= num_envs:
        raise BadCondition(f"there is no environment {number} in {text.strip()!r}; they are numbered 1 to {num_envs:,}")
    if not found["colon"]:
        raise _refusal("a colon", text, found.end())
    return (None if number is None else int(number) - 1), found.end()


def _refusal(expected: str, text: str, at: int) -> BadCondition:
    rest = text[at:].strip()
    where = f"{rest[:20]!r} of" if rest else "the end of"
    return BadCondition(f"expected {expected} at {where} {text.strip()!r}")


class _Expression:
    """The part of a condition that Python parses.

    Python gets the tokens with one space between any two. A name is replaced by `_` and the number of its token, since
    it may be a keyword (`return`).
    """

    def __init__(self, text: str, start: int, names: Collection[str] | None, tokens: re.Pattern[str] = TOKEN) -> None:
        self._whole = text
        self._tokens = tuple(tokens.finditer(text, start))
        for token in self._tokens:
            if token["other"]:
                raise _refusal("a number, a name or an operator", text, token.start())
        texts = dict.fromkeys(token[0][1:-1] for token in self._tokens if token.groupdict().get("text"))
        self.texts = {one: FIRST_TEXT * (1 - number / MAX_LENGTH / 10) for number, one in enumerate(texts)}
        self.names = frozenset(token[0] for token in self._tokens if token["word"]) - WORDS
        for token in self._tokens:
            if names is not None and token[0] in self.names and token[0] not in names:
                raise UnknownName("name in a condition", token[0], names)
        depths = accumulate((token[0] == "(") - (token[0] == ")") for token in self._tokens)
        if max(depths, default=0) > MAX_DEPTH:
            raise BadCondition(f"a condition has at most {MAX_DEPTH} parentheses inside each other")
        words = (f"_{i} " if self._stands(token) else f"{token[0]} " for i, token in enumerate(self._tokens))
        self._source = "".join(words)

    def _stands(self, token: re.Match[str]) -> bool:
        """Whether a token is a name or a text, for which a word stands in what Python reads."""
        return token[0] in self.names or bool(token.groupdict().get("text"))

    def _text(self, node: ast.AST) -> float | None:
        """Return the number of the text that a node stands for; None if it is none."""
        if not isinstance(node, ast.Name) or node.id in WORDS:
            return None
        token = self._tokens[int(node.id[1:])]
        return self.texts[token[0][1:-1]] if token.groupdict().get("text") else None

    def tree(self) -> ast.expr:
        """Return the syntax tree."""
        try:
            return ast.parse(self._source, mode="eval").body
        except SyntaxError as error:
            column = error.offset - 1 if error.offset else len(self._source)
            raise self._syntax_error(self._index(column), error.msg) from None

    def node(self, tree: ast.expr) -> Node:
        """Return a function that computes the tree."""
        match tree:
            case ast.Constant(value=int() | float() as number):
                constant = np.asarray(number, np.float64)
                return lambda _: constant
            case ast.Name(id=word) if word not in WORDS and self._text(tree) is None:
                name = self._tokens[int(word[1:])][0]
                return lambda lookup: lookup(name)
            case ast.UnaryOp(op=ast.Not()):
                return _applied(np.logical_not, _truth, self.node(tree.operand))
            case ast.UnaryOp() if type(tree.op) in OPERATORS:
                return _applied(OPERATORS[type(tree.op)], _number, self.node(tree.operand))
            case ast.BinOp() if type(tree.op) in OPERATORS:
                return _applied(OPERATORS[type(tree.op)], _number, self.node(tree.left), self.node(tree.right))
            case ast.Compare() if all(type(op) in OPERATORS for op in tree.ops):
                equal = all(isinstance(op, ast.Eq | ast.NotEq) for op in tree.ops)
                pairs = pairwise(self._compared(side, equal=equal) for side in (tree.left, *tree.comparators))
                compared = (
                    _applied(OPERATORS[type(op)], _number, *pair) for op, pair in zip(tree.ops, pairs, strict=True)
                )
                return reduce(partial(_applied, np.logical_and, _truth), compared)
            case ast.BoolOp():
                return reduce(partial(_applied, OPERATORS[type(tree.op)], _truth), map(self.node, tree.values))
            case ast.Call(func=ast.Name(id=word), args=[argument], keywords=[]) if word in FUNCTIONS:
                return _applied(FUNCTIONS[word], _number, self.node(argument))
        raise self._expected("a number, a name, abs(...) or nan(...)", self._index(tree.col_offset))

    def _compared(self, side: ast.expr, *, equal: bool) -> Node:
        """Return a function that computes a side of a comparison, which is a text only where equality is asked for."""
        number = self._text(side)
        if number is None:
            return self.node(side)
        if not equal:
            raise self._expected("a number instead of a text, or == or !=,", self._index(side.col_offset))
        constant = np.asarray(number, np.float64)
        return lambda _: constant

    def _index(self, column: int) -> int:
        """Return the index of the token at a column of what Python reads."""
        return self._source[:column].count(" ")

    def _syntax_error(self, index: int, reason: str) -> BadCondition:
        """Return the error for the token at which Python stopped, and the reason that it gave."""
        if "never closed" in reason:
            return self._expected("a closing parenthesis", len(self._tokens))
        if "comma" in reason:
            return self._expected("an operator between two values", index)
        if index > 1 and self._tokens[index - 1][0] == "not" and self._ends_value(index - 2):
            index -= 1  # Python expected `not in`
        if self._ends_value(index - 1):
            return self._expected("and, or, an operator or the end", index)
        before = self._tokens[index - 1][0] if index else ""
        return self._expected(f"a parenthesis after {before}" if before in FUNCTIONS else "a number or a name", index)

    def _ends_value(self, index: int) -> bool:
        return index >= 0 and (
            bool(self._tokens[index]["number"]) or self._tokens[index][0] == ")" or self._stands(self._tokens[index])
        )

    def _expected(self, what: str, index: int) -> BadCondition:
        at = self._tokens[index].start() if index < len(self._tokens) else len(self._whole)
        return _refusal(what, self._whole, at)


def _number(values: Values) -> Values:
    """Return values as floats, so that bytes do not overflow and booleans can be added."""
    return values.astype(np.float64, copy=False)


def _truth(values: Values) -> Values:
    """Return which values are neither zero nor NaN."""
    return values if values.dtype == np.bool_ else (values != 0) & ~np.isnan(values)


def _applied(function: np.ufunc, convert: Callable[[Values], Values], *nodes: Node) -> Node:
    return lambda lookup: function(*(convert(node(lookup)) for node in nodes))
