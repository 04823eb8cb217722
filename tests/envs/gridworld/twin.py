"""The rules once more, slow and obvious: a grid is a dictionary of cells; agents are objects with a place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pac.envs import Task, episode_seed

Cell = tuple[int, int]
WAYS = {0: (-1, 0), 1: (0, 1), 2: (1, 0), 3: (0, -1), 4: (0, 0)}
KINDS = {"treasure": ["gem", "food", "bone"], "staghunt": ["stag", "hare"]}
WORD = 1 << 64


class Generator:
    """SplitMix64."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def below(self, bound: int) -> int:
        """A number from 0 to `bound - 1`, from the upper 31 bits of a draw."""
        return (self.draw() >> 33) * bound >> 31

    def draw(self) -> int:
        """64 bits."""
        self.state = (self.state + 0x9E3779B97F4A7C15) % WORD
        word = self.state
        word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 % WORD
        word = (word ^ (word >> 27)) * 0x94D049BB133111EB % WORD
        return word ^ (word >> 31)


@dataclass
class Agent:
    """An agent, what it earned in all and in this turn, and how often by term."""

    cell: Cell
    total: np.float32 = field(default_factory=lambda: np.float32(0))
    gains: list[float] = field(default_factory=lambda: [0, 0, 0])
    counts: list[int] = field(default_factory=lambda: [0, 0, 0])


class Meadow:
    """An episode of a task without bots."""

    def __init__(self, task: Task, seed: int, env: int, episode: int) -> None:
        self.name, self.values = task.name, dict(task.values)
        self.size, self.turns_left = self.values["size"], self.values["turns"]
        self.random = Generator(episode_seed(seed, env, episode))
        self.resources: dict[Cell, str] = {}
        self.agents: list[Agent] = []
        for _ in range(self.values["agents"]):
            self.agents.append(Agent(self.free_cell(0)))
        for kind in self.first_kinds():
            self.put(self.drawn_kind() if kind is None else kind)

    def first_kinds(self) -> Sequence[str | None]:
        """The resources of the beginning; None for a random kind."""
        if self.name == "treasure":
            return [None] * round(self.values["resources"] * self.size**2)
        return ["stag"] * self.values["stags"] + ["hare"] * self.values["hares"]

    def drawn_kind(self) -> str:
        """A random kind."""
        return KINDS[self.name][self.random.below(len(KINDS[self.name]))]

    @property
    def worth(self) -> list[float]:
        """The reward of each term."""
        if self.name == "treasure":
            return [10, 5, -10]
        return [self.values["stag"], self.values["hare"], -self.values["risk"]]

    def agent_on(self, cell: Cell) -> int | None:
        """The number of the agent in a cell."""
        return next((number for number, agent in enumerate(self.agents) if agent.cell == cell), None)

    def is_inside(self, cell: Cell) -> bool:
        """Whether a cell is on the grid."""
        return all(0 <= place < self.size for place in cell)

    def is_free(self, cell: Cell) -> bool:
        """Whether a cell is empty."""
        return cell not in self.resources and self.agent_on(cell) is None

    def free_cell(self, margin: int) -> Cell:
        """The first free cell from a random one on; none of the outermost `margin` rows and columns."""
        inner = range(margin, self.size - margin)
        cells = [(row, column) for row in inner for column in inner]
        row, column = self.random.below(len(inner)), self.random.below(len(inner))
        start = row * len(inner) + column
        return next(cell for cell in cells[start:] + cells[:start] if self.is_free(cell))

    def put(self, kind: str) -> None:
        """Put a resource somewhere."""
        self.resources[self.free_cell(1 if kind == "stag" else 0)] = kind

    def earn(self, agent: Agent, term: int) -> None:
        """Reward an agent."""
        agent.counts[term] += 1
        agent.gains[term] += self.worth[term]

    def step(self, actions: list[int]) -> None:
        """Play a turn."""
        for agent in self.agents:
            agent.gains = [0, 0, 0]
        order = list(range(len(self.agents)))
        for rank in reversed(range(1, len(order))):
            other = self.random.below(rank + 1)
            order[rank], order[other] = order[other], order[rank]
        attacks, caught = [], []
        for number in order:
            agent, (down, right) = self.agents[number], WAYS[actions[number]]
            cell = (agent.cell[0] + down, agent.cell[1] + right)
            if not self.is_inside(cell) or self.agent_on(cell) is not None:
                continue
            if self.resources.get(cell) == "stag":
                attacks.append((agent, cell))
                continue
            agent.cell = cell
            if cell in self.resources:
                kind = self.resources.pop(cell)
                caught.append(kind)
                self.earn(agent, KINDS[self.name].index(kind))
        if self.name == "treasure":
            self.grow()
        else:
            self.hunt(attacks, caught)
        for agent in self.agents:
            agent.total += np.float32(sum(agent.gains))
        self.turns_left -= 1

    def hunt(self, attacks: list[tuple[Agent, Cell]], caught: list[str]) -> None:
        """Decide attacks on stags, and replace what was caught."""
        for attacker, (row, column) in attacks:
            if (row, column) not in self.resources:
                continue
            sides = [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]
            hunters = [agent for agent in self.agents if agent.cell in sides]
            if len(hunters) < self.values["hunters"]:
                self.earn(attacker, 2)
                continue
            caught.append(self.resources.pop((row, column)))
            for hunter in hunters:
                self.earn(hunter, 0)
        for kind in KINDS[self.name]:
            for _ in range(caught.count(kind)):
                self.put(kind)

    def grow(self) -> None:
        """Let resources grow."""
        whole, part = divmod(round(self.values["regrowth"] * self.size**2 * 2**32), 2**32)
        for _ in range(whole + ((self.random.draw() >> 32) < part)):
            cell = self.random.below(self.size), self.random.below(self.size)
            kind = self.drawn_kind()
            if self.is_free(cell):
                self.resources[cell] = kind

    def observations(self) -> list[NDArray[np.uint8]]:
        """What each agent sees: a crop of the whole grid, without the agent itself, and the time left."""
        view, kinds = self.values["view"], KINDS[self.name]
        width = self.size + 2 * view
        whole = np.zeros((2 + len(kinds), width, width), np.uint8)
        whole[0] = 1
        whole[0, view : view + self.size, view : view + self.size] = 0
        for (row, column), kind in self.resources.items():
            whole[1 + kinds.index(kind), view + row, view + column] = 1
        for agent in self.agents:
            whole[-1, view + agent.cell[0], view + agent.cell[1]] = 1
        found = []
        for agent in self.agents:
            row, column = agent.cell
            crop = whole[:, row : row + 2 * view + 1, column : column + 2 * view + 1].copy()
            crop[-1, view, view] = 0
            times = [np.full_like(crop[0], self.turns_left >= least) for least in (2, 4, 8, 16, 32, 64)]
            found.append(np.concatenate([crop, times]))
        return found

    def grid(self) -> NDArray[np.uint8]:
        """The drawn cells."""
        codes = np.zeros((self.size, self.size), np.uint8)
        for cell, kind in self.resources.items():
            codes[cell] = 1 + KINDS[self.name].index(kind)
        for number, agent in enumerate(self.agents):
            codes[agent.cell] = 4 + number
        return codes

    def shown(self, *, begun: bool) -> dict[str, Any]:
        """What the buffers contain of this state; `begun` after a step of the same episode."""
        agents = self.agents
        found: dict[str, Any] = {
            "observation": self.observations(),
            "grid": self.grid(),
            "scores": [[agent.total, *agent.counts] for agent in agents],
        }
        return found | (self.results() if begun else {})

    def results(self) -> dict[str, Any]:
        """What the buffers contain of the last turn."""
        names = ("gems", "food", "bones") if self.name == "treasure" else ("stags", "hares", "alone")
        over = self.turns_left == 0
        return {
            "reward": [sum(agent.gains) for agent in self.agents],
            "reward_terms": [agent.gains for agent in self.agents],
            "episode_return": [agent.total for agent in self.agents],
            "episode_length": self.values["turns"] - self.turns_left,
            "terminated": [over] * len(self.agents),
            "truncated": [0] * len(self.agents),
            "outcome": self.outcome() if over else 0,
            **{name: [agent.counts[term] for agent in self.agents] for term, name in enumerate(names)},
        }

    def outcome(self) -> int:
        """How the episode ended."""
        first, second, _ = (sum(counts) for counts in zip(*(agent.counts for agent in self.agents), strict=True))
        if self.name == "treasure":
            return 1 if sum(agent.total for agent in self.agents) > 0 else 2
        return 1 if first > second else 2 if second else 3
