"""Which of the weights that a script uses between its steps are never changed, though they get gradients.

The weights are those of the modules that were called while the policy was observed. Nothing is read from a GPU.
"""

from __future__ import annotations

import sys
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from time import perf_counter
from typing import Any

from .linear_calls import LastLayer

MOST_NUMBERS, MOST_WEIGHTS = 500_000, 1000
LEAST_GRADIENTS, LEAST_SECONDS = 20, 10.0
"""Gradients that a weight must have got, and seconds since the first one, before it counts as one that stays."""
LEAST_PARTS = 4
"""Weights of a module that is compared with others of its class."""
UNCHANGED, SAME_COPY = "policy/weights_unchanged", "policy/copy_unchanged"


class GradientHook:
    """Calls a function with each gradient of a weight, until it is removed; the gradient stays as it is."""

    __torch_unserializable__ = True
    """Says to PyTorch that copies of the weight go without it, of which PyTorch warns otherwise."""

    def __init__(self, weight: Any, arrived: Callable[[Any], None]) -> None:
        self._arrived, self._handle = arrived, weight.register_hook(self)

    def __call__(self, gradient: Any) -> None:
        """Note a gradient that is about to be added to those of the weight."""
        with suppress(Exception):
            self._arrived(gradient)

    def remove(self) -> None:
        """Call the function no longer."""
        handle, self._handle = self._handle, None
        if handle is not None:
            handle.remove()


class Weight:
    """A weight of a module.

    Attributes:
        own: The weight, a weak reference.
        first: What it was.
        gradients: How many gradients other than 0 it has got since, of those that are counted.
        since: When it was first seen.
        stays: Whether it is what it was.
    """

    def __init__(self, weight: Any) -> None:
        self.own, self.first = weakref.ref(weight), weight.detach().clone()
        self.gradients, self.since, self.stays = 0, perf_counter(), True
        self._hook = GradientHook(weight, self._count) if weight.requires_grad else None

    def _count(self, gradient: Any) -> None:
        self.gradients += bool(gradient.any())
        if self.gradients >= LEAST_GRADIENTS:
            self.release()

    def release(self) -> None:
        """Count gradients no longer."""
        if self._hook is not None:
            self._hook.remove()

    def look(self) -> None:
        """Find out whether it has changed; then it is followed no longer."""
        weight, torch = self.own(), sys.modules["torch"]
        if self.stays and (weight is None or not torch.equal(weight.detach(), self.first)):
            self.stays = False
            self.release()
            del self.first

    @property
    def untrained(self) -> bool:
        """Whether it has got gradients for long, and is what it was."""
        return self.stays and self.gradients >= LEAST_GRADIENTS and perf_counter() > self.since + LEAST_SECONDS


class CalledWeights:
    """Follows the weights of modules that were called, until they change."""

    def __init__(self) -> None:
        self._modules: weakref.WeakSet[Any] = weakref.WeakSet()
        self._weights: dict[int, Weight] = {}
        self._left = MOST_NUMBERS

    def take(self, modules: Iterable[Any], heads: Iterable[LastLayer] = ()) -> dict[str, float]:
        """Add modules; return the share of the weights with gradients that never change; empty without any.

        Weights that a trained one of the `heads` depends on do not count: who trains the head alone wants them to stay.
        """
        compiler = sys.modules.get("torch._dynamo.eval_frame")
        if any(backend is not None for backend in getattr(compiler, "cached_backends", {}).values()):
            self.remove()
            return {}
        with suppress(Exception):  # weights of a kind that is not known
            for module in modules:
                if module not in self._modules:
                    self._modules.add(module)
                    self._add(module)
            for weight in self._weights.values():
                weight.look()
            return self._metrics(heads)
        return {}

    def _add(self, module: Any) -> None:
        kind = sys.modules["torch"].nn.Parameter
        for weight in module.parameters():
            known = self._weights.get(id(weight))
            new = (known is None or known.own() is not weight) and type(weight) is kind and weight.device.type == "cpu"
            if new and weight.numel() <= self._left and len(self._weights) < MOST_WEIGHTS:
                self._left -= weight.numel()
                self._weights[id(weight)] = Weight(weight)

    def _metrics(self, heads: Iterable[LastLayer]) -> dict[str, float]:
        trained = [head for head in heads if self._changed(head.weight())]
        frozen = frozenset[int]().union(*(head.below for head in trained))
        sizes = [(0 if weight is None else weight.numel(), one, id(weight)) for one, weight in self._owned()]
        taught = sum(size for size, one, _ in sizes if one.gradients or not one.stays)
        untrained = sum(size for size, one, key in sizes if one.untrained and key not in frozen)
        return {UNCHANGED: untrained / taught, SAME_COPY: float(self._has_fixed_copy())} if taught else {}

    def _changed(self, weight: Any) -> bool:
        known = self._weights.get(id(weight))
        return known is not None and known.own() is weight and not known.stays

    def _has_fixed_copy(self) -> bool:
        """Whether one module stays as it was and gets no gradient, and another one of the same shape is trained."""
        trained: dict[Any, bool] = defaultdict(bool)
        fixed: dict[Any, bool] = defaultdict(bool)
        for module in [*self._modules]:
            known = [self._weights.get(id(weight)) for weight in module.parameters()]
            weights = [one for one in known if one is not None]
            if len(weights) == len(known) >= LEAST_PARTS:
                kind = type(module), tuple(weight.shape for weight in module.parameters())
                trained[kind] |= not any(one.stays for one in weights)
                fixed[kind] |= all(one.stays and not one.gradients for one in weights)
        return any(trained[kind] and fixed[kind] for kind in trained)

    def _owned(self) -> list[tuple[Weight, Any]]:
        return [(one, one.own()) for one in self._weights.values()]

    def remove(self) -> None:
        """Follow nothing any more."""
        for weight in self._weights.values():
            weight.release()
