"""What the script's policy computed for the displayed environment, where it uses modules or distributions of PyTorch.

While a viewer displays an environment, some steps per second are observed: between two steps, the outputs of modules
with one row per environment are noted, and the distributions that are made. In all other steps, PyTorch runs as without
watching, and no figures are read from a GPU.
"""

from __future__ import annotations

import math
import re
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import update_wrapper
from itertools import count, islice
from threading import get_ident
from time import perf_counter
from types import FunctionType
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ...envs.fields import Array
from ..trainer import PolicyOutput
from .hidden import hidden

MOST_NUMBERS, MOST_KEPT, MOST_CLASSES = 64, 256, 2000
PERIOD, LISTED = 0.1, 5.0
"""Seconds between two steps that are observed, and between two lists of the classes that they observe."""
MOST_BEGUN, DOUBLED = (480, 40) if sys.version_info >= (3, 13) else (math.inf, math.inf)
"""Python 3.13 looks up attributes of a class slowly for ever once it was changed 1,000 times."""
MOST_VAIN = 50
"""Observed steps without the policy, such as random actions, after which its last output is not shown any more."""
DISTRIBUTIONS = ("Categorical", "Normal", "MultivariateNormal")
VALUE, ACTOR = re.compile(r"value|critic|baseline|(^|_)vf?(_|\d|$)"), re.compile(r"actor|policy")
"""Names of modules whose output is a value; names that also contain the second are those of whole agents."""
Note: TypeAlias = Callable[..., Any]
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


class Notes:
    """Notes of what one thread calls; a copy in another process notes nothing.

    Args:
        note: Called with the arguments of each call.

    Attributes:
        thread: The identifier of the thread.
    """

    def __init__(self, note: Note) -> None:
        self._note, self.thread = note, 0

    def __call__(self, *args: Any) -> Any:
        """Note a call, unless it is another thread's."""
        if get_ident() == self.thread:
            with suppress(Exception):
                return self._note(*args)
        return None

    def __reduce__(self) -> Any:
        return getattr, ("", "format")  # a function that accepts everything, which any process has


def noted(original: Any, before: Note, after: Note) -> Any:
    """Return a function that does the same as a method, and notes its arguments and result."""

    @hidden
    def call(*args: Any, **kwargs: Any) -> Any:
        begin = before()
        result = original(*args, **kwargs)
        after(begin, args, kwargs, result)
        return result

    return update_wrapper(call, original)


def replaced(owner: type, name: str, method: Any) -> Callable[[], None]:
    """Replace a method of a class; return what undoes that. No code of a metaclass runs."""
    original = owner.__dict__[name]
    type.__setattr__(owner, name, method)

    def undo() -> None:
        if owner.__dict__.get(name) is method:
            type.__setattr__(owner, name, original)

    return undo


class PolicyProbe:
    """Observes the policy of a script for one step, when asked.

    Args:
        num_envs: Number of environments N.
        num_actions: Number of actions to choose from; 0 if actions are not choices.
        action_numbers: Number of numbers in an action; 0 if unknown.

    Attributes:
        begun: Number of steps that were observed in this process.
    """

    begun = 0

    def __init__(self, num_envs: int, num_actions: int, action_numbers: int = 0) -> None:
        self._num_envs, self._num_actions, self._action_numbers = num_envs, num_actions, action_numbers
        self._most = num_envs * max(MOST_NUMBERS, num_actions)
        self._due, self._vain = 0.0, 0
        self._networks: list[type] = []
        self._listed = 0.0
        self._undo: list[Callable[[], object]] = []
        self._made: deque[Made] = deque(maxlen=MOST_KEPT)  # learning between two steps may make many
        self._clock = count()
        self._now = Notes(lambda: next(self._clock))
        self._after_forward, self._after_init = Notes(self._note_output), Notes(self._note_distribution)
        self._forget = Notes(lambda *_: self._made.clear())  # what was computed before was not for the next action
        self._noted: dict[tuple[type, str], Any] = {}
        self._row = 0
        self._found: tuple[int, PolicyOutput] | None = None

    def values(self, _slots: slice) -> Array | None:
        """Return None: values of past steps are unknown."""
        return None

    def inspect(self, row: int) -> PolicyOutput | None:
        """Return what was observed last for an environment, and observe the next step."""
        self._row = row
        if perf_counter() >= self._due and PolicyProbe.begun < MOST_BEGUN:
            self._due = perf_counter() + PERIOD * 2 ** (PolicyProbe.begun / DOUBLED)
            self._begin()
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
        PolicyProbe.begun += 1
        for notes in (self._now, self._after_forward, self._after_init, self._forget):
            notes.thread = get_ident()
        module = torch.nn.Module
        self._replace(module, "__call__", self._after_forward)
        if self._due > self._listed:
            self._listed = self._due + LISTED
            self._networks = [kind for kind in islice(_classes(module), MOST_CLASSES) if _is_network(kind)]
        for kind in self._networks:
            self._replace(kind, "forward", self._after_forward)
        for name in DISTRIBUTIONS:
            self._replace(getattr(distributions, name), "__init__", self._after_init)
        for owner, name in ((torch, "compile"), (torch.jit, "script")):
            self._stop_before(owner, name)
        register = getattr(sys.modules.get("torch.optim.optimizer"), "register_optimizer_step_post_hook", None)
        if register is not None:
            self._undo.append(register(self._forget).remove)

    def _replace(self, owner: type, name: str, after: Note) -> None:
        """Replace a method of a class by one that also notes its result, until `_restore`."""
        method = owner.__dict__.get(name)
        if not isinstance(method, FunctionType):
            return
        same, replacement = self._noted.get((owner, name), (None, None))
        if same is not method:
            replacement = noted(method, self._now, after)
            self._noted[owner, name] = method, replacement
        self._undo.append(replaced(owner, name, replacement))

    def _stop_before(self, owner: Any, name: str) -> None:
        """Undo all changes before a function that reads the methods of modules."""
        original = getattr(owner, name, None)
        if original is None:
            return

        @hidden
        def unobserved(*args: Any, **kwargs: Any) -> Any:
            self._restore()
            return original(*args, **kwargs)

        setattr(owner, name, update_wrapper(unobserved, original))
        self._undo.append(lambda: setattr(owner, name, original))

    def _note_output(self, begin: int, args: Any, kwargs: Any, output: Any) -> None:
        torch = sys.modules["torch"]
        if not isinstance(args[0], torch.nn.Module):
            return
        if isinstance(output, torch.Tensor):
            if type(output) is not torch.Tensor or output.numel() > self._most:
                return
            if self._made and self._made[-1].output is output:  # `forward` of the same call, or of the module inside
                begin = min(begin, self._made.pop().begin)
        else:
            output = None
        inputs = _tensors(args[1:], kwargs) if output is not None else []
        self._made.append(Made(begin, next(self._clock), args[0], inputs, output))

    def _note_distribution(self, begin: int, args: Any, kwargs: Any, _result: Any) -> None:
        self._made.append(Made(begin, next(self._clock), None, _tensors(args[1:], kwargs), args[0]))

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


def _classes(base: type) -> Iterator[type]:
    """Yield all classes that derive from a class."""
    for kind in type.__subclasses__(base):
        yield kind
        yield from _classes(kind)


def _is_network(kind: type) -> bool:
    """Whether a class of modules is not PyTorch's and has its own function."""
    return "forward" in vars(kind) and not kind.__module__.startswith("torch.")


def _tensors(args: Any, kwargs: Any) -> list[Any]:
    """Return the tensors among arguments."""
    tensor = sys.modules["torch"].Tensor
    return [value for value in (*args, *kwargs.values()) if isinstance(value, tensor)]


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
