"""The rules once more, slow and obvious: pictures are arrays of pixels, shapes are formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pac.envs import Task, episode_seed
from tests.envs.gridworld.twin import Generator

WAYS = [(-1, 0), (0, 1), (1, 0), (0, -1), (0, 0)]
CENTERS = [(19.5, 19.5), (19.5, 59.5), (51.5, 39.5)]
HIGHEST, WIDEST = 72, 80
MOST = 3 * HIGHEST * WIDEST
F = np.float32


def glow(shape: int, center: tuple[float, float]) -> NDArray[np.uint8]:
    """A picture with one shape."""
    rows, columns = np.indices((HIGHEST, WIDEST))
    down, right = abs(rows - center[0]), abs(columns - center[1])
    far = [np.maximum(down, right), down + right, np.hypot(down, right)][shape]
    picture: NDArray[np.uint8] = np.sum([far < radius for radius in (20, 12, 4)], axis=0, dtype=np.uint8)
    return picture


class Pictures:
    """An episode of a task."""

    def __init__(self, task: Task, seed: int, env: int, episode: int) -> None:
        self.values = task.values
        self.random = Generator(episode_seed(seed, env, episode))
        self.steps, self.stage, self.total, self.outcome = 0, 0, F(0), 0
        self.drifters = []
        for _ in range(self.values["drifters"]):
            place = [self.random.below(HIGHEST - 4), self.random.below(WIDEST - 4)]
            self.drifters.append((place, [[-2, -1, 1, 2][self.random.below(4)] for _ in range(2)]))
        self.goals = [glow(shape, CENTERS[shape]) for shape in range(3)]
        self.results: dict[str, Any] = {}
        self.begin_stage()

    def begin_stage(self) -> None:
        """Put the next shape somewhere, three steps or more away from its goal."""
        place, goal = self.random.below(17 * 19), [(4, 4), (4, 14), (12, 9)][self.stage]
        while abs(place // 19 - goal[0]) + abs(place % 19 - goal[1]) < 3:
            place = (place + 1) % (17 * 19)
        self.place = list(divmod(place, 19))
        self.first = self.distance = self.far()

    def picture(self) -> NDArray[np.uint8]:
        """The shades of all pixels."""
        shown = [np.zeros((HIGHEST, WIDEST), np.uint8), *self.goals[: self.stage]]
        shown.append(glow(self.stage, (4 * self.place[0] + 3.5, 4 * self.place[1] + 3.5)))
        found: NDArray[np.uint8] = np.max(shown, axis=0)
        for (row, column), _ in self.drifters:
            found[row : row + 5, column : column + 5] = 3
        return found

    def goal(self) -> NDArray[np.uint8]:
        """The goal picture of the stage."""
        found: NDArray[np.uint8] = np.max(self.goals[: self.stage + 1], axis=0)
        return found

    def far(self) -> int:
        """The distance to the goal picture."""
        return int(np.abs(self.picture().astype(int) - self.goal()).sum())

    def shown(self, reached: int) -> dict[str, Any]:
        """What the boards show."""
        bars = [[F(self.distance) / F(self.first), F(self.distance) * F(1 / MOST)]]
        bars.append([F(reached) / F(self.values["shapes"]), F(reached)])
        return {"frame": self.picture(), "goal": self.goal(), "progress": bars}

    def step(self, action: int) -> dict[str, Any]:
        """Make a step; return the boards at its end, before another stage begins."""
        for axis, (by, places) in enumerate(zip(WAYS[action], (17, 19), strict=True)):
            self.place[axis] = min(max(self.place[axis] + by, 0), places - 1)
        for place, speed in self.drifters:
            for axis, room in enumerate((HIGHEST - 5, WIDEST - 5)):
                if not 0 <= place[axis] + speed[axis] <= room:
                    speed[axis] *= -1
                place[axis] += speed[axis]
        self.steps += 1
        before, self.distance = self.distance, self.far()
        reached = self.distance <= int(self.values["tau"] * MOST)
        terms = [F(-0.01), F(before - self.distance) * F(5 / MOST), F(reached)]
        reward = terms[0] + terms[1] + terms[2]
        self.total += reward
        count = self.stage + reached
        done = count == self.values["shapes"]
        late = not done and self.steps >= self.values["steps"]
        self.outcome = 1 if done else 2 if late else 0
        boards = self.shown(count)
        if late and reached:
            self.stage += 1
            boards["goal"] = self.goal()
            self.stage -= 1
        if reached and not self.outcome:
            self.stage += 1
            self.begin_stage()
        self.results = {
            "reward_terms": terms,
            "reward": reward,
            "episode_return": self.total,
            "episode_length": self.steps,
            "outcome": self.outcome,
            "terminated": done,
            "truncated": late,
            "stage": count,
            "distance": F(self.distance) * F(1 / MOST),
        }
        return boards
