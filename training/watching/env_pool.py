"""The vector environments of EnvPool with Gymnasium's interface, stepped all at once or some at a time."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import wraps
from types import ModuleType
from typing import Any

import numpy as np

from . import groups
from .facts import kind_of
from .followed import CannotWatch, Followed, action_of, report
from .hidden import hidden
from .intercept import follow_object
from .libraries import NEXT, AnyArgs, AnyKwargs, VectorEnv, host_array, layers_of, vector_id
from .naming import callers

IDS_AT = {"reset": 1, "step": 2, "send": 2}
"""The place of the argument that names environments."""


def _ids_of(name: str, args: AnyArgs, kwargs: AnyKwargs) -> Any:
    """Return the environments that a call names; None for all."""
    place, action = IDS_AT[name], None if name == "reset" else action_of(args, kwargs)
    named = kwargs.get("env_id", args[place] if len(args) > place else None)
    return action.get("env_id") if named is None and isinstance(action, Mapping) else named


class EnvPool(VectorEnv):
    """A vector environment of EnvPool, as long as all environments are reset and stepped at once."""

    begins: tuple[str, ...] = ("reset", "async_reset")
    others = ("recv", "send")
    waits = frozenset({"step", "send"})

    def after(self, name: str, args: AnyArgs, kwargs: AnyKwargs, result: Any, entered: float) -> None:
        """Note a call; the first one that is for some of the environments decides how they are followed."""
        try:
            some = name == "async_reset" or (name in IDS_AT and self._some(args[0], name, args, kwargs))
            if some:
                self._follow_parts(args[0])
        except Exception as error:
            self.fail(error)
        else:
            (self.noted if some else super().after)(name, args, kwargs, result, entered)

    def _some(self, env: Any, name: str, args: AnyArgs, kwargs: AnyKwargs) -> bool:
        if env.config["batch_size"] not in {0, _count(env)}:
            return True
        ids = _ids_of(name, args, kwargs)
        return ids is not None and list(ids) != list(range(_count(env)))

    def _follow_parts(self, env: Any) -> None:
        """Follow the environments one by one."""
        if self.log is not None:
            raise CannotWatch("the script steps only some of its environments, after it has stepped all at once")
        self.__class__ = EnvPoolParts  # type: ignore[assignment]
        self.noted = self.after
        observations, self._first = self._first[0], (None, None)
        parts: Any = self
        parts.prepare(env, observations)

    def note(self, name: str, args: AnyArgs, kwargs: AnyKwargs, result: Any, entered: float) -> None:
        super().note({"send": "step_async", "recv": "step_wait"}.get(name, name), args, kwargs, result, entered)

    def actions(self, env: Any) -> Any:
        return env.action_space

    def resets(self, env: Any) -> str:  # noqa: ARG002
        return NEXT


class EnvPoolParts(Followed):
    """A vector environment of EnvPool whose environments are reset and stepped some at a time.

    What it returns names the environments. One whose episode has ended is reset in place of its next step.
    """

    batch = True
    begins: tuple[str, ...] = EnvPool.begins
    others = EnvPool.others
    _sent: dict[int, tuple[Any, float]]
    _running: dict[int, Any]

    def prepare(self, env: Any, observations: Any) -> None:
        """Begin to follow them, after a reset of all environments or none."""
        from .observations import row_of

        self._sent = {}  # by environment, its newest action and when the step began
        running = () if observations is None else range(_count(env))
        self._running = {row: row_of(observations, row, _count(env)) for row in running}
        """By environment whose episode goes on, what it observed first, until there is a log."""

    def kind(self, env: Any) -> str:
        """Return its class and the id of its environments."""
        return f"{kind_of(env)} {vector_id(env)}"

    def first(self, args: AnyArgs, kwargs: AnyKwargs, result: Any) -> tuple[Any, Any]:  # noqa: ARG002
        return result[0], result[1]

    def after(self, name: str, args: AnyArgs, kwargs: AnyKwargs, result: Any, entered: float) -> None:
        """Note a call. What a reset of all environments returns comes later."""
        super().after("reset" if name == "async_reset" else name, args, kwargs, result, entered)

    def _reset(self, args: AnyArgs, kwargs: AnyKwargs, result: Any) -> None:
        if result is None:
            self._running.clear()
        super()._reset(args, kwargs, result or ((), {"env_id": ()}))
        if result and self.log is None:
            observations, infos = result
            self.begin(observations, infos, args, kwargs)

    def begin(self, observations: Any, infos: Any, args: AnyArgs, kwargs: AnyKwargs) -> None:  # noqa: ARG002
        for index, row in enumerate(_rows(infos)):
            self._begin_row(row, observations, index, len(infos["env_id"]))

    def _begin_row(self, row: int, observations: Any, index: int, count: int) -> None:
        from .observations import row_of

        observation = row_of(observations, index, count)
        self._running[row] = observation if self.log is None else None
        if self.log is not None:
            self.log.begin(row, observation)  # type: ignore[attr-defined]

    def wait_before(self, name: str, args: AnyArgs, kwargs: AnyKwargs) -> None:
        if name in EnvPool.waits:
            for row, action in self._actions(name, args, kwargs):
                self.log.wait_for(row, action)  # type: ignore[union-attr]

    def _actions(self, name: str, args: AnyArgs, kwargs: AnyKwargs) -> list[tuple[int, Any]]:
        """Return the environments that a call steps, with their actions."""
        actions, ids = action_of(args, kwargs), _ids_of(name, args, kwargs)
        if isinstance(actions, Mapping):
            actions = actions.get("action")
        rows = range(len(actions)) if ids is None else [int(row) for row in ids]
        return list(zip(rows, actions, strict=True))

    def note(self, name: str, args: AnyArgs, kwargs: AnyKwargs, result: Any, entered: float) -> None:
        """Note what was sent, or the steps and resets that have come."""
        if name in EnvPool.waits:
            self._sent.update((row, (action, entered)) for row, action in self._actions(name, args, kwargs))
        if name not in {"step", "recv"}:
            return
        from .observations import row_of

        log: Any = self.log or self._open(args[0], result)
        observations, rewards, terminated, truncated, infos = result
        rows = _rows(infos)
        if len(rows) != len(rewards):
            raise CannotWatch("its environments have several players each")
        for index, row in enumerate(rows):
            if row not in self._running or row not in self._sent:
                self._begin_row(row, observations, index, len(rows))
                continue
            action, entered = self._sent.pop(row)
            end = 1 if terminated[index] else 2 if truncated[index] else 0
            over, info = (terminated[index], truncated[index]), _info_of(infos, index, len(rows))
            log.note(row, action, entered, row_of(observations, index, len(rows)), rewards[index], *over, info, end)
            if end:
                del self._running[row]

    def join_session(self, env: Any, result: Any) -> Any:
        """Open the session. Environments that other threads step while one looks cannot be drawn."""
        from .observations import row_of
        from .row_log import RowLog
        from .script import ShownEnvs
        from .step_log import small_kind

        assert self.group is not None
        observation = row_of(result[0], 0, len(host_array(result[1])))
        small = small_kind(observation)
        shown = ShownEnvs(
            kind=kind_of(env),
            task=vector_id(env),
            actions=env.action_space,
            render=None,
            observation=observation,
            make_log=lambda num_envs, action: RowLog(num_envs, action, small),
            layers=layers_of(env),
        )
        log: Any = groups.open_session(self.group, shown, _count(env)).step_log
        for row, first in self._running.items():
            log.begin(row, first)
        self._running = dict.fromkeys(self._running)
        self.group.session.find_numbers((_info_of(result[4], 0, len(result[1])),))  # type: ignore[union-attr]
        return log


def _count(env: Any) -> int:
    return len(env.all_env_ids)


def _rows(infos: Any) -> list[int]:
    return [int(row) for row in infos["env_id"]]


def _info_of(infos: Any, index: int, count: int) -> dict[str, Any]:
    """Return what is known of one of the environments that were returned, except which one it is."""
    arrays = {key: part for key, part in infos.items() if key != "env_id" and np.ndim(part) and len(part) == count}
    return {key: part[index] for key, part in arrays.items()}


def follow_pools(registration: ModuleType) -> None:
    """Follow what EnvPool makes. Its compiled classes have their own `__new__`."""
    registry = registration.EnvRegistry
    original = registry.make

    @hidden
    def make(*args: Any, **kwargs: Any) -> Any:
        env = original(*args, **kwargs)
        if isinstance(env, sys.modules["gymnasium"].Env):  # others have the interface of DeepMind
            try:
                follow_object(env, EnvPool(env, callers(sys._getframe(1))))  # noqa: SLF001 - the only way
            except Exception as error:
                report(type(env).__name__, error)
        return env

    registry.make = wraps(original)(make)
