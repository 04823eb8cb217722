"""A parallel environment of PettingZoo, watched as a batch with one row per agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...envs.fields import Array
from .boards import MODES
from .env_watch import EnvWatch


def stacked(parts: Sequence[Any]) -> Any:
    """Return the observations of all agents as one batch; of arrays of different shapes, the numbers, padded with 0."""
    first = parts[0]
    if isinstance(first, Mapping):
        return {name: stacked([part[name] for part in parts]) for name in first}
    if isinstance(first, tuple):
        return tuple(stacked(items) for items in zip(*parts, strict=True))
    arrays = [np.asarray(part) for part in parts]
    if any(array.shape != arrays[0].shape for array in arrays):
        batch = np.zeros((len(arrays), max(array.size for array in arrays)), np.result_type(*arrays))
        for row, array in zip(batch, arrays, strict=True):
            row[: array.size] = array.reshape(-1)
        return batch
    return np.stack(arrays)


class ParallelWatch(EnvWatch):
    """Follows a parallel environment; an agent is shown as an environment.

    An episode ends for all agents when the last one has ended. An agent that has ended earlier keeps its last
    observation.
    """

    def __init__(self, name: str | None = None, *, label: str = "", unchanged: bool = False) -> None:
        super().__init__(name, label=label, unchanged=unchanged)
        self._agents: tuple[Any, ...] = ()
        self._seen: dict[Any, Any] = {}
        self._over = False
        self._ends: dict[Any, tuple[bool, bool]] = {}

    def begin(self, env: Any, observations: Any, infos: Any, mask: Any = None) -> None:
        """Note that an episode of all agents began."""
        self._agents = self._agents or tuple(getattr(env, "possible_agents", None) or env.agents)
        self._seen.update(observations)
        self._ends.clear()
        if self.script is not None and self._over:
            return
        super().begin(env, self._batch(), self._infos(infos), mask)

    def describe(self, env: Any, observations: Any, infos: Any) -> Mapping[str, Any]:  # noqa: ARG002
        """Return its name, its action space and how it is drawn."""
        base, metadata = type(env.unwrapped).__name__, getattr(env, "metadata", {})
        drawn = getattr(env, "render_mode", None) in MODES
        return {
            "kind": base,
            "num_envs": len(self._agents),
            "task": str(metadata.get("name", base)),
            "actions": env.action_space(self._agents[0]),
            "render": (lambda _index: env.render()) if drawn else None,
            "autoreset": "by hand",
        }

    def before(self, actions: Mapping[Any, Any]) -> None:
        """Pass the gate."""
        assert self.step_log is not None
        first = next(iter(actions.values()), 0)
        rows = [np.asarray(actions.get(agent, np.zeros_like(first))) for agent in self._agents]
        alike = all(row.shape == rows[0].shape for row in rows)
        self.step_log.before(np.stack(rows) if alike else np.zeros((len(rows), *rows[0].shape), rows[0].dtype))

    def after(self, result: tuple[Mapping[Any, Any], ...]) -> None:
        """Note a step of all agents."""
        observations, rewards, terminated, truncated, infos = result
        self._seen.update(observations)
        for agent in terminated:
            if terminated[agent] or truncated[agent]:
                self._ends[agent] = bool(terminated[agent]), bool(truncated[agent])
        self._over = len(self._ends) >= len(self._agents) or not observations
        ends: Array = np.zeros((2, len(self._agents)), np.bool_)
        if self._over:
            ends[:] = np.array([self._ends.get(agent, (True, False)) for agent in self._agents]).T
        gained = np.array([float(rewards.get(agent, 0.0)) for agent in self._agents])
        assert self.step_log is not None
        self.step_log.after((self._batch(), gained, *ends, self._infos(infos)))

    def _batch(self) -> Any:
        return stacked([self._seen[agent] for agent in self._agents])

    def _infos(self, infos: Mapping[Any, Any]) -> list[Mapping[str, Any]]:
        return [infos.get(agent) or {} for agent in self._agents]
