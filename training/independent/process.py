"""The program of a learner's process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ...backends.core.layout import Layout
from ...backends.system.arrays import NamedArrays
from ...backends.system.segment import Segment
from ..device import keep_memory
from ..replay.replay import Replay
from ..replay.ring_trainer import replay_settings
from ..trainer import ParentSession, Stopped
from .agent import AgentCounts, AgentLearner, AgentMetrics, mailbox_sizes
from .mailbox import Board, Mailbox, board_specs, specs_of
from .settings import IndependentSettings

IDLE = 0.1  # s between two checks while there is nothing to learn


def learn(session: ParentSession, arguments: Mapping[str, Any]) -> None:
    """Learn for one agent until the session ends. `arguments` are those of `LearnerProcesses.start`."""
    LearnerProcess(session, arguments).run()


class LearnerProcess:
    """Learns from the ring that the environments write, and publishes in the agent's mailbox.

    Args:
        arguments: The agent, its settings, and where board and mailbox are.
    """

    def __init__(self, session: ParentSession, arguments: Mapping[str, Any]) -> None:
        keep_memory()
        self._session, self._agent = session, int(arguments["agent"])
        self._settings = settings = IndependentSettings.read("independent", arguments["settings"])
        device, players = torch.device(arguments["device"]), session.task.players
        self._learner = AgentLearner(session.task, settings, device, arguments["seed"], self._agent, lap=session.lap)
        board = NamedArrays.attach(board_specs(players), Path(arguments["board"]), writable=True)
        self._board = Board(board)
        tensors = self._learner.tensors()
        letters = NamedArrays.attach(specs_of(mailbox_sizes(tensors)), Path(arguments["mailbox"]), writable=True)
        self._mailbox = Mailbox(letters, tensors)
        _, counts, metrics = self._mailbox.read(tensors)
        self._learner.load(AgentCounts(*counts.tolist()), AgentMetrics(*metrics.tolist()))
        self._published = self._learner.learner.updates
        self._ring = 0
        self._again = self._mailbox.version > 1  # it replaces a learner that has failed

    def run(self) -> None:
        """Learn until the session ends, and publish the last weights."""
        try:
            while True:
                self._turn()
        except Stopped:
            if self._ring and self._learner.learner.updates > self._published:
                self._publish()
            raise

    def _turn(self) -> None:
        """Take the gradient steps that are due, or wait for some."""
        board, learner = self._board, self._learner
        seen = board.call.listen()
        if board.ring != self._ring:
            self._open()
        decisions = int(board.decisions[self._agent])
        if self._ring and learner.due(decisions) > 0:
            self._session.pass_gate(learner.learner.updates)
            self._session.lap("wait")
            learner.catch_up(decisions, self._after_update)
        else:
            self._session.check()
            board.call.wait(seen, IDLE)
            self._session.lap("wait")

    def _after_update(self, due: int) -> None:
        """Publish from time to time and when nothing is due, and then let the actor know."""
        updates = self._learner.learner.updates
        if due == 0 or updates - self._published >= self._settings.publish_interval:
            self._publish()
        self._board.updates[self._agent] = updates
        self._board.answers[self._agent].ring()
        if due:
            self._session.check()

    def _publish(self) -> None:
        learner = self._learner
        learner.check_finite()
        metrics = learner.publication(int(self._board.decisions[self._agent]))
        self._mailbox.publish(learner.tensors(), np.array(learner.counts), np.array(astuple(metrics)))
        self._published = learner.learner.updates
        self._session.lap("publish")

    def _open(self) -> None:
        """Map the present ring. The one before stays mapped until the new one is full."""
        self._ring, place = self._board.place()
        task = self._session.task
        settings = replay_settings(self._settings, place["capacity"], place["spare"])
        buffer = Layout(task, place["num_envs"], place["slots"], ring=True).map(Segment.attach(Path(place["ring"])).map)
        specs = settings.specs(task, place["slots"], place["num_envs"] * task.players)
        memory = NamedArrays.attach(specs, Path(place["notes"]))
        self._learner.count_from(*place["counts"][self._agent])
        self._learner.open(Replay(task, buffer, settings, 0, memory=memory, seat=self._agent))
        if self._again:
            self._again = False
            self._learner.skip_to(int(self._board.decisions[self._agent]))
            self._publish()
