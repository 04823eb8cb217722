"""What the script's policy computed for the displayed environment, where it is a module of PyTorch.

While a viewer displays an environment, some steps per second are observed: between two steps, the outputs of modules
with one row per environment are kept, and the distributions that are made of them. In all other steps, PyTorch runs as
without watching, and no figures are read from a GPU.
"""

from __future__ import annotations

import math
import sys
from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from ...envs.fields import Array
from ..trainer import PolicyOutput

MOST_ACTIONS, MOST_KEPT = 64, 16
PERIOD = 0.1  # s between two steps that are observed


class PolicyProbe:
    """Observes the policy of a script for one step, when asked.

    Args:
        num_envs: Number of environments N.
        num_actions: Number of actions to choose from; 0 if actions are not choices.
    """

    def __init__(self, num_envs: int, num_actions: int) -> None:
        self._num_envs, self._num_actions = num_envs, num_actions
        self._due = 0.0
        self._undo: list[Callable[[], object]] = []
        self._outputs: deque[Any] = deque(maxlen=MOST_KEPT)  # learning between two steps may make many
        self._distributions: deque[Any] = deque(maxlen=MOST_KEPT)
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
            self._begin()
        return self._found[1] if self._found is not None and self._found[0] == row else None

    def _begin(self) -> None:
        torch: Any = sys.modules.get("torch")
        compiler: Any = sys.modules.get("torch._dynamo.eval_frame")
        compiled = getattr(compiler, "cached_backends", {}).values()
        if self._undo or torch is None or any(backend is not None for backend in compiled):
            return  # a hook would have compiled modules compiled again
        hook = torch.nn.modules.module.register_module_forward_hook(self._on_forward)
        self._undo.append(hook.remove)
        for kind in (torch.distributions.Categorical, torch.distributions.Normal):
            self._undo.append(self._note_instances(kind))

    @property
    def observes(self) -> bool:
        """Whether the next step is observed, so that `finish` has to be called right after it."""
        return bool(self._undo)

    def _note_instances(self, kind: Any) -> Callable[[], object]:
        """Note the distributions of a class that are made from now on; return what ends that."""
        original = kind.__init__

        def initialize(made: Any, *args: Any, **kwargs: Any) -> None:
            original(made, *args, **kwargs)
            self._distributions.append(made)

        kind.__init__ = initialize
        return lambda: setattr(kind, "__init__", original)

    def _on_forward(self, _module: Any, _inputs: Any, output: Any) -> None:
        shape: Any = getattr(output, "shape", ())
        if len(shape) in {1, 2} and shape[0] == self._num_envs and (len(shape) == 1 or shape[1] <= MOST_ACTIONS):
            self._outputs.append(output.detach())

    def stop(self) -> None:
        """Stop observing."""
        self._due = math.inf
        self._restore()

    def _restore(self) -> None:
        """Remove all hooks from PyTorch."""
        for undo in self._undo:
            undo()
        self._undo.clear()

    def finish(self) -> None:
        """Interpret what was observed until the step that was just made."""
        if not self._undo:
            return
        self._restore()
        outputs, distributions = list(self._outputs), list(self._distributions)
        self._outputs.clear()
        self._distributions.clear()
        found = self._interpreted(outputs, distributions)
        if found is not None:  # a random action, for instance, is chosen without the policy
            self._found = self._row, found

    def _interpreted(self, outputs: list[Any], distributions: list[Any]) -> PolicyOutput | None:
        row, count = self._row, self._num_envs
        single = [item for item in outputs if item.numel() == count]
        value = float(single[-1].detach().reshape(-1)[row]) if single else math.nan
        for made in reversed(distributions):
            if made.batch_shape[:1] != (count,):
                continue
            if hasattr(made, "loc"):
                mean, deviation = _numbers(made.loc[row]), _numbers(made.scale.expand(made.batch_shape)[row])
                entropy = float(made.entropy()[row].detach().sum())
                return PolicyOutput(value, entropy, (), (), mean.tolist(), deviation.tolist())
            if made.logits.shape[-1] == self._num_actions:
                chances = np.exp(_numbers(made.logits[row]))
                order = np.argsort(-chances, kind="stable")
                entropy = float(-(chances * np.log(np.maximum(chances, 1e-30))).sum())
                return PolicyOutput(value, entropy, order.tolist(), chances[order].tolist())
        choices = [item for item in outputs if self._num_actions > 1 and item.shape[1:] == (self._num_actions,)]
        if not choices:
            return None
        numbers = _numbers(choices[-1][row])
        order = np.argsort(-numbers, kind="stable")
        chances = np.where(np.arange(len(order)) == 0, 1.0, 0.0)
        return PolicyOutput(
            float(numbers.max()), math.nan, order.tolist(), chances.tolist(), values=numbers[order].tolist()
        )


def _numbers(tensor: Any) -> Array:
    """Return a tensor as numbers of this process's memory."""
    found: Array = np.asarray(tensor.detach().float().cpu().reshape(-1).tolist())
    return found
