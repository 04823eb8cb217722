"""The trainer of independent learners: it acts for all agents, and lets each learn from its own decisions."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...backends.system.arrays import NamedArrays
from ...envs.fields import DECIDES, Array
from ...envs.unknown import UNKNOWN, is_unknown
from ..dqn.networks import check_choices, epsilon_greedy, q_output, shows_quantiles
from ..nets.weights import POLICY, copied, load_weights
from ..replay.replay import Replay
from ..replay.ring_trainer import RingTrainer
from ..telemetry.metric_names import metric_name
from ..trainer import Context, Envs, Metrics, PolicyOutput, ProcessFailed
from .agent import AgentCounts, AgentLearner, learn_again
from .learners import LearnerProcesses, Learners
from .settings import IndependentSettings

RECENT = 100
"""Episodes of an agent whose mean return is shown."""
SPARE = 32
"""Slots of the ring that are overwritten next, which learners in other processes do not draw from."""


class Independent(RingTrainer):
    """One agent per seat, each with its own network, replay and learner.

    Attributes:
        decisions: `(agents,)` decisions of each agent so far.
    """

    _settings: IndependentSettings

    def __init__(self, context: Context) -> None:
        check_choices(context.task, "independent")
        settings = IndependentSettings.read("independent", context.settings)
        super().__init__(context, settings, "independent")
        self._players, self._shows_quantiles = context.task.players, shows_quantiles(settings.own)
        self._shared, self._spare = settings.processes, SPARE if settings.processes else 0
        torch.set_num_threads(1)
        device = torch.device("cpu") if settings.processes else self._device
        self._agents = [
            AgentLearner(context.task, settings, device, context.seed, number) for number in range(self._players)
        ]
        self._policies = [deepcopy(agent.learner.online).to(self._device).eval() for agent in self._agents]
        self._epsilons = [agent.published.epsilon for agent in self._agents]
        self._learners: Learners | None = None
        self._returns = [deque[float](maxlen=RECENT) for _ in range(self._players)]
        self.decisions = np.zeros(self._players, np.int64)
        self._notes: NamedArrays | None = None
        self._q: list[Tensor] = []
        self._quantiles: list[Tensor | None] = []

    # -- environments -------------------------------------------------------------------------------------------------

    def _capacity(self, rows: int) -> int:  # noqa: ARG002
        return self._settings.replay_size * self._players

    def attach(self, envs: Envs) -> None:
        """Act in environments from now on, and start the learners, which run on while there are others."""
        super().attach(envs)
        if self._learners is None:
            kind = LearnerProcesses if self._settings.processes else Learners
            self._learners = kind(self._context, self._settings, self._agents)
        self._learners.start(envs)

    def _new_replay(self, envs: Envs) -> Replay:
        task, slots, rows = self._context.task, envs.order.slots, envs.environments * self._players
        self._notes = self._ring.new_memory(task, slots, rows, shared=self._settings.processes)
        return Replay(task, envs.buffer, replace(self._ring, priorities=None), 0, memory=self._notes)

    def _learn_from_replay(self, head: int) -> None:
        assert self._envs is not None
        assert self._learners is not None
        assert self._notes is not None
        self._learners.open(self._envs, self._notes, self._ring)
        self._restore_priorities(head)

    def _count_from_here(self) -> None:
        for agent, decisions in zip(self._agents, self.decisions.tolist(), strict=True):
            agent.restart(learn_again(agent.counts, self._settings, decisions), agent.published.epsilon)

    def _restore_priorities(self, head: int) -> None:
        """Continue with the saved priorities. Learners in processes begin with equal ones."""
        for number, agent in enumerate(self._agents):
            saved = {
                name.partition(".")[2]: value
                for name, value in self._saved_replay.items()
                if name.startswith(f"agent{number}.")
            }
            if saved and agent.learner.source.replays:
                agent.learner.source.replays[-1].load_priorities(saved, head)

    # -- acting -------------------------------------------------------------------------------------------------------

    def iterate(self) -> Metrics:
        """Collect about 512 decisions of all agents together; the learners learn from them meanwhile."""
        assert self._envs is not None
        assert self._noise is not None
        assert self._learners is not None
        timer, replay = self._context.timer, self._open_replay()
        timer.lap("python")
        noise = self._noise.uniform(self.steps, self._iteration)
        waited = timer.seconds["learner"]
        began = timer.last
        for step in range(self._iteration):
            slot = self._envs.order.newest
            if step == 0 or self.steps % self._settings.sync_interval == 0:  # a checkpoint has no older weights
                self._sync()
            self._act(slot, noise[step])
            timer.lap("inference")
            active = self._envs.buffer["active"][slot].reshape(-1, self._players) == DECIDES
            self._advance(slot)
            replay.add()
            self.steps += 1
            self.decisions += active.sum(0)
            self._count_returns()
            timer.lap("python")
            self._learn()
            timer.lap("learner")
        self._mark()
        share = (timer.seconds["learner"] - waited) / max(timer.last - began, 1e-9)
        return self._metrics(replay, share)

    def _count_returns(self) -> None:
        """Keep the returns of the agents whose episodes have ended in the last step."""
        assert self._envs is not None
        buffer, newest = self._envs.buffer, self._envs.order.newest
        rows = np.flatnonzero(buffer["terminated"][newest] | buffer["truncated"][newest])
        for row in rows:
            self._returns[row % self._players].append(float(buffer["episode_return"][newest, row]))

    def _advance(self, slot: int) -> None:
        """Step the environments; replace learners that have failed."""
        assert self._envs is not None
        assert self._learners is not None
        while True:
            try:
                return self._envs.advance(slot)
            except ProcessFailed as error:
                self._learners.replace(error)

    def _learn(self) -> None:
        """Let the learners learn; replace those that have failed."""
        assert self._envs is not None
        assert self._learners is not None
        while True:
            try:
                return self._learners.learn(self.decisions, self._envs)
            except ProcessFailed as error:
                self._learners.replace(error)

    @torch.no_grad()
    def _sync(self) -> None:
        """Take the weights and the epsilon that learners have published since the last time."""
        assert self._learners is not None
        for number, policy in enumerate(self._policies):
            weights = {POLICY + name: value for name, value in policy.state_dict().items()}
            epsilon = self._learners.sync(number, weights)
            if epsilon is not None:
                self._epsilons[number] = epsilon

    @torch.inference_mode()
    def _act(self, slot: int, noise: Tensor) -> None:
        """Write the actions of all agents into a slot."""
        assert self._envs is not None
        assert self._replay is not None
        buffer, players = self._envs.buffer, self._players
        observation = _by_seat(torch.from_numpy(self._replay.newest()), players)
        masks = _by_seat(torch.from_numpy(buffer["action_mask"][slot]), players) if self._context.task.masked else None
        numbers = _by_seat(noise, players)
        actions = _by_seat(torch.from_numpy(buffer["action"][slot]), players)
        values, quantiles = [], []
        for seat, policy in enumerate(self._policies):
            mask = None if masks is None else masks[:, seat].to(self._device)
            found, spread = policy.values(policy.features(observation[:, seat].to(self._device)), mask)
            actions[:, seat] = epsilon_greedy(found, policy, mask, numbers[:, seat], self._epsilon(seat)).cpu()
            values.append(found)
            quantiles.append(spread)
        self._q, self._quantiles = values, quantiles

    def _epsilon(self, agent: int) -> float:
        """Return the probability of a random action."""
        return self._epsilons[agent]

    # -- metrics and states -------------------------------------------------------------------------------------------

    def _metrics(self, replay: Replay, waited: float) -> Metrics:
        """Return the curves; those of each agent have the names of its learner."""
        assert self._learners is not None
        metrics: Metrics = {"decisions": float(self.decisions.sum()), "waiting_for_learners": waited}
        self._learners.collect()
        for number, agent in enumerate(self._agents):
            lag, versions = self._learners.lag(number)
            returns = self._returns[number]
            mean = sum(returns) / len(returns) if returns else UNKNOWN
            own = {
                "agent_return": mean,
                **agent.metrics(),
                "policy_lag": float(lag),
                "policy_lag_versions": float(versions),
            }
            metrics |= {metric_name(number, name): value for name, value in own.items() if not is_unknown(value)}
        metrics["replay_filled"] = replay.filled
        return metrics

    def inspect(self, row: int) -> PolicyOutput | None:
        """Return an agent's output at its last decision: the best actions, and how probable they are."""
        env, seat = divmod(row, self._players)
        if not self._q or env >= len(self._q[seat]):
            return None
        quantiles = self._quantiles[seat] if self._shows_quantiles else None
        return q_output(self._q[seat][env], self._epsilon(seat), None if quantiles is None else quantiles[env])

    def _mark(self) -> None:
        """Keep what a checkpoint contains. Learners in processes publish it, so that it is read when it is needed."""
        assert self._replay is not None
        self._end = {
            "agents": None if self._settings.processes else self._agent_states(),
            "data": {
                "decisions": self.decisions.tolist(),
                "steps": self.steps,
                "returns": [list(returns) for returns in self._returns],
            },
            "replay": self._replay.mark()._replace(priorities=self._priorities()),
        }

    def _priorities(self) -> dict[str, Array]:
        """Return the priorities of agents that learn in this process, if they are saved."""
        if not self._settings.save_replay:
            return {}
        return {
            f"agent{number}.{name}": array
            for number, agent in enumerate(self._agents)
            for replay in agent.learner.source.replays[-1:]
            for name, array in replay.mark().priorities.items()
        }

    def _agent_states(self) -> tuple[dict[str, Tensor], list[dict[str, int]], list[float]]:
        """Return copies of all agents' tensors, and their counts and epsilons."""
        tensors = {
            f"agent{number}.{name}": copied(value)
            for number, agent in enumerate(self._agents)
            for name, value in agent.tensors().items()
        }
        counts = [agent.counts._asdict() for agent in self._agents]
        return tensors, counts, [agent.published.epsilon for agent in self._agents]

    def state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return each agent's weights, target network, Adam's moments and counts, and the replay if it is saved.

        Raises:
            NonFiniteWeights: A weight is NaN or infinite.
        """
        if not self._end:  # no iteration has begun
            self._open_replay()
        if self._learners is not None:
            self._learners.collect()
        for agent in self._agents:
            agent.check_finite()
        tensors, counts, epsilons = self._end["agents"] or self._agent_states()
        return {**tensors, **self._replay_tensors()}, {**self._end["data"], "agents": counts, "epsilons": epsilons}

    def load_state(self, tensors: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        """Continue from what `state` returned; without a saved replay, collect `learning_starts` decisions first.

        Raises:
            WrongCheckpoint: It is of other networks.
        """
        saved = {name: torch.as_tensor(tensor) for name, tensor in tensors.items()}
        self.decisions[:], self.steps = data["decisions"], int(data["steps"])
        for returns, saved_returns in zip(self._returns, data.get("returns", ()), strict=False):
            returns.extend(saved_returns)
        for number, (agent, numbers) in enumerate(zip(self._agents, data["agents"], strict=True)):
            own = {name: value for name, value in saved.items() if name.startswith(f"agent{number}.")}
            agent.load_tensors({name.partition(".")[2]: value for name, value in own.items()})
            counts = AgentCounts(**{name: int(value) for name, value in numbers.items()})
            agent.restart(counts, float(data["epsilons"][number]))
            load_weights(self._policies[number], own, f"agent{number}.{POLICY}")
            self._epsilons[number] = agent.published.epsilon
        self._load_replay(saved)
        if self._saved_replay and self._settings.processes:
            self._context.notify("learners in processes continue from a checkpoint, but not bit for bit")

    def detach(self) -> None:
        """Release the replay, which the learners also sample until that of other environments is full."""
        self._q, self._quantiles = [], []
        if self._notes is not None:
            self._notes.unlink()
            self._notes = None
        super().detach()

    def close(self) -> None:
        """Stop the learners and release the replay."""
        if self._learners is not None:
            self._learners.close()
            self._learners = None
        self.detach()


def _by_seat(array: Tensor, players: int) -> Tensor:
    """Return `(rows, ...)` as `(environments, seats, ...)`, without a copy."""
    return array.view(-1, players, *array.shape[1:])
