"""The trainer of independent learners: it acts for all agents, and lets each learn from its own decisions."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...backends.system.arrays import NamedArrays
from ...backends.system.segment import human_bytes
from ...envs import BadParameter
from ...envs.fields import DECIDES, Array
from ..device import keep_memory
from ..dqn.acting import epsilon_greedy, q_output, shows_quantiles
from ..dqn.learner import replay_settings
from ..nets.action_noise import ActionNoise
from ..nets.weights import POLICY, copied, load_weights
from ..replay.replay import Replay
from ..telemetry.metric_names import metric_name
from ..trainer import Context, Envs, Metrics, PolicyOutput, ProcessFailed, Trainer
from .agent import AgentLearner, Counts, learn_again
from .learners import LearnerProcesses, Learners
from .settings import IndependentSettings

DECISIONS_PER_ITERATION = 512
RANDOM_NUMBERS = 2
"""Random numbers of an action: whether to explore, and which action."""
REPLAY, NOTES = "replay.", "replay"
RECENT = 100
"""Episodes of an agent whose mean return is shown."""
SPARE = 32
"""Slots of the ring that are overwritten next, which learners in other processes do not draw from."""


class Independent(Trainer):
    """One agent per seat, each with its own network, replay and learner.

    Attributes:
        decisions: `(agents,)` decisions of each agent so far.
        steps: Steps of each environment so far.
    """

    def __init__(self, context: Context) -> None:
        self._context, self._players = context, context.task.players
        self._settings = settings = IndependentSettings.read("independent", context.settings)
        self._device = torch.device(context.device)
        self._shows_quantiles = shows_quantiles(settings.own)
        if context.task.bounds or context.task.choices:
            raise BadParameter("independent needs one choice per decision; train tasks with other actions with ppo")
        if context.ranks.size > 1:
            raise BadParameter("independent runs on one machine; train on several with ppo")
        keep_memory()
        torch.set_num_threads(1)
        device = torch.device("cpu") if settings.processes else self._device
        self._agents = [
            AgentLearner(context.task, settings, device, context.seed, number) for number in range(self._players)
        ]
        self._policies = [deepcopy(agent.learner.online).to(self._device).eval() for agent in self._agents]
        self._epsilons = [agent.figures.epsilon for agent in self._agents]
        self._learners: Learners | None = None
        self._returns = [deque[float](maxlen=RECENT) for _ in range(self._players)]
        self.decisions = np.zeros(self._players, np.int64)
        self.steps = 0
        self._envs: Envs | None = None
        self._replay: Replay | None = None
        self._notes: NamedArrays | None = None
        self._noise: ActionNoise | None = None
        self._q: list[Tensor] = []
        self._quantiles: list[Tensor | None] = []
        self._end: dict[str, Any] = {}
        self._saved_replay: dict[str, Array] = {}

    # -- environments -------------------------------------------------------------------------------------------------

    def start(self, num_envs: int) -> None:
        """Make the environments over a ring, start an episode in each, and start the learners."""
        context, settings = self._context, self._settings
        rows = num_envs * self._players
        self._iteration = math.ceil(DECISIONS_PER_ITERATION / rows)
        spare = self._iteration if settings.save_replay else 0
        spare = max(spare, SPARE if settings.processes else 0)
        self._ring = ring = replay_settings(settings, settings.replay_size * self._players, spare)
        self._envs = context.make_envs(num_envs, ring.slots(rows), ring=True, segment=settings.processes)
        if self._learners is None:
            kind = LearnerProcesses if settings.processes else Learners
            self._learners = kind(context, settings, self._agents)
        self._learners.start(self._envs)
        self._envs.start(0)
        self._noise = ActionNoise(
            context.seed,
            first_env=0,
            num_envs=num_envs,
            players=self._players,
            numbers=RANDOM_NUMBERS,
            device=self._device,
        )

    def _open_replay(self) -> Replay:
        """Return the replay; at the first step, when a session has restored the environments or not."""
        if self._replay is None:
            assert self._envs is not None
            assert self._learners is not None
            task, buffer, slots = self._context.task, self._envs.buffer, self._envs.order.slots
            rows = self._envs.environments * self._players
            self._notes = self._ring.new_memory(task, slots, rows, shared=self._settings.processes)
            self._replay = Replay(task, buffer, replace(self._ring, priorities=None), 0, memory=self._notes)
            self._replay.add()
            head = self._restore(self._replay) if self._saved_replay else 0
            self._learners.open(self._envs, self._notes, self._ring)
            self._restore_priorities(head)
            if self._settings.save_replay:
                self._context.notify(f"each checkpoint contains the replay, up to {human_bytes(self._replay.size())}")
            self._mark()
        return self._replay

    def _restore(self, replay: Replay) -> int:
        """Continue with the saved replay, or without it if it is one of another N; return what is now its head."""
        try:
            return replay.load_state(self._saved_replay)
        except BadParameter as error:
            for number, agent in enumerate(self._agents):
                agent.restart(
                    learn_again(agent.counts, self._settings, int(self.decisions[number])), agent.figures.epsilon
                )
            self._context.notify(f"{error}: learning continues after learning_starts decisions")
            self._saved_replay = {}
            return 0

    def _restore_priorities(self, head: int) -> None:
        """Continue with the saved priorities. Learners in processes begin with equal ones."""
        for number, agent in enumerate(self._agents):
            saved = {
                name.partition(".")[2]: value
                for name, value in self._saved_replay.items()
                if name.startswith(f"agent{number}.")
            }
            if saved and agent.learner.replays:
                agent.learner.replays[-1].load_priorities(saved, head)
        self._saved_replay = {}

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
        return self._figures(replay, share)

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

    # -- figures and states -------------------------------------------------------------------------------------------

    def _figures(self, replay: Replay, waited: float) -> Metrics:
        """Return the curves; those of each agent have the names of its learner."""
        assert self._learners is not None
        figures: Metrics = {"decisions": float(self.decisions.sum()), "waiting_for_learners": waited}
        self._learners.collect()
        for number, agent in enumerate(self._agents):
            lag, versions = self._learners.lag(number)
            returns = self._returns[number]
            mean = sum(returns) / len(returns) if returns else math.nan
            own = {
                "agent_return": mean,
                **agent.metrics(),
                "policy_lag": float(lag),
                "policy_lag_versions": float(versions),
            }
            figures |= {metric_name(number, name): value for name, value in own.items() if not math.isnan(value)}
        figures["replay_filled"] = replay.filled
        return figures

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
            "data": {"decisions": self.decisions.tolist(), "steps": self.steps},
            "replay": self._replay.mark(),
            "priorities": self._priorities() if self._settings.save_replay else {},
        }

    def _priorities(self) -> dict[str, Array]:
        """Return the priorities of agents that learn in this process."""
        return {
            f"agent{number}.{name}": array
            for number, agent in enumerate(self._agents)
            for replay in agent.learner.replays[-1:]
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
        return tensors, counts, [agent.figures.epsilon for agent in self._agents]

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
        tensors = dict(tensors)
        if self._settings.save_replay and self._replay is not None:
            saved = self._replay.state(self._end["replay"]) | self._end["priorities"]
            tensors |= {REPLAY + name: torch.from_numpy(array) for name, array in saved.items()}
        return tensors, {**self._end["data"], "agents": counts, "epsilons": epsilons}

    def load_state(self, tensors: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        """Continue from what `state` returned; without a saved replay, collect `learning_starts` decisions first.

        Raises:
            WrongCheckpoint: It is of other networks.
        """
        saved = {name: torch.as_tensor(tensor) for name, tensor in tensors.items()}
        self._saved_replay = {
            name.removeprefix(REPLAY): value.numpy() for name, value in saved.items() if name.startswith(REPLAY)
        }
        self.decisions[:], self.steps = data["decisions"], int(data["steps"])
        for number, (agent, numbers) in enumerate(zip(self._agents, data["agents"], strict=True)):
            own = {name: value for name, value in saved.items() if name.startswith(f"agent{number}.")}
            agent.load_tensors({name.partition(".")[2]: value for name, value in own.items()})
            counts = Counts(**{name: int(value) for name, value in numbers.items()})
            decisions = int(self.decisions[number])
            if not self._saved_replay:
                counts = learn_again(counts, self._settings, decisions)
            agent.restart(counts, float(data["epsilons"][number]))
            load_weights(self._policies[number], own, f"agent{number}.{POLICY}")
            self._epsilons[number] = agent.figures.epsilon
        if not self._saved_replay:
            self._context.notify(
                "the checkpoint contains no replay: learning continues after learning_starts decisions"
            )
        elif self._settings.processes:
            self._context.notify("learners in processes continue from a checkpoint, but not bit for bit")

    def resize(self, num_envs: int) -> None:
        """Continue with another number of environments; the learners run on and also sample the old ring."""
        self._close_envs()
        self.start(num_envs)

    def close(self) -> None:
        """Stop the learners and close the environments."""
        if self._learners is not None:
            self._learners.close()
            self._learners = None
        self._close_envs()

    def _close_envs(self) -> None:
        self._q, self._quantiles, self._replay = [], [], None
        if self._notes is not None:
            self._notes.unlink()
            self._notes = None
        if self._envs is not None:
            self._envs.close()
            self._envs = None


def _by_seat(array: Tensor, players: int) -> Tensor:
    """Return `(rows, ...)` as `(environments, seats, ...)`, without a copy."""
    return array.view(-1, players, *array.shape[1:])
