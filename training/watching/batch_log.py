"""Notes the steps of a vector environment, which steps all its environments together."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from ...backends.core.layout import nan_rows
from ...envs.fields import Array
from .arrays import on_device
from .infos import Infos
from .observations import host_array, row_of
from .step_log import (
    TERMINATED,
    TRUNCATED,
    LoggedSteps,
    StepLog,
    has_nan,
    infos_at,
    rows_with_nan,
)

if TYPE_CHECKING:
    from .intercept import Noter

REAL, FLAG = np.dtype(np.float64), np.dtype(np.bool_)
NOTHING = np.zeros(0)
COLUMNS = ("action", "reward", "terminated", "truncated", "observation")
join = b"".join


class BatchLog(StepLog):
    """Notes steps as the bytes of all batches.

    Args:
        num_envs: Number of environments N.
        action: How actions are kept that are not arrays of numbers; None if they are not kept.
        small: Whether observations are copied whole, see `small_kind`.
    """

    def __init__(self, num_envs: int, action: np.dtype[Any] | None, *, small: bool) -> None:
        super().__init__(num_envs, keeps=action is not None)
        self.info_reader = type(self.info_reader)(num_envs)
        self._action = action
        self._small = small
        self._kinds: tuple[np.dtype[Any], ...] = ()
        self._layout = np.dtype([])
        self._steps: list[bytes | tuple[Any, ...]] = []
        self._ends: dict[int, Array] = {}  # the numbers of infos, of steps that ended an episode
        self._newest: Infos | None = None  # the infos of the newest step, if they have numbers
        self._nan_on_device: Any = None
        self._actions: Any = None
        self._observations: Any = None
        self._last: Any = None
        self._over: Any = None

    def observation(self, env: int) -> Any:
        return row_of(self._observations, env, self.num_envs)

    def last_observation(self, env: int) -> Any:
        over = self._over
        return self._last[env] if self._last is not None and over is not None and bool(over[env]) else None

    def last_action(self, env: int) -> Any:
        return None if self.keeps else row_of(self._actions, env, self.num_envs)

    def next_actions(self) -> Any:
        return self._actions

    def wait_for(self, actions: Any) -> None:
        """Wait until the next step, with these actions, may be; only needed while `attention[0]` is not 0."""
        if not self.ended:
            self._actions = actions
            self.runs = False
            self.wait()

    def noter(self, otherwise: Noter) -> Noter:
        """Return what notes a step as `note` does, if there is nothing to it; `otherwise` notes the others."""
        steps, append, log = self._steps, self._steps.append, self
        if not self._small or not self.keeps or self.flatten is not None:
            return otherwise

        def noted(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any, entered: float) -> None:
            now = perf_counter()
            if log.runs and now < log.due and len(steps) < log.capacity - 1 and name == "step" and not kwargs:
                try:
                    (_, actions), (observations, rewards, terminated, truncated, infos) = args, result
                    kinds = actions.dtype, rewards.dtype, terminated.dtype, truncated.dtype, observations.dtype
                    if not infos and kinds == log._kinds:
                        step = join((actions, rewards, terminated, truncated, observations))
                        if len(step) == log._layout.itemsize:
                            log.left = now
                            log.inside += now - entered
                            if log.watched:
                                log._actions, log._observations, log._last = actions, observations, None
                                log._newest = None
                            append(step)
                            return
                except (AttributeError, BufferError, TypeError, ValueError):
                    pass
            otherwise(name, args, kwargs, result, entered)

        return noted

    def note(  # noqa: PLR0917 - in Gymnasium's order
        self,
        actions: Any,
        entered: float,
        observations: Any,
        rewards: Any,
        terminated: Any,
        truncated: Any,
        infos: Infos,
        last: Any = None,
    ) -> None:
        """Copy the result of a step, whose batches the owner may overwrite afterwards.

        Args:
            actions: What the environments were given.
            entered: When the step began.
            observations: What they observe, a batch.
            rewards: `(N,)`.
            terminated: `(N,)`.
            truncated: `(N,)`.
            infos: A dict of batches, or a list of dicts.
            last: By environment, the last observations of episodes that ended in this step, if it also reset them.
        """
        if self.ended:
            return
        self.left = now = perf_counter()
        self.inside += now - entered
        self._newest = None
        if infos and self._knows(infos):
            self._newest = infos if self.watched else None
            if np.logical_or(host_array(terminated), host_array(truncated)).any():
                self._ends[len(self._steps)] = self.info_reader.read(infos)
        self._keep(actions, observations, last)
        if last is not None:
            self._look_at_last(last, terminated, truncated)
        given = NOTHING
        if self.keeps:
            given = actions if self.flatten is None else self.flatten(actions)
        if not self._small:
            self._look(observations)
            observations = NOTHING
        try:
            kinds = (given.dtype, rewards.dtype, terminated.dtype, truncated.dtype, observations.dtype)
            if kinds == self._kinds:
                batches: Any = given, rewards, terminated, truncated, observations
                step: Any = join(batches)
            else:
                step = self._alike(given, rewards, terminated, truncated, observations)
        except (AttributeError, BufferError, TypeError, ValueError):  # a list, or an array that is not in one piece
            step = self._alike(given, rewards, terminated, truncated, observations)
        steps = self._steps
        steps.append(step)
        if now >= self.due or len(steps) >= self.capacity:
            self.process(now)

    def _keep(self, actions: Any, observations: Any, last: Any, *, watched: bool = True) -> None:
        """Keep the batches of the newest step, if somebody looks."""
        if self.watched and watched:
            self._actions, self._observations, self._last = actions, observations, last
        else:
            self._actions = self._observations = self._last = None

    def forget(self) -> None:
        self._keep(None, None, None, watched=False)
        self._newest = None

    def _alike(self, *batches: Any) -> bytes | tuple[Any, ...]:
        """Return a step as bytes, with the types of the first step; of tensors on a GPU, as copies of them."""
        if any(on_device(batch) for batch in batches):
            return tuple(batch.clone() if on_device(batch) else np.array(batch) for batch in batches)
        arrays = [host_array(batch) for batch in batches]
        if not self._kinds:
            action, reward, _, _, observation = (array.dtype for array in arrays)
            action = self._action if self._action is not None and action.hasobject else action
            self._kinds = (action, reward if reward.kind == "f" else REAL, FLAG, FLAG, observation)
            sizes = (array.size for array in arrays)
            self._layout = np.dtype(list(zip(COLUMNS, self._kinds, sizes, strict=True)))
        return join(np.asarray(array, kind).tobytes() for array, kind in zip(arrays, self._kinds, strict=True))

    def _look(self, observations: Any) -> None:
        """Note which observations contain NaN."""
        if on_device(observations) and observations.is_floating_point():
            found = observations.isnan().reshape(self.num_envs, -1).any(1)
            self._nan_on_device = found if self._nan_on_device is None else self._nan_on_device | found
        else:
            self._unknown.update(rows_with_nan(observations, self.num_envs))

    def _look_at_last(self, last: Any, terminated: Any, truncated: Any) -> None:
        """Note which episodes ended, and which of their last observations contain NaN."""
        self._over = np.logical_or(host_array(terminated), host_array(truncated))
        for env in np.flatnonzero(self._over).tolist():
            if has_nan(last[env]):
                self._unknown.add(env)

    def take(self) -> LoggedSteps | None:
        count, envs = len(self._steps), self.num_envs
        if not count:
            return None
        noted: Any = [
            step if isinstance(step, bytes) else self._alike(*(host_array(batch) for batch in step))
            for step in self._steps
        ]
        steps = np.frombuffer(join(noted), self._layout)
        actions, observations = (steps[name].reshape(count, envs, -1) for name in ("action", "observation"))
        if self._newest is not None:
            self._ends[count - 1] = self.info_reader.read(self._newest)
        infos = infos_at(self._ends, len(self.info_reader.names), count, envs)
        ends = np.where(steps["terminated"], TERMINATED, TRUNCATED * steps["truncated"]).astype(np.uint8)
        unknown = self._taken_unknown(*self._nan_rows_of_device(), *nan_rows(observations).tolist())
        rewards = steps["reward"].reshape(count, envs, -1)
        several = rewards.shape[2] > 1
        self._steps.clear()
        self._ends.clear()
        self._newest = None
        return LoggedSteps(
            actions,
            rewards.sum(axis=2) if several else rewards[..., 0],
            ends,
            None,
            infos,
            unknown,
            rewards if several else None,
            observations=observations if observations.shape[2] else None,
        )

    def _nan_rows_of_device(self) -> list[int]:
        """Return the environments whose observations on a GPU contained NaN."""
        found, self._nan_on_device = self._nan_on_device, None
        return [] if found is None else np.flatnonzero(host_array(found)).tolist()

    def begin(self, observations: Any, _mask: Any = None) -> None:
        """Note what a reset of all environments, or of those of a mask, returned."""
        self._observations = observations if self.watched else None
