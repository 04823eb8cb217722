"""What the last layers of a script's networks were given while it learned: their features, and what these depend on.

PyTorch's linear layers note their calls between two steps of an optimizer, a few times per minute.
"""

from __future__ import annotations

import sys
import weakref
from contextlib import suppress
from statistics import median
from types import FunctionType
from typing import Any, NamedTuple

from .intercept import UNUSUAL, HookLink, code_around
from .policy import NOTHING, TEMPLATE

MOST_CALLS, MOST_NODES = 64, 4096
"""Layers that are noted, and operations that are followed from one of them."""
LEAST_ROWS, MOST_ROWS, LEAST_WIDTH, MOST_WIDTH = 32, 256, 8, 1024
"""Rows of features that are looked at, and numbers of each."""
DELTA = 0.01
"""The share of the singular values' sum that is left out (Kumar et al. 2021)."""
FIRST = 3
"""Effective ranks whose median is the first one, and the newest one."""
RANK = "optimizer/feature_rank"
OFTEN = 10
"""Looks of the optimizer's probe of which one is used, after the first ones."""


class LastLayer(NamedTuple):
    """A linear layer on whose output no other one depends.

    Attributes:
        weight: Its weight, a weak reference.
        below: The weights that its input depends on, by `id`.
    """

    weight: weakref.ref[Any]
    below: frozenset[int]


class FeatureRanks:
    """The effective ranks of the features of a head.

    Attributes:
        rows: How many rows were looked at each time, since more of them have a higher rank.
        first: The first ranks.
        last: The newest ones.
    """

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.first: list[int] = []
        self.last: list[int] = []

    def add(self, rank: int) -> None:
        """Add the newest rank."""
        self.first = [*self.first, rank][:FIRST]
        self.last = [*self.last, rank][-FIRST:]

    @property
    def share(self) -> float:
        """The newest rank as a share of the first one."""
        return float(median(self.last) / median(self.first))


class LinearCalls:
    """Notes the calls of linear layers that learn, while they are wanted.

    Attributes:
        wanted: Whether calls are noted.
        heads: The last layers when they were looked at; replaced as a whole.
    """

    def __init__(self) -> None:
        self._function: Any = None
        self._own: Any = None
        self._around: Any = None
        self._looks = 0
        self._calls: dict[int, tuple[Any, Any]] = {}  # by `id`: the layer, and what it was given; in order
        self._ranks: weakref.WeakKeyDictionary[Any, FeatureRanks] = weakref.WeakKeyDictionary()
        self.wanted = False
        self.heads: tuple[LastLayer, ...] = ()

    def prepare(self, function: Any) -> None:
        """Make the code that notes calls of the function, `Linear.forward`."""
        if isinstance(function, FunctionType) and not function.__code__.co_flags & UNUSUAL:
            link = HookLink({"before": NOTHING, "after": NOTHING}, before=NOTHING, after=self._after)
            self._function, self._own = function, function.__code__
            self._around = code_around(function, function.__name__, TEMPLATE, link)

    def see(self) -> None:
        """Note calls from now on, until `restore`, if they are to be looked at this time."""
        self._looks += 1
        if self._looks <= FIRST or self._looks % OFTEN == 0:
            self.wanted = self._function is not None and self._function.__code__ is self._own
            if self.wanted:
                self._function.__code__ = self._around

    def restore(self) -> None:
        """Note calls no longer; what somebody else has made of the function since stays."""
        if self.wanted and self._function.__code__ is self._around:
            self._function.__code__ = self._own
        self.wanted = False

    def forget(self) -> None:
        """Forget what was noted."""
        self._calls = {}

    def _after(self, _begun: Any, args: Any, kwargs: Any, result: Any) -> None:
        with suppress(Exception):  # tensors of a kind that is not known
            if result.requires_grad:
                layer, given = args[0], args[1] if len(args) > 1 else kwargs["input"]
                self._calls.pop(id(layer), None)
                if len(self._calls) < MOST_CALLS and given.device.type == "cpu":
                    self._calls[id(layer)] = layer, given

    def take(self) -> dict[str, float]:
        """Look at the calls since `see`; return the lowest share of its first rank that a head's features have."""
        calls, self._calls = [*self._calls.values()], {}
        heads: list[LastLayer] = []
        inner: set[int] = set()
        for layer, given in reversed(calls):
            if id(layer.weight) in inner:
                continue
            below = weights_below(given)
            inner |= below
            if below:
                heads.append(LastLayer(weakref.ref(layer.weight), below))
                self._measure(layer, given)
        if heads:
            self.heads = tuple(heads)
        known = [ranks.share for ranks in self._ranks.values() if len(ranks.first) == FIRST]
        return {RANK: min(known)} if known else {}

    def _measure(self, layer: Any, given: Any) -> None:
        """Add the effective rank of what a layer was given, if that are enough rows."""
        torch, rows = sys.modules["torch"], given.detach().reshape(-1, given.shape[-1])
        if not LEAST_WIDTH <= rows.shape[1] <= MOST_WIDTH or len(rows) < LEAST_ROWS:
            return
        ranks = self._ranks.get(layer)
        if ranks is None:
            ranks = self._ranks[layer] = FeatureRanks(min(MOST_ROWS, len(rows)))
        if len(rows) >= ranks.rows:
            some = rows[:: len(rows) // ranks.rows][: ranks.rows].double()
            square = some.T @ some if some.shape[1] <= len(some) else some @ some.T
            ranks.add(effective_rank(torch.linalg.eigvalsh(square).clamp_min(0).sqrt().flip(0)))


def effective_rank(values: Any) -> int:
    """Return how many of the singular values, the largest first, make up all of their sum but `DELTA`."""
    sums = values.cumsum(0)
    return int((sums < (1 - DELTA) * sums[-1]).sum()) + 1


def weights_below(tensor: Any) -> frozenset[int]:
    """Return the weights that a tensor depends on, by `id`."""
    found: set[int] = set()
    seen: set[Any] = set()
    left = [tensor.grad_fn]
    while left and len(seen) < MOST_NODES:
        node = left.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            found.add(id(node.variable))
        left.extend(following for following, _ in node.next_functions)
    return frozenset(found)
