"""Our games of several players as parallel environments of PettingZoo."""

from __future__ import annotations

from typing import Any

import gymnasium
from pettingzoo import ParallelEnv

from ..errors import BadParameter
from ..fields import OUT, WAITS, Array
from ..task import Task
from .single import OneEnvironment, action_space, observation_space, task_of


class TaskParallelEnv(ParallelEnv):  # type: ignore[misc]
    """One environment of a task in which all seats decide at once; seat k is called `agent_k`, from 0.

    An eliminated seat leaves. An illegal action is replaced by the next legal one; `info["action"]` is what was taken.

    Args:
        render_mode: `ansi` or None.
        **parameters: The task's parameters.

    Raises:
        BadParameter: Seats of the task act in turn.
    """

    metadata = {"render_modes": ["ansi"], "name": "pac"}  # noqa: RUF012

    def __init__(self, task: Task | str, render_mode: str | None = None, **parameters: Any) -> None:
        self.task = task_of(task, parameters)
        self.render_mode = render_mode
        self.possible_agents = [f"agent_{seat}" for seat in range(self.task.players)]
        self.agents: list[str] = []
        self._rows = {agent: row for row, agent in enumerate(self.possible_agents)}
        self._observations, self._actions = observation_space(self.task.observation), action_space(self.task)
        self._environment = OneEnvironment(self.task)
        self._environment.begin(0)
        if (self._environment.buffers["active"][0] == WAITS).any():
            raise BadParameter(f"seats of {self.task.name} act in turn; use gymnasium.make_vec")

    def observation_space(self, agent: str) -> gymnasium.Space[Any]:  # noqa: ARG002 - all are the same
        return self._observations

    def action_space(self, agent: str) -> gymnasium.Space[Any]:  # noqa: ARG002 - all are the same
        return self._actions

    def reset(
        self,
        seed: int | None = None,
        options: dict[str, Any] | None = None,  # noqa: ARG002 - there are none
    ) -> tuple[dict[str, Array], dict[str, dict[str, Any]]]:
        """Begin the next episode, or with `seed` the first episode of that seed."""
        self._environment.begin(seed)
        self.agents = list(self.possible_agents)
        return self._observed(), self._infos()

    def step(self, actions: dict[str, Any]) -> tuple[dict[str, Any], ...]:
        """Take an action for each agent; those that leave get their last results."""
        one, rows = self._environment, {agent: self._rows[agent] for agent in self.agents}
        taken = one.step({row: actions[agent] for agent, row in rows.items()})
        over = any(one.ends(0))
        out = {agent: not over and one.buffers["active"][0, row] == OUT for agent, row in rows.items()}
        terminations = {agent: bool(out[agent] or one.ends(row)[0]) for agent, row in rows.items()}
        truncations = {agent: one.ends(row)[1] for agent, row in rows.items()}
        rewards = {agent: one.reward(row) for agent, row in rows.items()}
        infos = {agent: {**info, "action": taken[rows[agent]]} for agent, info in self._infos().items()}
        observations = self._observed()
        self.agents = [agent for agent in self.agents if not terminations[agent] and not truncations[agent]]
        return observations, rewards, terminations, truncations, infos

    def render(self) -> str | None:
        """Return the board as text in mode `ansi`."""
        return self._environment.drawn() if self.render_mode == "ansi" else None

    def close(self) -> None:
        """Release the environment."""
        self._environment.close()

    def _observed(self) -> dict[str, Array]:
        return {agent: self._environment.observation(self._rows[agent]) for agent in self.agents}

    def _infos(self) -> dict[str, dict[str, Any]]:
        return {agent: self._environment.info(self._rows[agent]) for agent in self.agents}


def parallel_env(task: Task | str = "treasure", render_mode: str | None = None, **parameters: Any) -> TaskParallelEnv:
    """Return a task as a parallel environment of PettingZoo, see `TaskParallelEnv`."""
    return TaskParallelEnv(task, render_mode, **parameters)
