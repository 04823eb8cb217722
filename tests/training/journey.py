"""Steps environments in this process and keeps every state, to compare with what going back computes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from pac.backends import make
from pac.envs import Task, find
from pac.envs.fields import DECIDES
from pac.envs.task import ASKED
from pac.training.past.history import History
from pac.training.past.recorder import EpisodeRecorder
from pac.training.telemetry.moments import fill_moment, moment_dtype, terms_width
from pac.training.telemetry.step_results import StepReader

SLOTS = 9


class Journey:
    """Environments of a task, stepped with random legal actions, rollout by rollout.

    Attributes:
        history: The history to test.
        truth: A seat of every environment after every step, `(steps + 1, num_envs)` records.
        begun: The same, but with the next episode's first state after a step that ended an episode.
        decides: Whether each row decides after every step, `(steps + 1, rows)`.
    """

    def __init__(
        self,
        task: Task | str,
        steps: int,
        *,
        num_envs: int = 3,
        first_env: int = 0,
        seed: int = 11,
        seat: int = 0,
        looked_at: bool = False,
        recorder: EpisodeRecorder | None = None,
    ):
        self.task = find(task) if isinstance(task, str) else task
        self.seed, self.num_envs, self.seat = seed, num_envs, seat
        self.backend = make(self.task, num_envs, "inline", slots=SLOTS, seed=seed, first_env=first_env)
        self.history = History(self.task, num_envs)
        self.reader = StepReader(self.task, self.backend.buffer)
        self.recorder = recorder
        self.random = np.random.default_rng(seed)
        self.sums = np.zeros((num_envs * self.task.players, terms_width(self.task)), "f4")
        self.looked_at = looked_at
        self.backend.start(0)
        self.history.begin(self.backend)
        self.truth, self.begun = [self._now(0)], [self._now(0, begun=True)]
        self.decides = [self._decides(0)]
        self.slot = 0
        for first, last in pairwise([*range(0, steps, 5), steps]):
            self._play(last - first)
        self.backend.close()

    def _play(self, count: int) -> None:
        """Take some steps; they are counted at the end of each rollout and at the end."""
        begun = self.slot
        for ahead in range(count):
            if self.slot == SLOTS - 1:
                self.backend.carry()
                begun = self.slot = 0
            self._act()
            if "looked_at" in self.backend.buffer:
                self.backend.buffer["looked_at"][:] = self.looked_at
            if "final_drawn" in self.backend.buffer and (self.looked_at or "looked_at" not in self.backend.buffer):
                self.backend.buffer["final_drawn"][:] = ASKED
            self.backend.advance(self.slot)
            self.slot += 1
            self._sum()
            self.history.keep_boards(self.backend.buffer, self.slot - begun, np.ones(self.num_envs, np.bool_))
            self.truth.append(self._now(self.slot))
            self.decides.append(self._decides(self.slot))
            self.begun.append(self._now(self.slot, begun=True))
            eager = bool(self.recorder)
            if self.slot == SLOTS - 1 or ahead == count - 1 or eager:
                values = self.random.random((self.slot - begun, self.num_envs * self.task.players)).astype("f4")
                (span,) = self.backend.buffer.order.since(self.backend.buffer.order.head - (self.slot - begun))
                recorded = self.recorder.envs if self.recorder is not None else ()
                states = self.history.expect(span.steps) and self.backend.save(self.slot)
                self.reader.request(span, recorded=recorded, values=values, states=states)
                (results,) = self.reader.delivered()
                self.history.extend(results, self.sums)
                if self.recorder is not None:
                    self.recorder.extend(self.backend, results, self.history)
                    self.recorder.choose(results, self.history)
                begun = self.slot

    def _act(self) -> None:
        buffer, rows = self.backend.buffer, self.num_envs * self.task.players
        legal = np.ones((rows, self.task.num_actions), np.bool_)
        if self.task.masked:
            bits = np.unpackbits(buffer["action_mask"][self.slot], axis=1, bitorder="little")
            legal = bits[:, : self.task.num_actions].astype(np.bool_)
        buffer["action"][self.slot] = np.where(legal, self.random.random(legal.shape), -1).argmax(axis=1)

    def _decides(self, slot: int) -> np.ndarray:
        decides: np.ndarray = self.backend.buffer["active"][slot] == DECIDES
        return decides

    def _sum(self) -> None:
        """Add up the reward terms of each episode."""
        buffer = self.backend.buffer
        before = (buffer["terminated"][self.slot - 1] | buffer["truncated"][self.slot - 1]) > 0
        if self.slot > 1 or len(self.truth) > 1:
            self.sums[before] = 0
        if self.task.reward_terms:
            self.sums += buffer["reward_terms"][self.slot]

    def _now(self, slot: int, *, begun: bool = False) -> np.ndarray:
        moments, seat = np.zeros(self.num_envs, moment_dtype(self.task)), self.seat
        for env in range(self.num_envs):
            record = moments[env : env + 1].reshape(())
            fill_moment(record, self.task, self.backend.buffer, slot, env, seat=seat, begun=begun)
            if not record["begun"]:
                record["terms"] = self.sums[env * self.task.players + seat, : len(self.task.reward_terms)]
        return moments
