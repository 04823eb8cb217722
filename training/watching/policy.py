"""What the script's policy computed for the displayed environment, where it uses modules or distributions of PyTorch.

Some steps per second are observed while a viewer displays an environment, otherwise about one: between two steps, the
outputs of modules with one row per environment are noted, and the distributions that are made. In all other steps,
PyTorch runs as without watching. Metrics are read from a GPU only for a viewer.
"""

from __future__ import annotations

import math
import re
import sys
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from statistics import fmean
from threading import get_ident
from time import perf_counter
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import numpy as np

from ...envs.fields import Array
from ...envs.unknown import UNKNOWN
from ..trainer import PolicyOutput, Saliency
from .intercept import UNUSUAL, HookLink, code_around
from .saliency import NotedLayers

MOST_NUMBERS, MOST_KEPT, MOST_CLASSES = 64, 256, 2000
PERIOD, LISTED = 0.1, 5.0
"""Seconds between two steps that are observed, and between two lists of the classes that they observe."""
MOST_VAIN = 50
"""Observed steps without the policy, such as random actions, after which its last output is not shown any more."""
PAIRS, MOST_COMPARED = 12, 4096
"""Pairs of successive steps whose inputs are compared, and numbers of them."""
LEAST_CHOICES, MOST_CHOICES = 20, 2000
"""Choices from which on they are compared with their probabilities, and those after which all count half."""
ENTROPY, DEVIATION, VALUE_MEAN = "policy/entropy", "policy/deviation", "policy/value_mean"
SAME_INPUT, GREEDY, INPUT_SIZE = "policy/same_input", "policy/greedy", "policy/input_size"
LAYERS = frozenset({"Linear", "Conv1d", "Conv2d", "Conv3d"})
"""Modules whose input is multiplied with weights."""
"""Curves of what the policy computed: means over all environments."""
DISTRIBUTIONS = ("Categorical", "Normal", "MultivariateNormal")
VALUE, ACTOR = re.compile(r"value|critic|baseline|(^|_)vf?(_|\d|$)"), re.compile(r"actor|policy")
"""Names of modules whose output is a value; names that also contain the second are those of whole agents."""
NOTHING: Callable[..., Any] = "".format  # which accepts everything, and is a part of Python
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
        end: When it ended, as such a number.
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

    def beside(self, other: Made) -> bool:
        """Whether this was made while the other was, or from the same input."""
        return self.within(other) or any(_same(one, two) for one in self.inputs for two in other.inputs)


class Choices:
    """How often the likeliest action was taken, and how often it would be by its probability.

    Attributes:
        likeliest: The likeliest action of each environment in the newest step, and its probability; None if unknown.
    """

    def __init__(self) -> None:
        self.likeliest: tuple[Array, Array] | None = None
        self._taken = self._count = self._expected = self._variance = 0.0

    def note(self, chances: Any) -> None:
        """Note the probabilities of a step, `(N, actions)`, unless they are on a GPU."""
        if chances.device.type == "cpu":
            most, which = chances.detach().max(-1)
            self.likeliest = which.numpy().copy(), most.numpy().copy()

    def chosen(self, actions: Array) -> None:
        """Add the actions that were taken in this step."""
        likeliest, self.likeliest = self.likeliest, None
        if likeliest is not None and likeliest[0].shape == actions.shape:
            which, most = likeliest
            most = most.clip(0, 1)
            self._taken += float((which == actions).sum())
            self._expected += float(most.sum())
            self._variance += float((most * (1 - most)).sum())
            self._count += len(actions)
            if self._count > MOST_CHOICES:
                self._taken, self._count = self._taken / 2, self._count / 2
                self._expected, self._variance = self._expected / 2, self._variance / 2

    @property
    def metrics(self) -> dict[str, float]:
        """By how many standard deviations the likeliest action was taken too often, if it nearly always was; else 0."""
        if self._count < LEAST_CHOICES:
            return {}
        always = self._taken > 0.97 * self._count
        return {GREEDY: (self._taken - self._expected) / math.sqrt(self._variance + 1) if always else 0.0}


class PolicyProbe:
    """Observes the policy of a script for one step, when asked.

    Args:
        num_envs: Number of environments N.
        num_actions: Number of actions to choose from; 0 if actions are not choices.
        action_numbers: Number of numbers in an action; 0 if unknown.

    Attributes:
        metrics: Means over all environments of what was observed last, by name.
        called: The modules that were called in the steps that were observed.
        choices: How the actions of the steps that were observed go with their probabilities.
        layers: What its choice depends on, by the layers that were called.
    """

    def __init__(self, num_envs: int, num_actions: int, action_numbers: int = 0) -> None:
        self._num_envs, self._num_actions, self._action_numbers = num_envs, num_actions, action_numbers
        self._most = num_envs * max(MOST_NUMBERS, num_actions)
        self._due, self._listed, self._vain = 0.0, 0.0, 0
        self._observed, self._for_viewer = 0.0, True
        self.metrics: dict[str, float] = {}
        self.called: weakref.WeakSet[Any] = weakref.WeakSet()
        self.choices = Choices()
        self.layers = NotedLayers(num_envs)
        self._basis: tuple[str, list[Any]] = "", []  # which number counts, and what it was computed from
        self._given, self._alike = 0, deque[bool](maxlen=PAIRS)
        self._means: dict[str, float] = {}
        self._functions: list[Any] = []
        self._codes: dict[FunctionType, tuple[CodeType, CodeType]] = {}
        self._optimizers: Any = None
        self._made: deque[Made] = deque(maxlen=MOST_KEPT)  # learning between two steps may make many
        self._clock = count()
        self._thread = 0
        self._row = 0
        self._entered: Any = None  # what the first layer was given
        self._found: PolicyOutput | None = None

    def values(self, _slots: slice) -> Array | None:
        """Return None: values of past steps are unknown."""
        return None

    def inspect(self, row: int) -> PolicyOutput | None:
        """Return what was observed last for an environment, and observe the next step."""
        if row != self._row:
            self._row, self._found = row, None
        self.observe(PERIOD, for_viewer=True)
        return self._found

    def saliency(self, row: int, *_: object) -> Saliency | None:
        """Return on what the choice for an environment depended when it was computed last, and compute it anew soon."""
        self.layers.ask(row)
        return self.layers.found

    def observe(self, period: float, *, for_viewer: bool = False) -> None:
        """Observe the next step, if that is due: after a period, in s. What is on a GPU is only read for a viewer."""
        if perf_counter() >= self._observed + period and self._due < math.inf:
            self._observed = self._due = perf_counter()
            self._for_viewer = for_viewer
            try:
                self._begin()
            except Exception:  # of a version of PyTorch that is not known
                self.stop()

    @property
    def compares(self) -> bool:
        """Whether the next step should be observed, too, to compare what the policy is given."""
        return bool(self._given) and len(self._alike) < PAIRS

    @property
    def observes(self) -> bool:
        """Whether the next step is observed, so that `finish` has to be called right after it."""
        return self in _observing

    def _begin(self) -> None:
        names = "torch", "torch.distributions", "torch._dynamo.eval_frame", "torch.optim.optimizer"
        imported: Callable[[str], Any] = sys.modules.get
        torch, distributions, compiler, optimizer = map(imported, names)
        if distributions is None or self.observes:
            return
        compiled = any(backend is not None for backend in getattr(compiler, "cached_backends", {}).values())
        self.layers.begin(compiled=compiled)
        for other in _observing.copy():  # of another session of this process
            other._restore()  # noqa: SLF001
        _observing.add(self)
        self._thread = get_ident()
        if self._due > self._listed:
            self._listed = self._due + LISTED
            self._functions = [getattr(distributions, name).__init__ for name in DISTRIBUTIONS]
            self._functions += [torch.nn.Module.__call__, *_forwards(torch.nn.Module)]
        # A method that is replaced would have code compiled again that calls it. The call of a compiled module is never
        # a part of compiled code.
        functions = [vars(compiler.OptimizedModule).get("__call__")] if compiled else self._functions
        for function in functions:
            self._replace(function, self._clock.__next__, self._after)
        if compiled:
            return
        self._replace(getattr(torch, "compile", None), self._restore, NOTHING)  # which reads the code of others
        if hasattr(optimizer, "register_optimizer_step_post_hook"):
            self._optimizers = optimizer.register_optimizer_step_post_hook(self._learned)

    def _replace(self, function: Any, before: Callable[..., Any], after: Callable[..., Any]) -> None:
        """Replace the code of a function by one that notes its calls, until `_restore`."""
        if not isinstance(function, FunctionType) or function.__code__.co_flags & UNUSUAL:
            return
        own, around = self._codes.get(function, (None, None))
        if function.__code__ is not own and function.__code__ is not around:
            link = HookLink({"before": NOTHING, "after": NOTHING}, before=before, after=after)
            around = code_around(function, function.__name__, TEMPLATE, link)
            self._codes[function] = function.__code__, around
        function.__code__ = around  # type: ignore[assignment]

    def _after(self, begin: int, args: Any, kwargs: Any, result: Any) -> None:
        """Note what a module returned, or that a distribution was made."""
        if get_ident() != self._thread:
            return
        with suppress(Exception):
            torch, made, end = sys.modules["torch"], args[0], next(self._clock)
            inputs = [value for value in (*args[1:], *kwargs.values()) if isinstance(value, torch.Tensor)]
            if self.layers.notes and isinstance(made, torch.nn.Module):
                self.layers.note(made, inputs[0] if inputs else None, result)
            known = inputs if isinstance(made, torch.nn.Module) else filter(torch.is_tensor, vars(made).values())
            if not self._for_viewer and any(value.device.type != "cpu" for value in known):
                return
            if isinstance(made, torch.nn.Module):
                self.called.add(made)
                if self._entered is None and type(made).__name__ in LAYERS and inputs[0].dim():
                    self._entered = inputs[0]
            if not isinstance(made, torch.nn.Module):
                self._made.append(Made(begin, end, None, inputs, made))
            elif not isinstance(result, torch.Tensor):
                self._made.append(Made(begin, end, made, [], None))
            elif type(result) is torch.Tensor and result.numel() <= self._most:
                if self._made and self._made[-1].output is result:  # `forward` of the same call, or of the last module
                    self._made.pop()
                self._made.append(Made(begin, end, made, inputs, result))

    def _learned(self, *_: Any) -> None:
        """Forget what was computed before a step of an optimizer, which was not for the next action."""
        if get_ident() == self._thread:
            self._made.clear()
            self.layers.forget()
            self._entered = None

    def stop(self) -> None:
        """Stop observing."""
        self._due = math.inf
        self.layers.stop()
        self._restore()

    def _restore(self) -> None:
        """Undo all changes to PyTorch."""
        _observing.discard(self)
        for function, (own, around) in self._codes.items():
            if function.__code__ is around:  # nobody else has changed it
                function.__code__ = own
        if self._optimizers is not None:
            self._optimizers.remove()

    def finish(self) -> tuple[int, PolicyOutput] | None:
        """Interpret what was observed until the step that was just made; return the row and its output, if found."""
        made, entered = list(self._made), self._entered
        self._made.clear()
        self._entered = None
        if not self.observes:
            self.layers.stop()
            return None
        self._restore()
        self.choices.likeliest = None
        found = self._interpreted(made)
        if self.layers.notes and get_ident() == self._thread:
            rows = [self._row_of(tensor) for tensor in self._basis[1]]
            self.layers.finish(self._basis[0], [row for row in rows if len(row)])
        self._compare(made if found else [])
        if found and entered is not None and entered.device.type == "cpu":
            numbers = entered.detach().reshape(-1, entered.shape[-1])[:, :MOST_COMPARED].double().abs()
            self._means[INPUT_SIZE] = float(numbers.mean(dim=0).max())
        self.metrics = {**self._means, **({SAME_INPUT: fmean(self._alike)} if len(self._alike) == PAIRS else {})}
        self._vain = 0 if found else self._vain + 1
        if found or self._vain > MOST_VAIN:
            self._found = found
        return None if found is None else (self._row, found)

    def _compare(self, made: list[Made]) -> None:
        """Note whether the first module was given the same as in the step before, if that was observed, too."""
        before, self._given = self._given, 0
        given = next((item.inputs[0] for item in made if item.inputs and len(self._rows_of(item.inputs[0]))), None)
        if given is not None and given.device.type == "cpu" and len(self._alike) < PAIRS:
            self._given = hash(given.detach().reshape(-1)[:MOST_COMPARED].contiguous().numpy().tobytes())
            if before:
                self._alike.append(self._given == before)
                self._given = 0

    def _interpreted(self, made: list[Made]) -> PolicyOutput | None:
        """Return the newest distribution that is one of actions; without any, the newest output per action."""
        self._means, self._basis = {}, ("", [])
        outputs = [item for item in made if item.by is not None]
        for item in reversed(made):
            if item.by is None and (found := self._distribution(item, outputs)):
                return found
        for item in reversed(outputs):
            if len(self._row_of(item.output)) == self._num_actions > 1:
                numbers = self._numbers(item.output)
                order = np.argsort(-numbers, kind="stable")
                unknown = [UNKNOWN] * len(order)
                self._note(VALUE_MEAN, self._rows_of(item.output).amax(-1))
                self._basis = "output", [item.output]
                return PolicyOutput(UNKNOWN, UNKNOWN, order.tolist(), unknown, values=numbers[order].tolist())
        return None

    def _rows_of(self, tensor: Any) -> Any:
        """Return the numbers of each environment in a tensor; none if it has not one row per environment."""
        with suppress(Exception):  # a tensor inside a transformation, such as vmap, has no numbers after it
            rows = tensor.shape[:-1] or (tensor.shape if self._num_envs > 1 else ())
            if math.prod(rows) == self._num_envs:
                return tensor.detach().reshape(self._num_envs, -1)
        return ()

    def _row_of(self, tensor: Any) -> Any:
        """Return the displayed environment's numbers in a tensor; none if it has not one row per environment."""
        return self._rows_of(tensor)[self._row] if len(self._rows_of(tensor)) else ()

    def _note(self, name: str, tensor: Any) -> None:
        """Note the mean of a number of all environments, unless that would wait for a GPU."""
        if tensor.device.type == "cpu" and tensor.numel() <= self._most:
            self._means[name] = float(tensor.detach().double().mean())

    def _numbers(self, tensor: Any) -> Array:
        """Return the displayed environment's numbers in a tensor that has a row of them."""
        return np.array(self._row_of(tensor).float().cpu().tolist())

    def _distribution(self, item: Made, outputs: list[Made]) -> PolicyOutput | None:
        """Return a distribution of actions; None if it is one of something else."""
        known, distributions = vars(item.output), sys.modules["torch.distributions"]
        if isinstance(item.output, distributions.Categorical):
            parameter = known["probs" if "probs" in known else "logits"]
            if not self._num_actions or len(self._row_of(parameter)) != self._num_actions:
                return None
            chances = self._numbers(parameter) if "probs" in known else np.exp(self._numbers(parameter))
            order = np.argsort(-chances, kind="stable")
            entropy = float(-(chances * np.log(np.maximum(chances, 1e-30))).sum())
            rows = self._rows_of(parameter).double()
            rows = rows.exp() if "probs" not in known else rows
            self._note(ENTROPY, -(rows * rows.clamp_min(1e-30).log()).sum(-1))
            self.choices.note(rows)
            value = self._value(item, [parameter], outputs)
            self._basis = "logit", item.inputs
            return PolicyOutput(value, entropy, order.tolist(), chances[order].tolist())
        kinds: Any = distributions.Normal, distributions.MultivariateNormal
        kind = next(kind for kind in kinds if isinstance(item.output, kind))
        means, deviations = known["loc"], kind.stddev.fget(item.output)
        size = len(self._row_of(means))
        if self._num_actions or not size or self._action_numbers not in {0, size}:
            return None
        entropies = kind.entropy(item.output)
        entropy = float(self._numbers(entropies).sum())
        self._note(ENTROPY, self._rows_of(entropies).sum(-1))
        self._note(DEVIATION, deviations)
        value = self._value(item, [means, deviations], outputs)
        self._basis = "mean", [means]
        return PolicyOutput(value, entropy, (), (), self._numbers(means).tolist(), self._numbers(deviations).tolist())

    def _value(self, policy: Made, parameters: list[Any], outputs: list[Made]) -> float:
        """Return the value estimate of the displayed environment; NaN if it is not certain which output it is.

        It is one number per environment that the distribution was not computed from. It came after the distribution, or
        with the newest output before it: from the same call or the same input. A module's name may say what it is. If
        none does, it is the only such output, and came after the distribution or beside its only parameter.
        """
        given = [*parameters, *policy.inputs]
        single = [made for made in outputs if len(self._row_of(made.output)) == 1]
        newest = {id(made.by): made for made in single if not any(_same(made.output, one) for one in given)}.values()
        source = next((made for made in reversed(outputs) if made.begin < policy.begin and made not in newest), None)
        found = [
            made
            for made in newest
            if not any(made.within(other) for other in newest)
            and (made.begin > policy.end or (source is not None and made.beside(source)))
        ]
        certain = [made for made in found if _is_value(made, outputs)]
        if not certain:
            alone = source is not None and all(_same(source.output, one) for one in policy.inputs)
            certain = [made for made in found if alone or made.begin > policy.end]
        if len(certain) != 1:
            return UNKNOWN
        self._note(VALUE_MEAN, certain[0].output)
        return float(self._numbers(certain[0].output)[0])


def _forwards(module: type) -> list[Any]:
    """Return the `forward` of all classes of modules that are not PyTorch's."""
    kinds: list[type] = [module]
    for kind in kinds:
        kinds += type.__subclasses__(kind)[: MOST_CLASSES - len(kinds)]
    return [vars(kind).get("forward") for kind in kinds if not kind.__module__.startswith("torch.")]


def _same(one: Any, other: Any) -> bool:
    """Whether two tensors are views of the same numbers."""
    with suppress(Exception):  # not every tensor has an address
        return one is other or bool(one.numel() == other.numel() > 0 and one.data_ptr() == other.data_ptr())
    return False


def _is_value(made: Made, outputs: list[Made]) -> bool:
    """Whether a module's class, or its name in one that called it, is that of a value function."""
    names = [type(made.by).__name__]
    for call in outputs:
        if made.within(call):
            names += [name for name, part in call.by._modules.items() if part is made.by]  # noqa: SLF001
    return any(VALUE.search(name.lower()) and not ACTOR.search(name.lower()) for name in names)
