"""What a script's optimizers do to its weights: gradients, updates and learning rate, seen a few times per second.

PyTorch calls the hooks before and after each step of an optimizer. Nearly always they only count; a few times per
second they compare the weights before and after the step. They change nothing, and nothing is read from a GPU.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from math import isfinite, sqrt
from time import perf_counter
from types import FunctionType
from typing import Any

from .intercept import UNUSUAL, HookLink, code_around
from .policy import NOTHING, TEMPLATE

PERIOD, MAX_SHARE = 0.2, 0.002
"""Seconds between two steps that are looked at, and the largest share of the time for that."""
MOST_NUMBERS, MOST_ROWS = 1_000_000, 2048
"""Weights that are looked at, and rows of a matrix of weights that count as units."""
LEAST_SAMPLES = 20
"""Steps of an optimizer that must have been seen before parts without a gradient are counted."""
UPDATES, RATIO, NORM = "optimizer/updates", "optimizer/update_ratio", "optimizer/grad_norm"
RATE, LIMIT = "optimizer/learning_rate", "optimizer/norm_limit"
UNTRAINED, DEAD = "optimizer/without_gradient", "optimizer/dead_units"


class Clipping:
    """Sees what the last call of `clip_grad_norm_` returned, the norm before it, and its limit."""

    def __init__(self) -> None:
        self._function: Any = None
        self._own: Any = None
        self._around: Any = None
        self._last: tuple[Any, Any] | None = None

    def see(self, function: Any) -> None:
        """Replace the code of the function by one that notes its calls, until `restore`."""
        if isinstance(function, FunctionType) and not function.__code__.co_flags & UNUSUAL:
            link = HookLink({"before": NOTHING, "after": NOTHING}, before=NOTHING, after=self._after)
            self._function, self._own = function, function.__code__
            self._around = function.__code__ = code_around(function, function.__name__, TEMPLATE, link)

    def restore(self) -> None:
        """Undo the change, unless somebody else has changed the function since."""
        if self._function is not None and self._function.__code__ is self._around:
            self._function.__code__ = self._own
        self._function = None

    def _after(self, _begun: Any, args: Any, kwargs: Any, result: Any) -> None:
        self._last = result, kwargs.get("max_norm", args[1] if len(args) > 1 else None)

    def take(self) -> dict[str, float]:
        """Return the norm and its limit, if they are known without a GPU, and forget them."""
        last, self._last = self._last, None
        if last is None or getattr(getattr(last[0], "device", None), "type", "") != "cpu":
            return {}
        return {NORM: float(last[0]), LIMIT: float(last[1])}


class LearningProbe:
    """Looks at the steps of all optimizers of this process, from any thread.

    The hooks are called in the threads that learn; `take` in the one that steps the environments. Each value is
    replaced as a whole, so no lock is needed.
    """

    def __init__(self) -> None:
        self._handles: list[Any] = []
        self._clipping = Clipping()
        self._due = self._begun = 0.0
        self._count = self._taken = self._samples = 0
        self._before: list[tuple[Any, Any]] | None = None
        self._row: dict[str, float] = {}
        self._seen: dict[int, tuple[Any, Any]] = {}  # by weight: a reference, and which rows ever had a gradient

    def install(self) -> None:
        """Have PyTorch call the hooks, once the script has imported it; not if it compiles code, which may see them."""
        optimizers, compiler = sys.modules.get("torch.optim.optimizer"), sys.modules.get("torch._dynamo.eval_frame")
        if any(backend is not None for backend in getattr(compiler, "cached_backends", {}).values()):
            self.remove()
        elif not self._handles and hasattr(optimizers, "register_optimizer_step_post_hook"):
            with suppress(Exception):  # of a version of PyTorch that is not known
                before: Callable[[Any], Any] = optimizers.register_optimizer_step_pre_hook  # type: ignore[union-attr]
                after: Callable[[Any], Any] = optimizers.register_optimizer_step_post_hook  # type: ignore[union-attr]
                self._handles = [before(self._on_step), after(self._on_stepped)]
                self._clipping.see(sys.modules["torch"].nn.utils.clip_grad_norm_)

    def remove(self) -> None:
        """Have PyTorch call the hooks no longer."""
        handles, self._handles = self._handles, []
        for handle in handles:
            handle.remove()
        self._clipping.restore()

    def _on_step(self, optimizer: Any, _args: Any, _kwargs: Any) -> None:
        self._count += 1
        if (now := perf_counter()) >= self._due:
            self._due, self._begun = now + PERIOD, now
            try:
                self._look(optimizer)
            except Exception:  # weights of a kind that is not known
                self._before = None

    def _on_stepped(self, _optimizer: Any, _args: Any, _kwargs: Any) -> None:
        before, self._before = self._before, None
        if before is not None:
            with suppress(Exception):
                self._compare(before)
            self._due = perf_counter() + max(PERIOD, (perf_counter() - self._begun) / MAX_SHARE)

    def _look(self, optimizer: Any) -> None:
        """Note gradients, and keep the weights until after the step."""
        torch, left, kept, squares = sys.modules["torch"], MOST_NUMBERS, [], 0.0
        groups: Sequence[Any] = optimizer.param_groups
        with torch.no_grad():
            for weight in (weight for group in groups for weight in group["params"] if weight.requires_grad):
                gradient = weight.grad
                if weight.device.type != "cpu" or weight.numel() > left:
                    continue
                left -= weight.numel()
                if gradient is None:
                    self._seen.setdefault(id(weight), (weakref.ref(weight), None))
                    continue
                if gradient.layout is not torch.strided or type(gradient) is not torch.Tensor:
                    continue
                squares += float(gradient.norm()) ** 2
                self._note(weight, gradient)
                kept.append((weight, weight.detach().clone()))
        rate = float(groups[0]["lr"]) if groups and "lr" in groups[0] else None
        known = {} if rate is None else {RATE: rate}
        self._row = {**known, NORM: sqrt(squares), **self._clipping.take()} if kept else {}
        self._before = kept or None

    def _note(self, weight: Any, gradient: Any) -> None:
        """Note which rows of a matrix, each of which belongs to a unit, have a gradient."""
        rows = gradient.reshape(len(gradient), -1) if gradient.dim() > 1 else gradient.reshape(1, -1)
        alive = (rows != 0).any(1)
        own, known = self._seen.get(id(weight), (None, None))
        before = known is not None and own is not None and own() is weight and known.shape == alive.shape
        self._seen[id(weight)] = weakref.ref(weight), known | alive if before else alive

    def _compare(self, before: list[tuple[Any, Any]]) -> None:
        """Note by how much the step has changed the weights."""
        torch = sys.modules["torch"]
        with torch.no_grad():
            changed = sum(float((weight.detach() - old).norm()) ** 2 for weight, old in before)
            size = sum(float(old.norm()) ** 2 for _, old in before)
        self._samples += 1
        ratio = sqrt(changed / size) if size > 0 and isfinite(changed) else 0.0
        self._row = {**self._row, RATIO: ratio, **self._parts()}

    def _parts(self) -> dict[str, float]:
        """Return the shares of weights and of hidden units that never had a gradient."""
        if self._samples < LEAST_SAMPLES:
            return {}
        self._seen = {key: seen for key, seen in self._seen.items() if seen[0]() is not None}
        sizes = [(own().numel(), alive) for own, alive in self._seen.values()]
        whole = sum(size for size, _ in sizes)
        without = sum(size for size, alive in sizes if alive is None or not alive.any())
        matrices = [alive for _, alive in sizes if alive is not None and 1 < len(alive) <= MOST_ROWS]
        units, alive = sum(map(len, matrices)), sum(int(rows.sum()) for rows in matrices)
        return {UNTRAINED: without / max(1, whole), DEAD: 1 - alive / max(1, units)}

    def take(self) -> dict[str, float]:
        """Return what was seen last, and how many steps optimizers have made since the last call; empty before any."""
        if not self._count:
            return {}
        updates, self._taken = self._count - self._taken, self._count
        return {UPDATES: float(updates), **self._row}
