"""Watches a single Gymnasium environment as a batch of one."""

from __future__ import annotations

from collections.abc import Mapping
from math import nan
from time import perf_counter
from typing import Any

import numpy as np

from ...backends.core.layout import nan_rows
from ...envs.fields import Array
from .env_watch import EnvWatch
from .observations import each_part
from .rendering import render_of_several
from .step_log import LoggedSteps, Result, StepLog, join


def batch_of(value: Any) -> Any:
    """Return one observation or action of any space as a batch of one."""
    return each_part(value, lambda part: np.asarray(part)[None])


class SingleStepLog(StepLog):
    """Records the steps of one environment as they are, and makes batches of them when they are processed.

    Attributes:
        over: Whether the newest step ended its episode.
        observations: The newest observation, as a batch of one.
    """

    __slots__ = ("_current", "_plain", "over")

    def __init__(self, num_envs: int, action: np.dtype[Any] | None = None, observations: Any = None) -> None:
        super().__init__(num_envs, action, observations)
        self.over = False
        self._plain = self._small and action is not None and action.kind in "iu"
        """Whether a step can be noted as it is: choices are no arrays, and observations are small arrays."""

    @property
    def observations(self) -> Any:  # type: ignore[override]
        """The newest observation, as a batch of one."""
        return batch_of(self._current)

    @observations.setter
    def observations(self, batch: Any) -> None:
        self._current = _only(batch)

    def show(self, observation: Any) -> None:
        """Record what a reset returned."""
        self._current = observation

    def wait_for(self, actions: Any) -> None:
        """Wait until the next step, with one action, may be; only needed while `attention[0]` is not 0."""
        super().wait_for(actions if self.flatten is None else batch_of(actions))

    def note(self, actions: Any, entered: float, result: Result, _last: Any = None) -> None:
        """Record a step of one environment, which takes one action and returns no batches."""
        if self.ended:
            return
        self.left = now = perf_counter()
        self.inside += now - entered
        observation, reward, terminated, truncated, info = result
        self._current = observation
        self.over = terminated or truncated
        if info or self._newest is not None:
            self._note_infos((info,) if info else (), terminated, truncated)
        steps = self._steps
        if self._plain and not isinstance(actions, np.ndarray):
            steps.append((actions, observation.tobytes(), reward, terminated, truncated))
        else:
            steps.append((self._copied(actions), self._seen(observation), reward, terminated, truncated))
        if now >= self.due or len(steps) >= self.capacity:
            self.actions = actions if self.flatten is None else batch_of(actions)
            self.process(now)

    def _copied(self, action: Any) -> Any:
        """Return a copy of an action as numbers; nothing if actions are not kept."""
        if self._action is None:
            return ()
        if self.flatten is not None:
            return self.flatten(batch_of(action))[0]
        return action.tolist() if isinstance(action, np.ndarray) else action

    def _seen(self, observation: Any) -> bytes:
        """Return a small observation as bytes; check a large one for NaN immediately."""
        if self._small:
            return np.asarray(observation).tobytes()
        self._look(batch_of(observation))
        return b""

    def take(self) -> LoggedSteps | None:
        """Return the steps that were noted, and forget them; None if there are none."""
        steps = self._steps
        if not steps:
            return None
        actions, seen, rewards, terminated, truncated = zip(*steps, strict=True)
        count = len(steps)
        if self._small:
            numbers: Array = np.frombuffer(join(seen), np.asarray(self._current).dtype).reshape(count, 1, -1)
            self._unknown.update(nan_rows(numbers).tolist())
        infos = self._numbers_of_infos(count)
        unknown = sorted(self._unknown)
        self._unknown.clear()
        steps.clear()
        return LoggedSteps(
            np.array(actions).reshape(count, 1, -1),
            _column(rewards, np.float64),
            _column(terminated, np.bool_),
            _column(truncated, np.bool_),
            infos,
            unknown,
        )


def _column(values: Any, kind: Any) -> Array:
    """Return one number per step as `(steps, 1)`. Some environments return arrays of one number, or None."""
    try:
        return np.array(values, kind).reshape(len(values), 1)
    except (TypeError, ValueError):
        numbers = [nan if value is None else np.asarray(value, kind).reshape(-1)[0] for value in values]
        return np.array(numbers, kind).reshape(len(values), 1)


def _only(batch: Any) -> Any:
    """Return the only item of a batch of one."""
    return each_part(batch, lambda part: None if part is None else part[0])


class SingleWatch(EnvWatch):
    """Follows a single environment."""

    def begin(self, env: Any, observations: Any, infos: Any, mask: Any = None) -> None:  # noqa: ARG002 - of a batch
        """Record that an episode began. After the end of another one, its first step records this, too."""
        log = self.step_log
        if isinstance(log, SingleStepLog):
            log.show(observations)
            if log.over:
                return
        super().begin(env, batch_of(observations), (infos,))

    def describe(self, env: Any, observations: Any, infos: Any) -> Mapping[str, Any]:  # noqa: ARG002
        """Return its name, its action space and how it is drawn."""
        base = type(env.unwrapped).__name__
        return {
            "kind": base,
            "num_envs": 1,
            "task": env.spec.id if env.spec is not None else base,
            "actions": env.action_space,
            "render": render_of_several([env], borrow=self._unchanged),
            "autoreset": "by hand",
            "make_step_log": SingleStepLog,
        }
