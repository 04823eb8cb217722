"""Steps parallel environments of PettingZoo; each possible agent has a row."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..fields import DECIDES, OUT, Buffers
from ..slots import next_slot
from ..spaces.infos import number_at
from ..task import Task
from ..unknown import UNKNOWN
from .action_reader import action_reader
from .adapted import TERMINATED, TRUNCATED, AdaptedEnvironments
from .spaces import writer_of
from .task import flat_mask


class ParallelEnvironments(AdaptedEnvironments):
    """Environments `lo..hi` whose agents act at once. An episode ends when its last agent has left.

    Agents that have left, or have not yet joined, are `OUT`.
    """

    def __init__(self, task: Task, lo: int, hi: int, buffers: Buffers, seed: int) -> None:
        super().__init__(task, lo, hi, buffers, seed)
        env = self._envs[0]
        self._agents = list(env.possible_agents)
        self._actions_of = action_reader(env.action_space(self._agents[0]))
        self._writer = writer_of(task.name, env.observation_space(self._agents[0]))
        self._returns = np.zeros(len(self._masks), np.float32)
        self._lengths = np.zeros(hi - lo, np.int32)

    def step(self, slot: int) -> None:
        """Read the actions of `slot`, write all other fields into the next slot, and reset ended environments."""
        target, part = next_slot(slot, len(self._part["action"])), self._part
        self._find_late_infos()
        actions = self._actions_of(part["action"][slot])
        for name in ("terminated", "truncated", "outcome", "reward"):
            part[name][target] = 0
        part["frames"][target] = 1
        self._lengths += 1
        over = []
        for index, advance in self._steps:
            seats = self._seats(index)
            self._blank(index, seats, target)
            chosen = {agent: actions[row] for row, agent in seats}
            try:
                self._store(seats, advance(chosen), target)
            except Exception as error:
                self._fail(error, index, tuple(chosen.values()))
            part["heartbeat"][0, index] += 1
            if self._envs[index].agents:
                # Only an episode can be truncated, not an agent that leaves earlier.
                part["truncated"][target, self._rows(index)] = 0
            else:
                over.append(index)
            self._show_seats(index, target)
        part["episode_return"][target], part["episode_length"][target] = self._returns, self._lengths
        for index in over:
            self._end(index, target)
        self._finish(target)

    def _seats(self, index: int) -> list[tuple[int, Any]]:
        """Return the rows and names of the living agents of an environment."""
        first, alive = index * len(self._agents), self._envs[index].agents
        return [(first + seat, agent) for seat, agent in enumerate(self._agents) if agent in alive]

    def _blank(self, index: int, seats: list[tuple[int, Any]], slot: int) -> None:
        """Write the rows of absent agents: zeros as observation, every action as legal, unknown infos."""
        if len(seats) < len(self._agents):
            present = {row for row, _ in seats}
            absent = [row for row in range(*self._rows(index).indices(len(self._masks))) if row not in present]
            self._part["observation"][slot, absent] = 0
            self._masks[absent] = True
            for _, field in self._infos:
                self._part[field][slot, absent] = UNKNOWN

    def _store(self, seats: list[tuple[int, Any]], results: tuple[dict[Any, Any], ...], target: int) -> None:
        observations, rewards, terminations, truncations, infos = results
        part = self._part
        for row, agent in seats:
            self._writer.write(observations[agent], part["observation"][target, row, ...])
            part["reward"][target, row] = rewards[agent]
            part["truncated"][target, row] = truncations[agent] and not terminations[agent]
            self._returns[row] += part["reward"][target, row]
            info = infos.get(agent, {})
            self._show_mask(row, info)
            if not self._late.keys.issuperset(info):
                self._late.look(info)
            for name, field in self._infos:
                part[field][target, row] = number_at(info, name)

    def _show_mask(self, row: int, info: Any) -> None:
        if self._task.masked:
            self._masks[row] = flat_mask(info["action_mask"], self._task.num_actions) if "action_mask" in info else True

    def _show_seats(self, index: int, slot: int) -> None:
        rows, part = self._rows(index), self._part
        part["active"][slot, rows] = OUT
        part["active"][slot, [row for row, _ in self._seats(index)]] = DECIDES

    def _rows(self, index: int) -> slice:
        return slice(index * len(self._agents), (index + 1) * len(self._agents))

    def _end(self, index: int, target: int) -> None:
        part, rows = self._part, self._rows(index)
        part["final_observation"][target, rows] = part["observation"][target, rows]
        cut = part["truncated"][target, rows]
        part["terminated"][target, rows] = cut == 0
        part["outcome"][target, index] = TRUNCATED if cut.any() else TERMINATED
        self._draw_last(index, target)
        self._begin(index, target)

    def _begin(self, index: int, slot: int) -> None:
        env, rows = self._envs[index], self._rows(index)
        self._returns[rows], self._lengths[index] = 0, 0
        try:
            observations, infos = env.reset(seed=self._next_seed(index))
            self._blank(index, self._seats(index), slot)
            for row, agent in self._seats(index):
                self._writer.write(observations[agent], self._part["observation"][slot, row, ...])
                self._show_mask(row, infos.get(agent, {}))
                self._show_info(row, slot, infos.get(agent, {}))
        except Exception as error:
            self._fail(error, index, None)
        self._show_seats(index, slot)
