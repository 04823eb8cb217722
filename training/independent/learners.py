"""The learners of all agents, as the actor uses them: in its own process, or each in one of its own."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import astuple

import numpy as np
import torch
from torch import Tensor

from ...backends.system.arrays import NamedArrays
from ...envs.fields import Array
from ..replay.replay import Replay
from ..replay.settings import ReplaySettings
from ..trainer import Context, Envs, ProcessFailed, TrainerProcesses
from .agent import AgentCounts, AgentLearner, AgentMetrics, due, mailbox_sizes
from .mailbox import Board, Mailbox, board_specs, specs_of
from .settings import IndependentSettings

POLL = 0.05  # s between two checks while the actor waits for a learner
PATIENCE = 30.0  # s without a gradient step after which the actor no longer waits for a learner
START_PATIENCE = 300.0  # s, the same before its first one: PyTorch is loaded, and kernels may be compiled
FAILURES, FAILURE_PERIOD = 3, 60.0
"""So many failures of one learner within this time, in s, end the training."""


class Learners:
    """Learns for all agents in the actor's thread, one after the other: the reference for `LearnerProcesses`.

    Args:
        context: What the session gives.
    """

    def __init__(self, context: Context, settings: IndependentSettings, agents: Sequence[AgentLearner]) -> None:
        self.agents = agents
        self._context, self._settings = context, settings
        self._news = [False] * len(agents)

    def start(self, envs: Envs) -> None:
        """Get ready to learn from environments whose ring follows by `open`."""

    def open(self, envs: Envs, notes: NamedArrays, settings: ReplaySettings) -> None:
        """Learn from the ring of `envs` from now on, and from earlier ones until it is full."""
        for seat, agent in enumerate(self.agents):
            agent.open(Replay(self._context.task, envs.buffer, settings, 0, memory=notes, seat=seat))

    def learn(self, decisions: Array, envs: Envs) -> None:  # noqa: ARG002
        """Let the learners take the gradient steps that are due, where `decisions` are those of each agent so far.

        Raises:
            Stopped, Interrupted, ProcessFailed: As `Envs.advance`.
        """
        for number, agent in enumerate(self.agents):
            made = int(decisions[number])
            if agent.due(made) > 0:
                agent.catch_up(made)
                agent.publication(made)
                self._news[number] = True

    def sync(self, agent: int, weights: Mapping[str, Tensor]) -> float | None:
        """Copy an agent's newest published weights; return its epsilon, or None if there are no newer ones."""
        if not self._news[agent]:
            return None
        self._news[agent] = False
        for name, value in self.agents[agent].weights().items():
            weights[name].copy_(value)
        return self.agents[agent].published.epsilon

    def collect(self) -> None:
        """Bring `agents` up to what was published last."""

    def lag(self, _agent: int) -> tuple[int, int]:
        """Return by how many gradient steps and versions the weights that act are behind what was learned."""
        return 0, 0

    def replace(self, error: ProcessFailed) -> None:
        """Replace a learner that has failed, or raise the error."""
        raise error

    def close(self) -> None:
        for agent in self.agents:
            agent.learner.source.release()


class LearnerProcesses(Learners):
    """Learns in a process per agent. They read the ring where the environments write it.

    `agents` do not learn themselves: they get what the processes have published.
    """

    def __init__(self, context: Context, settings: IndependentSettings, agents: Sequence[AgentLearner]) -> None:
        super().__init__(context, settings, agents)
        self._arrays = NamedArrays.create(board_specs(len(agents)), "learners")
        self._board = Board(self._arrays)
        sizes = specs_of(mailbox_sizes(agents[0].tensors()))
        self._letters = [NamedArrays.create(sizes, "mailbox") for _ in agents]
        self._mailboxes = [Mailbox(arrays, agents[0].tensors()) for arrays in self._letters]
        self._taken = [(0, 0)] * len(agents)
        self._processes: TrainerProcesses | None = None
        self._failed_at: list[list[float]] = [[] for _ in agents]
        self._silent: set[int] = set()
        self._starting: dict[int, int] = {}

    def start(self, envs: Envs) -> None:
        """Publish the weights to begin with, and start the processes unless they run."""
        if self._processes is not None:
            return
        arguments = []
        for number, agent in enumerate(self.agents):
            counts, metrics = np.array(agent.counts), np.array(astuple(agent.published))
            self._mailboxes[number].publish(agent.tensors(), counts, metrics)
            self._board.updates[number] = agent.counts.updates
            letters = self._letters[number].segment
            assert letters is not None
            assert self._arrays.segment is not None
            arguments.append({
                "agent": number,
                "settings": self._settings.model_dump(mode="json"),
                "device": self._device(number),
                "seed": self._context.seed,
                "board": str(self._arrays.segment.path),
                "mailbox": str(letters.path),
            })  # fmt: skip
        self._processes = self._context.start_processes(
            "pac.training.independent.process:learn",
            arguments,
            envs,
            names=[f"agent {number + 1}" for number in range(len(self.agents))],
            devices=[str(each["device"]) for each in arguments],
        )

    def _device(self, agent: int) -> str:
        """Return where an agent learns: with several GPUs, each has some of the agents."""
        kind = torch.device(self._context.device).type
        return f"cuda:{agent % torch.cuda.device_count()}" if kind == "cuda" else kind

    def open(self, envs: Envs, notes: NamedArrays, settings: ReplaySettings) -> None:
        """Tell the processes where the ring of `envs` is."""
        assert envs.segment is not None
        assert notes.segment is not None
        place = {
            "ring": str(envs.segment.path),
            "notes": str(notes.segment.path),
            "num_envs": envs.environments,
            "slots": envs.order.slots,
            "capacity": settings.capacity,
            "spare": settings.spare,
            "counts": [agent.counts[2:4] for agent in self.agents],
        }
        self._board.set_place(place)

    def learn(self, decisions: Array, envs: Envs) -> None:
        """Tell the processes what was decided, and wait for those that are too far behind."""
        self._board.decisions[:] = decisions
        self._board.call.ring()
        for number, agent in enumerate(self.agents):
            if number in self._starting:
                self._welcome(number)
                continue
            wanted = due(agent.counts, self._settings, int(decisions[number])) - self._settings.max_behind
            if self._board.updates[number] < wanted:
                self._wait_for(number, wanted, envs)

    def _welcome(self, number: int) -> None:
        """Count the decisions of a replacement from where it began; until it has published, do not wait for it."""
        if self._mailboxes[number].version > self._starting[number]:
            self._collect(number)
            del self._starting[number]

    def _wait_for(self, agent: int, wanted: int, envs: Envs) -> None:
        """Wait until an agent has taken so many gradient steps, as long as it takes any."""
        answer, seen = self._board.answers[agent], int(self._board.updates[agent])
        since = time.monotonic()
        while True:
            heard = answer.listen()
            updates = int(self._board.updates[agent])
            if updates > seen:
                seen, since = updates, time.monotonic()
                self._silent.discard(agent)
            if updates >= wanted or agent in self._silent:
                return
            begun = time.monotonic()
            envs.hold()
            since += max(0.0, time.monotonic() - begun - POLL)  # the time of a pause does not count
            patience = PATIENCE if self._mailboxes[agent].version > 1 else START_PATIENCE
            if time.monotonic() - since > patience:
                self._silent.add(agent)
                self._context.notify(
                    f"agent {agent + 1} has taken no gradient step for {patience:.0f} s: the others go on without it"
                )
            answer.wait(heard, POLL)

    def sync(self, agent: int, weights: Mapping[str, Tensor]) -> float | None:
        """Copy an agent's newest published weights, if there are newer ones."""
        mailbox = self._mailboxes[agent]
        if mailbox.version == self._taken[agent][0]:
            return None
        version, counts, metrics = mailbox.read(weights)
        self._taken[agent] = version, AgentCounts(*counts.tolist()).updates
        return AgentMetrics(*metrics.tolist()).epsilon

    def collect(self) -> None:
        """Bring `agents` up to what was published last."""
        for number in range(len(self.agents)):
            self._collect(number)

    def _collect(self, number: int) -> None:
        agent = self.agents[number]
        _, counts, metrics = self._mailboxes[number].read(agent.tensors())
        agent.load(AgentCounts(*counts.tolist()), AgentMetrics(*metrics.tolist()))

    def lag(self, agent: int) -> tuple[int, int]:
        """Return by how many gradient steps and versions the weights that act are behind what was learned."""
        version, updates = self._taken[agent]
        return int(self._board.updates[agent]) - updates, self._mailboxes[agent].version - version

    def replace(self, error: ProcessFailed) -> None:
        """Replace a learner that has failed by one that continues from what was published last.

        Meanwhile the other agents go on. The replacement does not take the gradient steps that were due meanwhile.

        Raises:
            ProcessFailed: It has failed too often.
        """
        assert self._processes is not None
        now, number = time.monotonic(), error.index
        self._failed_at[number] = [at for at in self._failed_at[number] if at > now - FAILURE_PERIOD] + [now]
        if len(self._failed_at[number]) >= FAILURES:
            raise error
        _, counts, _ = self._mailboxes[number].read({})
        updates = AgentCounts(*counts.tolist()).updates
        lost = int(self._board.updates[number]) - updates
        self._board.updates[number] = updates
        self._starting[number] = self._mailboxes[number].version
        self._processes.restart(number)
        self._context.notify(
            f"agent {number + 1} has a new learner, which continues after gradient step {updates:,}; {lost:,} were lost"
        )

    def close(self) -> None:
        """Stop the processes, and collect what they published last."""
        if self._processes is not None:
            self._processes.close()
        self.collect()
        for arrays in (self._arrays, *self._letters):
            arrays.unlink()
