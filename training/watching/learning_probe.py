"""What a script's optimizers do to its weights: gradients, updates and learning rate, seen a few times per second.

PyTorch calls the hooks before and after each step of an optimizer. Nearly always they only count; a few times per
second they compare the weights before and after the step, and see whether the next gradient is added to what is left of
this one. They change nothing, and nothing is read from a GPU.
"""

from __future__ import annotations

import sys
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from math import inf, isfinite, sqrt
from statistics import median
from types import FunctionType
from typing import Any

from ..diagnosis.budget import Budget
from .called_weights import GradientHook
from .intercept import UNUSUAL, HookLink, code_around
from .linear_calls import LastLayer, LinearCalls
from .policy import NOTHING, TEMPLATE

PERIOD, MAX_SHARE = 0.3, 0.001
"""Seconds between two steps that are looked at, and the largest share of the time for that."""
MOST_NUMBERS, MOST_ROWS = 1_000_000, 2048
"""Weights that are looked at, and rows of a matrix of weights that count as units."""
LEAST_SAMPLES = 20
"""Steps of an optimizer that must have been seen before something is said about all of them."""
LEAST_SIZE = 0.02
"""The root of the mean square of weights that are not nearly 0."""
MOST_UPDATES = 1000
"""Steps of optimizers in which weights that grow many times over do so too fast."""
LAST = 10
"""Steps of an optimizer of which metrics are medians or shares."""
UPDATES, RATIO, NORM = "optimizer/updates", "optimizer/update_ratio", "optimizer/grad_norm"
GROWTH, LEAST_RATIO, NO_GRADIENT = "optimizer/growth", "optimizer/least_update_ratio", "optimizer/zero_gradients"
RATE, LIMIT, LEFT = "optimizer/learning_rate", "optimizer/norm_limit", "optimizer/gradients_left"
UNTRAINED, DEAD, NOT_FINITE = "optimizer/without_gradient", "optimizer/dead_units", "optimizer/not_finite"


class Clipping:
    """Sees what a call of `clip_grad_norm_` returns, the norm before it, and its limit, while it is wanted.

    Attributes:
        wanted: Whether calls are seen.
    """

    def __init__(self) -> None:
        self._function: Any = None
        self._own: Any = None
        self._around: Any = None
        self._last: tuple[Any, Any] | None = None
        self.wanted = False

    def prepare(self, function: Any) -> None:
        """Make the code that notes calls of the function."""
        if isinstance(function, FunctionType) and not function.__code__.co_flags & UNUSUAL:
            link = HookLink({"before": NOTHING, "after": NOTHING}, before=NOTHING, after=self._after)
            self._function, self._own = function, function.__code__
            self._around = code_around(function, function.__name__, TEMPLATE, link)

    def see(self) -> None:
        """See calls from now on, until `restore`."""
        self.wanted = True
        if self._function is not None and self._function.__code__ is self._own:
            self._function.__code__ = self._around

    def restore(self) -> None:
        """See calls no longer; what somebody else has made of the function since stays."""
        self.wanted = False
        if self._function is not None and self._function.__code__ is self._around:
            self._function.__code__ = self._own

    def _after(self, _begun: Any, args: Any, kwargs: Any, result: Any) -> None:
        self._last = result, kwargs.get("max_norm", args[1] if len(args) > 1 else None)

    def take(self) -> dict[str, float]:
        """Return the norm and its limit, if they are known without a GPU, and forget them."""
        last, self._last = self._last, None
        if last is None or getattr(getattr(last[0], "device", None), "type", "") != "cpu":
            return {}
        return {NORM: float(last[0]), LIMIT: float(last[1])}


class OptimizerSteps:
    """What was seen of the last steps of an optimizer.

    Attributes:
        own: The optimizer, a weak reference.
        ratios: The norms of the changes of its weights, as shares of the norm of the weights; without a gradient, none.
        first: The first norm of its weights; infinity if they were nearly 0.
        growth: How many times as large they were at last, within its first steps.
        zeros: Whether the gradient was 0.
        left: Whether each gradient was added to what was left of the one before, however often it was called.
    """

    def __init__(self, optimizer: Any) -> None:
        self.own = weakref.ref(optimizer)
        self.ratios: deque[float] = deque(maxlen=LAST)
        self.first, self.growth = 0.0, 0.0
        self.zeros: deque[bool] = deque(maxlen=LAST)
        self.left: deque[bool] = deque(maxlen=LAST)
        self._found: list[bool] = []
        self._hook: GradientHook | None = None

    def grow(self, size: float, numbers: int) -> None:
        """Note the norm of its weights, and how many numbers they are."""
        if not self.first:
            self.first = size if size > LEAST_SIZE * sqrt(numbers) else inf
        self.growth = size / self.first

    def follow(self, weight: Any) -> None:
        """See whether the gradients until the next step are added to what is left of the last one, which is not 0."""
        found, own = self._found, weakref.ref(weight)

        def arrived(_gradient: Any) -> None:
            left = getattr(own(), "grad", None)
            found.append(left is not None and bool(left.any()))

        self._hook = GradientHook(weight, arrived)

    def release(self) -> None:
        """See nothing any more until the next call of `follow`."""
        hook, self._hook = self._hook, None
        if hook is not None:
            hook.remove()
            if self._found:
                self.left.append(all(self._found))
            self._found = []


class LearningProbe:
    """Looks at the steps of all optimizers of this process, from any thread.

    The hooks own all of it, in the threads that learn; `take`, in the one that steps the environments, reads `_row`,
    which is replaced as a whole, and a number. While one thread looks, `_budget` keeps others from looking, and what
    was kept belongs to one optimizer, so no lock is needed.
    """

    def __init__(self) -> None:
        self._handles: list[Any] = []
        self._clipping, self._linear = Clipping(), LinearCalls()
        self._budget = Budget(MAX_SHARE, PERIOD)
        self._followed: OptimizerSteps | None = None  # of which the next gradient of a weight is awaited
        self._count = self._taken = self._samples = 0
        self._before: tuple[Any, list[tuple[Any, Any]]] | None = None  # the optimizer, its weights and what they were
        self._row: dict[str, float] = {}
        self._steps: dict[int, OptimizerSteps] = {}  # by the optimizer's `id`
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
                self._clipping.prepare(sys.modules["torch"].nn.utils.clip_grad_norm_)
                self._linear.prepare(sys.modules["torch"].nn.Linear.forward)
                self._clipping.see()  # the first step is looked at
                self._linear.see()

    def remove(self) -> None:
        """Have PyTorch call the hooks no longer."""
        handles, self._handles = self._handles, []
        for handle in handles:
            handle.remove()
        self._release()
        self._clipping.restore()
        self._linear.restore()
        self._linear.forget()

    @property
    def heads(self) -> tuple[LastLayer, ...]:
        """The last layers of networks, and what they depend on, as they were seen last."""
        return self._linear.heads

    def _release(self) -> None:
        """Await no gradient any more."""
        followed, self._followed = self._followed, None
        if followed is not None:
            followed.release()

    def _on_step(self, optimizer: Any, _args: Any, _kwargs: Any) -> None:
        self._count += 1
        if self._followed is not None and self._followed.own() is optimizer:
            self._release()
        if not self._budget.due:
            return
        if not self._clipping.wanted:  # what is clipped before the next step is seen, and that step is looked at
            self._clipping.see()
            self._linear.see()
            return
        self._clipping.restore()
        self._linear.restore()
        self._budget.begin()
        try:
            self._look(optimizer)
        except Exception:  # weights of a kind that is not known
            self._before = None

    def _on_stepped(self, optimizer: Any, _args: Any, _kwargs: Any) -> None:
        if self._before is not None and self._before[0] is optimizer:
            (_, before), self._before = self._before, None
            with suppress(Exception):  # weights of a kind that is not known
                self._compare(optimizer, before)
            self._budget.end()

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
        features = self._linear.take()
        self._row = {**known, NORM: sqrt(squares), **self._clipping.take(), **features} if kept else {}
        self._before = optimizer, kept

    def _note(self, weight: Any, gradient: Any) -> None:
        """Note which rows of a matrix, each of which belongs to a unit, have a gradient."""
        rows = gradient.reshape(len(gradient), -1) if gradient.dim() > 1 else gradient.reshape(1, -1)
        alive = (rows != 0).any(1)
        own, known = self._seen.get(id(weight), (None, None))
        before = known is not None and own is not None and own() is weight and known.shape == alive.shape
        self._seen[id(weight)] = weakref.ref(weight), known | alive if before else alive

    def _compare(self, optimizer: Any, before: list[tuple[Any, Any]]) -> None:
        """Note by how much the step has changed the weights."""
        torch = sys.modules["torch"]
        known = self._steps.get(id(optimizer))
        if known is None or known.own() is not optimizer:
            known = self._steps[id(optimizer)] = OptimizerSteps(optimizer)
        with torch.no_grad():
            changed = sum(float((weight.detach() - old).norm()) ** 2 for weight, old in before)
            size = sum(float(old.norm()) ** 2 for _, old in before)
            moved = [weight for weight, _ in before if type(weight) is torch.nn.Parameter and bool(weight.grad.any())]
        self._samples += 1
        if self._count <= MOST_UPDATES:
            known.grow(sqrt(size), sum(old.numel() for _, old in before))
        if before:
            known.zeros.append(self._row.get(NORM) == 0)
        if self._row.get(NORM) and size > 0 and isfinite(changed):
            known.ratios.append(sqrt(changed / size))
        if moved:
            self._release()
            known.follow(min(moved, key=torch.numel))
            self._followed = known
        self._row = {**self._row, **self._parts(), **self._of_optimizers()}

    def _of_optimizers(self) -> dict[str, float]:
        """Return metrics of the optimizers' last steps: of the one that is furthest from what is usual."""
        self._steps = {key: steps for key, steps in self._steps.items() if steps.own() is not None}
        seen = [*self._steps.values()]
        ratios = [median(steps.ratios) for steps in seen if len(steps.ratios) == LAST]
        zeros = [min(steps.zeros) for steps in seen if len(steps.zeros) == LAST]
        left = [sum(steps.left) / len(steps.left) for steps in seen if len(steps.left) == LAST]
        return {
            **({RATIO: max(ratios), LEAST_RATIO: min(ratios)} if ratios else {}),
            GROWTH: max((steps.growth for steps in seen), default=0.0),
            **({NO_GRADIENT: float(any(zeros))} if zeros else {}),
            **({LEFT: max(left)} if left else {}),
            NOT_FINITE: float(sum(map(self._not_finite, seen))),
        }

    @staticmethod
    def _not_finite(steps: OptimizerSteps) -> int:
        """Return how many of the optimizer's weights are NaN or infinite."""
        optimizer, torch, found, left = steps.own(), sys.modules["torch"], 0, MOST_NUMBERS
        for weight in (weight for group in getattr(optimizer, "param_groups", ()) for weight in group["params"]):
            if weight.device.type == "cpu" and weight.numel() <= left:
                left -= weight.numel()
                if not isfinite(float(weight.detach().sum())):
                    found += int((~torch.isfinite(weight.detach())).sum())
        return found

    def _parts(self) -> dict[str, float]:
        """Return the shares of weights that never had a gradient, and of units in the other ones."""
        if self._samples < LEAST_SAMPLES:
            return {}
        self._seen = {key: seen for key, seen in self._seen.items() if seen[0]() is not None}
        sizes = [(own().numel(), alive) for own, alive in self._seen.values()]
        whole = sum(size for size, _ in sizes)
        without = sum(size for size, alive in sizes if alive is None or not alive.any())
        trained = [alive for _, alive in sizes if alive is not None and alive.any()]
        matrices = [alive for alive in trained if 1 < len(alive) <= MOST_ROWS]
        units, alive = sum(map(len, matrices)), sum(int(rows.sum()) for rows in matrices)
        return {UNTRAINED: without / max(1, whole), DEAD: 1 - alive / max(1, units)}

    def look_last(self) -> None:
        """Look whether weights are NaN or infinite, at the end of a script: it may be the reason."""
        with suppress(Exception):  # weights of a kind that is not known
            self._row = {**self._row, **self._of_optimizers()}

    def take(self) -> dict[str, float]:
        """Return what was seen last, and how many steps optimizers have made since the last call; empty before any."""
        if not self._count:
            return {}
        updates, self._taken = self._count - self._taken, self._count
        return {UPDATES: float(updates), **self._row}
