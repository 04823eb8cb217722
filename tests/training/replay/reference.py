"""A slow replay that stores every transition with both observations, as an oracle for the ring."""

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from pac.envs.fields import DECIDES, OUT, PLAYED, WAITS


@dataclass
class Decision:
    """A decision that waits for its successors."""

    position: int
    stack: tuple[bytes, ...]
    action: int
    rewards: list[tuple[float, int]] = field(default_factory=list)  # (reward, number of decisions before)
    decisions: int = 0


class ReferenceReplay:
    """All transitions by (position, row): (stack, action, return, discount, following stack or None)."""

    def __init__(self, rows: int, *, steps: int, stack: int, gamma: float) -> None:
        self.transitions: dict[tuple[int, int], tuple[object, ...]] = {}
        self.position = -1
        self._steps, self._stack, self._gamma = steps, stack, gamma
        self._frames: list[deque[bytes]] = [deque(maxlen=stack) for _ in range(rows)]
        self._open: list[list[Decision]] = [[] for _ in range(rows)]
        self._active = np.zeros(rows, np.uint8)
        self._action = np.zeros(rows, np.int64)
        self._newest: list[list[Decision]] = [[] for _ in range(rows)]  # those whose successor is the present position

    def begin(self, observation: np.ndarray, active: np.ndarray) -> None:
        """Take the first observations."""
        self.position += 1
        for row, frame in enumerate(observation):
            self._frames[row].clear()
            self._frames[row].append(frame.tobytes())
        self._active = active.copy()

    def play(self, row: int) -> None:
        """A person takes the place of the policy: its part of the episode ends with the present observation."""
        self._active[row] = PLAYED
        self._close(row, self.stack(row))

    def lose(self, rows: range) -> None:
        """The worker of these rows has failed: none of their present decisions is carried out."""
        for row in rows:
            self._active[row] = WAITS
            for decision in self._newest[row]:
                del self.transitions[decision.position, row]
                self._open[row].append(decision)
            self._newest[row] = []

    def step(self, action: np.ndarray, written: dict[str, np.ndarray], *, began: np.ndarray) -> None:
        """Take the results of a step; arrays have one entry per row."""
        active, observation = written["active"], written["observation"]
        for row in range(len(action)):
            waiting = self._open[row]
            if self._active[row] == DECIDES:
                for decision in waiting:
                    decision.decisions += 1
                waiting.append(Decision(self.position, self.stack(row), int(action[row])))
            for decision in waiting:
                decision.rewards.append((float(written["reward"][row]), decision.decisions))
        self.position += 1
        for row in range(len(action)):
            frames = self._frames[row]
            if written["terminated"][row]:
                self._close(row, None)
            elif written["truncated"][row]:
                frames.append(written["final_observation"][row].tobytes())
                self._close(row, self.stack(row))
            elif active[row] == OUT:
                self._close(row, None)
            if began[row]:
                frames.clear()
            frames.append(observation[row].tobytes())
            self._newest[row] = []
            if active[row] == DECIDES:
                for decision in [one for one in self._open[row] if one.decisions + 1 == self._steps]:
                    self._finish(row, decision, self.stack(row), decision.decisions + 1)
                    self._open[row].remove(decision)
                    self._newest[row].append(decision)
        self._active = active.copy()

    def stack(self, row: int) -> tuple[bytes, ...]:
        """Return the newest frames of a row, the first repeated."""
        frames = list(self._frames[row])
        return tuple([frames[0]] * (self._stack - len(frames)) + frames)

    def _close(self, row: int, following: tuple[bytes, ...] | None) -> None:
        for decision in self._open[row]:
            self._finish(row, decision, following, decision.decisions + 1)
        self._open[row] = []

    def _finish(self, row: int, decision: Decision, following: tuple[bytes, ...] | None, decisions: int) -> None:
        total = sum(reward * self._gamma**before for reward, before in decision.rewards)
        discount = self._gamma**decisions if following is not None else 0.0
        self.transitions[decision.position, row] = (decision.stack, decision.action, total, discount, following)


class ReferencePriorities:
    """The priorities of all places at which a transition may begin, in a dictionary."""

    def __init__(self, *, alpha: float, epsilon: float) -> None:
        self.priorities: dict[tuple[int, int], float] = {}
        self.highest = 1.0
        self._alpha, self._epsilon = alpha, epsilon
        self._last = -1

    def follow(self, first: int, last: int, decisions: dict[int, list[int]]) -> None:
        """Move the window; `decisions` are the rows that decide at each position."""
        self.priorities = {place: value for place, value in self.priorities.items() if place[0] >= first}
        for position in range(max(first, self._last + 1), last + 1):
            self.priorities |= {(position, row): self.highest for row in decisions[position]}
        self._last = last

    def learn(self, place: tuple[int, int], error: float) -> None:
        """Set a priority from an error."""
        priority = (error + self._epsilon) ** self._alpha
        self.highest = max(self.highest, priority)
        if place in self.priorities:
            self.priorities[place] = priority
