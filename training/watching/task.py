"""Describes the environments of a watched script as a task, by their spaces."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import reduce
from itertools import chain
from operator import getitem
from typing import Any, NoReturn

import numpy as np

from ...envs import Outcome, Task
from ...envs.fields import Array
from ...envs.spaces.actions import ActionPart, action_parts, component_names, kind_of
from ...envs.spaces.names import names_of
from ..past.rerun import RerunImpossible
from .boards import WatchedBoards
from .observations import Ranges, host_array, numbers_of

MOST_CHOICES, MOST_NUMBERS = 4096, 256
"""The most choices of an action that are counted, and the most numbers of an action that are kept."""
UNKNOWN = {"num_actions": 0, "action_names": ("N/A",)}


def describe_script(
    name: str,
    actions: WatchedActions,
    boards: WatchedBoards,
    *,
    begins_at_once: bool = False,
    reward_parts: int = 0,
) -> Task:
    """Return the task of a script's environments, as far as their spaces define it.

    Args:
        name: What the environments are called.
        actions: Their actions.
        boards: What is drawn of them.
        begins_at_once: Whether the step that ends an episode resets the environment.
        reward_parts: The number of rewards that each step returns, which are its terms then; 0 if that is one number.
    """
    note = f"a step returns {reward_parts} rewards: reward and return are their sum" if reward_parts else ""
    return Task(
        spec=name,
        name=name,
        title=name.rpartition(":")[2].rpartition("/")[2],
        factory=f"{__name__}:refuse",
        **actions.facts,
        **boards.facts,
        reward_terms=tuple(f"reward {index}" for index in range(reward_parts)),
        outcomes=tuple(Outcome(name, "neutral") for name in ("terminated", "truncated", "reset")),
        note=note,
        begins_at_once=begins_at_once,
        watched=True,
    )


def refuse(*_: object) -> NoReturn:
    """Make no environments: they are the script's."""
    raise RerunImpossible("only the script could play it again")


class WatchedActions:
    """The actions of a script: as a task describes them, and how to read them from what the script passes to `step`.

    Choices and continuous numbers beside each other are shown as numbers, and so are choices among very many. Nothing
    here raises for actions that are not in the space.

    Args:
        space: The space of one environment's actions, of any library; None if it is unknown.
        action: One environment's first action, by which numbers are recognized if there is no space.

    Attributes:
        facts: The fields of a task that describe them.
        reads: Whether they are known; actions that are neither choices nor numbers are not.
        text: Whether they are text.
        flatten: Makes an array `(N, numbers)` of a batch of actions with several parts; None if actions are arrays.
    """

    def __init__(self, space: Any, action: Any = None) -> None:
        self._kind, self._parts = kind_of(space), list[ActionPart]()
        self.text = self._kind == "Text" or isinstance(action, str)
        with suppress(Exception):  # of a space that has neither choices nor numbers
            if self._kind:
                self._parts = action_parts("", space)
            elif (numbers := numbers_of(action)) is not None:
                self._parts = [ActionPart((), bounds=((-np.inf, np.inf),) * numbers.size)]
        self._first = int(getattr(space, "start", 0)) if self._kind == "Discrete" else 0
        self._width = min(MOST_NUMBERS, sum(part.width for part in self._parts))
        self.reads = bool(self._width)
        self.facts: Mapping[str, Any] = self._described() if self.reads else UNKNOWN
        several = self.reads and self._kind in {"Dict", "Tuple"}
        self.flatten: Callable[[Any], Array] | None = self._flat if several else None

    def names(self, env_id: str, layers: Sequence[Any], observation: Any) -> Ranges:
        """Name the actions, as far as that is certain; return the named ranges of observations that are vectors.

        Args:
            env_id: The id of the environments.
            layers: The wrappers of one environment, and the environment within them.
            observation: What it observes.
        """
        if not layers or not self.reads or "choices" in self.facts or self.facts.get("component_names"):
            return {}
        continuous, shape = "bounds" in self.facts, observation.shape if isinstance(observation, np.ndarray) else ()
        names = names_of(env_id, layers, self.facts["num_actions"], shape, continuous=continuous)
        if names.actions:
            self.facts = {**self.facts, "component_names" if continuous else "action_names": names.actions}
        return names.slices

    def _described(self) -> Mapping[str, Any]:
        names = {"component_names": component_names(self._parts)[: self._width]}
        choices = tuple(chain.from_iterable(part.choices for part in self._parts))
        many = sum(choices) > MOST_CHOICES or len(choices) > MOST_NUMBERS
        if many or any(part.bounds for part in self._parts):
            pairs = (part.bounds or tuple((0.0, count - 1.0) for count in part.choices) for part in self._parts)
            bounds = tuple(chain.from_iterable(pairs))[: self._width]
            return {"num_actions": len(bounds), "bounds": bounds, **names}
        if self._kind != "Discrete":
            return {"num_actions": sum(choices), "choices": choices, **names}
        numbers = range(self._first, self._first + choices[0]) if self._first else ()
        return {"num_actions": choices[0], "action_names": tuple(map(str, numbers))}

    def _flat(self, actions: Any) -> Array:
        if isinstance(actions, list) or (isinstance(actions, tuple) and self._kind == "Dict"):  # one by environment
            return np.concatenate([self._flat_batch(action, single=True) for action in actions])
        return self._flat_batch(actions)

    def _flat_batch(self, actions: Any, *, single: bool = False) -> Array:
        columns = [host_array(reduce(getitem, part.path, actions)) for part in self._parts]
        rows = [np.reshape(column, (1 if single else len(column), -1)) for column in columns]
        return np.concatenate(rows, axis=1)

    def read(self, actions: Array) -> Array:
        """Return actions `(steps, N, numbers)` in the form of the buffer; unknown ones are NaN, or -1 for choices."""
        counted = "bounds" not in self.facts
        one = counted and self._kind == "Discrete"
        if actions.shape[-1] < self._width:
            found = np.full((*actions.shape[:-1], self._width), -1 if counted else np.nan)
        else:
            with np.errstate(all="ignore"):
                found = actions[..., : self._width].astype(np.int64 if counted else np.float32)
            if one:
                found -= self._first
                found[(found < 0) | (found >= self.facts["num_actions"])] = -1
        return found[..., 0] if one else found
