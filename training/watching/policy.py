"""What the script's policy computed for the displayed environment, where it uses modules or distributions of PyTorch.

While a viewer displays an environment, some steps per second are observed: between two steps, the outputs of modules
with one row per environment are noted, and the distributions that are made. In all other steps, PyTorch runs as without
watching, and no figures are read from a GPU.
"""

from __future__ import annotations

import functools
import math
import re
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count, islice
from threading import get_ident
from time import perf_counter
from types import CodeType, FunctionType
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ...envs.fields import Array
from ..trainer import PolicyOutput
from .intercept import UNUSUAL, code_around

MOST_NUMBERS, MOST_KEPT, MOST_CLASSES = 64, 256, 2000
PERIOD, LISTED = 0.1, 5.0
"""Seconds between two steps that are observed, and between two lists of the classes that they observe."""
MOST_VAIN = 50
"""Observed steps without the policy, such as random actions, after which its last output is not shown any more."""
DISTRIBUTIONS = ("Categorical", "Normal", "MultivariateNormal")
VALUE, ACTOR = re.compile(r"value|critic|baseline|(^|_)vf?(_|\d|$)"), re.compile(r"actor|policy")
"""Names of modules whose output is a value; names that also contain the second are those of whole agents."""
Note: TypeAlias = Callable[..., Any]
NOTHING: Note = "".format  # which accepts everything, and is a part of Python
TEMPLATE = """
def make({cells}):
    def {name}({parameters}):
        def _pac_twin({parameters}):
            {uses}
        _pac_begin = ({link}).before()
        _pac_result = _pac_twin({passed})
        ({link}).after(_pac_begin, {args}, {kwargs}, _pac_result)
        return _pac_result
"""
"""What a function does whose calls are noted."""
_observing: set[PolicyProbe] = set()


class Made(NamedTuple):
    """What a module returned, or a distribution that was made.

    Attributes:
        begin: When the call began, as a number that only grows.
        end: When it ended.
        by: The module; None for a distribution.
        inputs: The tensors that were passed to it.
        output: The tensor or the distribution; None for an output that is no tensor.
    """

    begin: int
    end: int
    by: Any
    inputs: list[Any]
    output: Any

    def within(self, other: Made) -> bool:
        """Whether this was made while the other was."""
        return other.begin < self.begin and self.end < other.end


class Link:
    """What a function finds here whose calls are noted. A copy in another process notes nothing.

    Args:
        before: Called before it.
        after: Called after it with what `before` returned, its arguments and its result.
    """

    __slots__ = ("after", "before", "nothing")

    def __init__(self, before: Note, after: Note) -> None:
        self.before, self.after = before, after
        self.nothing: dict[str, Any] = {}

    def __reduce__(self) -> Any:
        found = {"before": NOTHING, "after": NOTHING, "nothing": {}}
        return functools.partial, (id,), (id, (), {}, found)


class PolicyProbe:
    """Observes the policy of a script for one step, when asked.

    Args:
        num_envs: Number of environments N.
        num_actions: Number of actions to choose from; 0 if actions are not choices.
        action_numbers: Number of numbers in an action; 0 if unknown.
    """

    def __init__(self, num_envs: int, num_actions: int, action_numbers: int = 0) -> None:
        self._num_envs, self._num_actions, self._action_numbers = num_envs, num_actions, action_numbers
        self._most = num_envs * max(MOST_NUMBERS, num_actions)
        self._due, self._vain = 0.0, 0
        self._networks: list[type] = []
        self._listed = 0.0
        self._undo: list[Callable[[], object]] = []
        self._made: deque[Made] = deque(maxlen=MOST_KEPT)  # learning between two steps may make many
        self._clock = count()
        self._thread = 0
        self._noted: dict[FunctionType, tuple[CodeType, CodeType]] = {}
        self._row = 0
        self._found: tuple[int, PolicyOutput] | None = None

    def values(self, _slots: slice) -> Array | None:
        """Return None: values of past steps are unknown."""
        return None

    def inspect(self, row: int) -> PolicyOutput | None:
        """Return what was observed last for an environment, and observe the next step."""
        self._row = row
        if perf_counter() >= self._due:
            self._due = perf_counter() + PERIOD
            try:
                self._begin()
            except Exception:  # of a version of PyTorch that is not known
                self.stop()
        return self._found[1] if self._found is not None and self._found[0] == row else None

    @property
    def observes(self) -> bool:
        """Whether the next step is observed, so that `finish` has to be called right after it."""
        return bool(self._undo)

    def _begin(self) -> None:
        torch: Any = sys.modules.get("torch")
        compiler: Any = sys.modules.get("torch._dynamo.eval_frame")
        if any(backend is not None for backend in getattr(compiler, "cached_backends", {}).values()):
            self._found = None  # a method that is replaced would have compiled modules compiled again
            return
        distributions: Any = sys.modules.get("torch.distributions")
        if self._undo or distributions is None:
            return
        for other in _observing.copy():  # of another session of this process
            other._restore()  # noqa: SLF001
        _observing.add(self)
        self._thread = get_ident()
        module = torch.nn.Module
        if self._due > self._listed:
            self._listed = self._due + LISTED
            self._networks = [kind for kind in islice(_classes(module), MOST_CLASSES) if _is_network(kind)]
        functions = [module.__call__, *(vars(kind).get("forward") for kind in self._networks)]
        functions += [getattr(distributions, name).__init__ for name in DISTRIBUTIONS]
        for function in dict.fromkeys(functions):
            self._replace(function, self._before, self._after)
        self._replace(getattr(torch, "compile", None), self._restore, NOTHING)  # which reads the code of others
        register = getattr(sys.modules.get("torch.optim.optimizer"), "register_optimizer_step_post_hook", None)
        if register is not None:
            self._undo.append(register(self._learned).remove)

    def _replace(self, function: Any, before: Note, after: Note) -> None:
        """Replace the code of a function by one that notes its calls, until `_restore`."""
        if not isinstance(function, FunctionType) or function.__code__.co_flags & UNUSUAL:
            return
        own, around = self._noted.get(function, (None, None))
        if own is not function.__code__:
            own, link = function.__code__, Link(before, after)
            around = code_around(function, function.__name__, TEMPLATE, link)
            self._noted[function] = own, around
        function.__code__ = around  # type: ignore[assignment]
        self._undo.append(functools.partial(_undo, function, around, own))

    def _before(self) -> int:
        """Return the number of a call that begins; -1 if it is another thread's."""
        return next(self._clock) if get_ident() == self._thread else -1

    def _after(self, begin: int, args: Any, kwargs: Any, result: Any) -> None:
        """Note what a module returned, or that a distribution was made."""
        if begin >= 0:
            with suppress(Exception):
                self._note(begin, args, kwargs, result)

    def _note(self, begin: int, args: Any, kwargs: Any, result: Any) -> None:
        torch, made = sys.modules["torch"], args[0]
        inputs = [value for value in (*args[1:], *kwargs.values()) if isinstance(value, torch.Tensor)]
        if not isinstance(made, torch.nn.Module):
            self._made.append(Made(begin, next(self._clock), None, inputs, made))
        elif not isinstance(result, torch.Tensor):
            self._made.append(Made(begin, next(self._clock), made, [], None))
        elif type(result) is torch.Tensor and result.numel() <= self._most:
            if self._made and self._made[-1].output is result:  # `forward` of the same call, or of the module inside
                self._made.pop()
            self._made.append(Made(begin, next(self._clock), made, inputs, result))

    def _learned(self, *_: Any) -> None:
        """Forget what was computed before a step of an optimizer, which was not for the next action."""
        if get_ident() == self._thread:
            self._made.clear()

    def stop(self) -> None:
        """Stop observing."""
        self._due = math.inf
        self._restore()

    def _restore(self) -> None:
        """Undo all changes to PyTorch."""
        while self._undo:
            self._undo.pop()()
        _observing.discard(self)

    def finish(self) -> None:
        """Interpret what was observed until the step that was just made."""
        if not self._undo:
            self._made.clear()
            return
        self._restore()
        made = list(self._made)
        self._made.clear()
        found = self._interpreted(made)
        self._vain = 0 if found else self._vain + 1
        if found is not None:
            self._found = self._row, found
        elif self._vain > MOST_VAIN:
            self._found = None

    def _interpreted(self, made: list[Made]) -> PolicyOutput | None:
        """Return the newest distribution that is one of actions; without any, the newest output per action."""
        outputs = [item for item in made if item.by is not None]
        for item in reversed(made):
            if item.by is None and (found := self._distribution(item, outputs)) is not None:
                return found
        for item in reversed(outputs):
            part = self._part(item.output)
            if part is not None and len(part) == self._num_actions > 1:
                numbers = self._numbers(item.output)
                order = np.argsort(-numbers, kind="stable")
                unknown = [math.nan] * len(order)
                return PolicyOutput(math.nan, math.nan, order.tolist(), unknown, values=numbers[order].tolist())
        return None

    def _part(self, tensor: Any) -> Any:
        """Return the displayed environment's numbers in a tensor; None if it has not one row per environment."""
        if tensor is None:
            return None
        shape = tuple(tensor.shape)
        if self._num_envs > 1 and len(shape) == 1:
            shape = (*shape, 1)
        if math.prod(shape[:-1]) != self._num_envs:
            return None
        with suppress(Exception):  # a tensor inside a transformation, such as vmap, has no numbers after it
            return tensor.detach().reshape(self._num_envs, -1)[self._row]
        return None

    def _numbers(self, tensor: Any) -> Array:
        """Return the displayed environment's numbers in a tensor that has a row of them."""
        return np.array(self._part(tensor).float().cpu().tolist())

    def _distribution(self, item: Made, outputs: list[Made]) -> PolicyOutput | None:
        """Return a distribution of actions; None if it is one of something else."""
        known, distributions = vars(item.output), sys.modules["torch.distributions"]
        if isinstance(item.output, distributions.Categorical):
            parameter = known["probs" if "probs" in known else "logits"]
            part = self._part(parameter)
            if part is None or len(part) != self._num_actions:
                return None
            chances = self._numbers(parameter) if "probs" in known else np.exp(self._numbers(parameter))
            order = np.argsort(-chances, kind="stable")
            entropy = float(-(chances * np.log(np.maximum(chances, 1e-30))).sum())
            value = self._value(item, [parameter], outputs)
            return PolicyOutput(value, entropy, order.tolist(), chances[order].tolist())
        means, part = known["loc"], self._part(known["loc"])
        if self._num_actions or part is None or self._action_numbers not in {0, len(part)}:
            return None
        correlated: Any = distributions.MultivariateNormal
        if isinstance(item.output, correlated):
            deviations, entropies = correlated.variance.fget(item.output).sqrt(), correlated.entropy(item.output)
        else:
            deviations = known["scale"]
            entropies = 0.5 + 0.5 * math.log(2 * math.pi) + deviations.detach().log()
        entropy, value = float(self._numbers(entropies).sum()), self._value(item, [means, deviations], outputs)
        return PolicyOutput(value, entropy, (), (), self._numbers(means).tolist(), self._numbers(deviations).tolist())

    def _value(self, policy: Made, parameters: list[Any], outputs: list[Made]) -> float:
        """Return the value estimate of the displayed environment; NaN if it is not certain which output it is.

        It is one number per environment that the distribution was not computed from. A module's name may say so. If
        none does, it is the only output that came after the distribution, or that came before it while all of the
        distribution's parameters are outputs of other modules, from the same input.
        """
        parameters += policy.inputs
        makers = [[made for made in outputs if _same(made.output, given)] for given in policy.inputs]
        inputs = [given for made in makers for maker in made for given in maker.inputs]
        newest: dict[int, Made] = {}
        for made in outputs:
            part = self._part(made.output)
            if part is not None and len(part) == 1 and not any(_same(made.output, given) for given in parameters):
                newest[id(made.by)] = made
        found: dict[int, list[Made]] = {}
        for made in newest.values():
            around = [call for call in outputs if made.within(call)]
            later = made.begin > policy.end
            beside = any(policy.within(call) for call in around) or any(
                _same(one, other) for one in inputs for other in made.inputs
            )
            if any(call in newest.values() for call in around) or not (later or beside):
                continue
            parts = [call for call in around if not policy.within(call)]
            certainty = 2 if _is_value([made, *parts], around) else 1 if later or all(makers) else 0
            found.setdefault(certainty, []).append(made)
        certain = found.get(2, found.get(1, []))
        return float(self._numbers(certain[0].output)[0]) if len(certain) == 1 else math.nan


def _undo(function: FunctionType, around: CodeType | None, own: CodeType) -> None:
    """Give a function its own code again, unless somebody else has changed it."""
    if function.__code__ is around:
        function.__code__ = own


def _classes(base: type) -> Iterator[type]:
    """Yield all classes that derive from a class."""
    kind: type
    for kind in type.__subclasses__(base):
        yield kind
        yield from _classes(kind)


def _is_network(kind: type) -> bool:
    """Whether a class of modules is not PyTorch's and has its own function."""
    return "forward" in vars(kind) and not kind.__module__.startswith("torch.")


def _same(one: Any, other: Any) -> bool:
    """Whether two tensors are views of the same numbers."""
    if one is None or other is None:
        return False
    with suppress(Exception):  # not every tensor has an address
        return one is other or bool(one.numel() == other.numel() > 0 and one.data_ptr() == other.data_ptr())
    return False


def _is_value(calls: list[Made], around: list[Made]) -> bool:
    """Whether the class of a module, or its name in one of those `around`, is that of a value function."""
    modules = [call.by for call in calls]
    names = [type(module).__name__ for module in modules]
    for call in (*calls, *around):
        owned = call.by._modules.items()  # noqa: SLF001
        names += [name for name, part in owned if any(part is module for module in modules)]
    return any(VALUE.search(name.lower()) and not ACTOR.search(name.lower()) for name in names)
