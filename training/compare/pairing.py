"""Two policies in lockstep on the same seed of a task, step by step, with all that each of them decided and got."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from threading import Thread
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...backends.core.layout import Layout
from ...envs import BadParameter, Task
from ...envs.fields import DECIDES, Array
from ...envs.unknown import UNKNOWN
from ..past.episode import CHECKED, CHECKED_FIRST, Episode, fingerprints_of
from ..past.rerun import RerunEnv, RerunMismatch
from ..ranks import SingleRank
from ..telemetry.moments import MomentSource, moment_dtype
from ..trainer import BufferSpec, Context, PolicyOutput, Stopped, Timer, Trainer, open_envs
from ..trainers import build_player, build_trainer

RANDOM, RECORDED, HUMAN = "random", "recorded", "human"
"""Who plays without a training: drawn actions, those of a recording whose policy is unknown, a person."""
FUTURE = 100
"""Steps of a branch, unless the original future is longer, or it ends before."""
FLOOR = 1e-6
"""The least probability in a divergence, which would be infinite without it."""
BOARD_BYTES = 128 << 20
"""Memory for the states of a side; of the oldest steps, only the numbers are kept."""


@dataclass(frozen=True)
class SavedPolicy:
    """A policy that can play.

    Attributes:
        label: Its name for people: `RUN`, `RUN@best`, `random`.
        trainer: The trainer that it is of.
        settings: That trainer's settings.
        state: What `Trainer.policy_state` returned.
        steps: After how many steps of training it was saved.
    """

    label: str
    trainer: str
    settings: Mapping[str, Any]
    state: tuple[Mapping[str, Any], Mapping[str, Any]]
    steps: int = 0

    def player(self, context: Context, *, greedy: bool) -> Trainer:
        """Return a trainer that plays it; `load_state` follows."""
        if self.trainer == RANDOM:
            return build_trainer(RANDOM, context)
        return build_player(self.trainer, context, greedy=greedy)


def random_policy(label: str = RANDOM) -> SavedPolicy:
    """Return the policy that takes random legal actions."""
    return SavedPolicy(label, RANDOM, {}, ({}, {"decisions": 0, "steps": 0}))


def unknown_policy(kind: str) -> SavedPolicy:
    """Return what stands for the policy of a recording or for a person: `RECORDED` or `HUMAN`."""
    return SavedPolicy(kind, kind, {}, ({}, {}))


@dataclass(frozen=True)
class Decision:
    """What a policy decided in a state.

    Attributes:
        actions: `(players, *action_shape)`.
        decided: Which seats decided, `(players,)`; the actions of others have no meaning.
        seat: The seat that the rest is about: the first one that decided.
        output: What the policy computed; None if it computes nothing.
        probabilities: Those of all actions, `(num_actions,)`; None if an action is not a single choice.
        legal: Which actions are legal, `(num_actions,)`; None if the task has no mask.
    """

    actions: Array
    decided: Array
    seat: int
    output: PolicyOutput | None
    probabilities: Array | None
    legal: NDArray[np.bool_] | None = None

    @property
    def value(self) -> float:
        """The value estimate; NaN if there is none."""
        return self.output.value if self.output is not None else UNKNOWN

    def agrees(self, other: Decision) -> bool:
        """Whether both take the same actions."""
        return bool(
            np.array_equal(self.decided, other.decided)
            and np.array_equal(self.actions[self.decided], other.actions[self.decided])
        )


@dataclass
class Step:
    """A state, how it was reached, and what was decided in it.

    Attributes:
        moment: The state as a record, see `moments.py`; None if it is no longer kept.
        reward: The first seat's, of the step that led here.
        gained: Its return so far.
        terms: The terms of the reward.
        end: 0, or how the episode ended.
        outcome: 0, or 1 + the index into the task's outcomes.
        decision: None in the last state.
    """

    moment: Array | None
    reward: float
    gained: float
    terms: tuple[float, ...]
    end: int
    outcome: int
    decision: Decision | None = None


class NumberedRank(SingleRank):
    """A process whose only environment has the number of one of many, so that random actions are those of that one."""

    def __init__(self, env: int) -> None:
        self._env = env

    def first_env(self, num_envs: int) -> int:  # noqa: ARG002 - there is one
        """Return the number of the environment."""
        return self._env


class MirrorEnv:
    """An environment that shows a player the state of another one, and passes on what the player decides.

    Args:
        spec: The buffer that the player needs.
        first: The environment that is shown first.
    """

    segment, environments = None, 1

    def __init__(self, task: Task, spec: BufferSpec, mind: Mind, first: RerunEnv) -> None:
        layout = Layout(task, 1, spec.slots, ring=spec.ring, rollouts=spec.rollouts)
        self.buffer = layout.map()
        self._mind, self._first, self._timed = mind, first, {item.name for item in task.fields if item.timed}

    @property
    def order(self) -> Any:
        """Which slots were written."""
        return self.buffer.order

    def start(self, slot: int = 0) -> None:
        """Show the first state."""
        self._show(self._first, slot)
        self.order.begin(slot)

    def advance(self, slot: int) -> None:
        """Pass on the actions of a slot, and show the state that the player is asked about next."""
        following = self.order.next(slot)
        self._show(self._mind.exchange(self.buffer, slot), following)
        self.order.wrote(following)

    def hold(self) -> None:
        """Return at once."""

    def carry(self) -> None:
        """Copy the last slot to the first one."""
        self.buffer.carry()

    def close(self) -> None:
        """Nothing is left."""

    def _show(self, shown: RerunEnv, slot: int) -> None:
        for name, array in self.buffer.items():
            if name != "action":
                array[slot if name in self._timed else 0] = shown.row(name)


class Mind:
    """A policy that is asked about states, one after the other, which are those of an episode from its beginning.

    The player runs in a thread of its own, because it calls its environments and not the other way round.
    """

    def __init__(self, policy: SavedPolicy, task: Task, seed: int, env: int, *, greedy: bool = True) -> None:
        self._policy, self._task = policy, task
        settings = policy.settings
        context = Context(task, settings, "cpu", seed, Timer(), ranks=NumberedRank(env))
        self._player = policy.player(context, greedy=greedy)
        self._states: SimpleQueue[RerunEnv | None] = SimpleQueue()
        self._answers: SimpleQueue[Decision | BaseException] = SimpleQueue()
        self._thread = Thread(target=self._run, name=f"policy {policy.label}", daemon=True)
        self._thread.start()

    def decide(self, state: RerunEnv) -> Decision:
        """Return what the policy decides in the present state of an environment."""
        self._states.put(state)
        answer = self._answers.get()
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def close(self) -> None:
        """End the thread."""
        self._states.put(None)
        self._thread.join()

    def _run(self) -> None:
        try:
            first = self._states.get()
            if first is not None:
                open_envs(self._player, 1, lambda _count, spec: MirrorEnv(self._task, spec, self, first))
                self._player.load_state(*self._policy.state)
                while True:
                    self._player.iterate()
        except Stopped:
            pass
        except BaseException as error:
            self._answers.put(error)
        finally:
            self._player.close()

    def _legal(self, bits: Array) -> NDArray[np.bool_]:
        return np.unpackbits(bits, count=self._task.num_actions, bitorder="little").astype(np.bool_)

    def exchange(self, buffer: Mapping[str, Array], slot: int) -> RerunEnv:
        """Answer with the decision in a slot; return the next state.

        Raises:
            Stopped: Nothing more is asked.
        """
        decided = buffer["active"][slot] == DECIDES
        seat = int(decided.argmax())
        self._answers.put(
            Decision(
                buffer["action"][slot].copy(),
                decided.copy(),
                seat,
                self._player.inspect(seat),
                self._player.probabilities(seat),
                self._legal(buffer["action_mask"][slot, seat]) if self._task.masked else None,
            )
        )
        following = self._states.get()
        if following is None:
            raise Stopped
        return following


class NoMind:
    """Stands for a policy that is not known: the actions are those of a recording, or a person's."""

    def __init__(self, task: Task, values: Sequence[float] = ()) -> None:
        self._task, self._values, self._asked = task, values, 0

    def decide(self, state: RerunEnv) -> Decision:
        """Return a decision without an action; its value is the one that was recorded."""
        value = self._values[self._asked] if self._asked < len(self._values) else UNKNOWN
        self._asked += 1
        decided, legal = state.row("active") == DECIDES, None
        seat = int(decided.argmax())
        if self._task.masked:
            bits = state.row("action_mask")[seat]
            legal = np.unpackbits(bits, count=self._task.num_actions, bitorder="little").astype(np.bool_)
        output = PolicyOutput(value, UNKNOWN, (), ()) if self._values else None
        return Decision(state.row("action").copy(), decided, seat, output, None, legal)

    def close(self) -> None:
        """Nothing is left."""


@dataclass
class Side:
    """One of the two.

    Attributes:
        policy: Who decides.
        steps: The states so far.
        limit: After how many steps it stops, because what follows is not known or not wanted; None for no limit.
    """

    policy: SavedPolicy
    mind: Mind | NoMind
    world: RerunEnv
    limit: int | None = None
    steps: list[Step] = field(default_factory=list)

    @property
    def cut(self) -> bool:
        """Whether it has stopped before the end of the episode."""
        return self.limit is not None and len(self.steps) > self.limit and not self.steps[-1].end

    @property
    def ended(self) -> bool:
        """Whether the episode has ended, or goes no further."""
        return bool(self.steps[-1].end) or self.cut


class Pairing:
    """Two policies that play the same seed in lockstep.

    Args:
        env: The number of the environment, whose first episode is played.
        follow: Whether B does not play, but is asked about the states of A.
        recorded: Steps that A takes, in place of that first episode; A is asked what it would do.
        branches: The step at which B takes an action that `part` chooses, after the steps of A.

    Attributes:
        a: One side.
        b: The other one.
        divergences: Of the policies at each step, in nats; NaN where they are in different states or unknown.
    """

    def __init__(
        self,
        task: Task,
        policies: tuple[SavedPolicy, SavedPolicy],
        seed: int,
        env: int,
        *,
        greedy: bool = True,
        follow: bool = False,
        recorded: Episode | None = None,
        branches: int | None = None,
    ) -> None:
        self.task, self.policies, self.seed, self.env, self.greedy = task, policies, seed, env, greedy
        self.follow, self.recorded, self.branches = follow, recorded, branches
        self._part: Array | None = None
        self._dtype = moment_dtype(task)
        self._most = max(2, BOARD_BYTES // self._dtype.itemsize)
        self.divergences: list[float] = []
        self._differing: list[bool] = []
        limits = self._limits()
        sides: list[Side] = []
        for policy, limit in zip(policies, limits, strict=True):
            world = RerunEnv(task, seed, env) if not (follow and sides) else sides[0].world
            sides.append(Side(policy, self._mind(policy), world, limit))
        self.a, self.b = sides
        for world in self._worlds:
            world.draw(wanted=True)
            self._begin(world)
        self._take((self.a, self.b))

    def _limits(self) -> tuple[int | None, int | None]:
        if self.recorded is None:
            return None, None
        length = self.recorded.length
        if self.branches is not None:
            return length, max(length, self.branches + FUTURE)
        return length, length if self.follow else None

    def _mind(self, policy: SavedPolicy) -> Mind | NoMind:
        if policy.trainer == HUMAN:
            return NoMind(self.task)
        if policy.trainer == RECORDED:
            assert self.recorded is not None
            return NoMind(self.task, [step.value for step in self.recorded.steps[1:]])
        return Mind(policy, self.task, self.seed, self.env, greedy=self.greedy)

    def _begin(self, world: RerunEnv) -> None:
        if self.recorded is None:
            world.begin(0)
        elif self.recorded.state is None:
            world.begin(self.recorded.number)
        else:
            world.restore(self.recorded.state)

    def again(self, *, env: int | None = None, follow: bool | None = None) -> Pairing:
        """Return the same policies from the beginning, on another seed or with B asked about the states of A."""
        return Pairing(
            self.task,
            self.policies,
            self.seed,
            self.env if env is None else env,
            greedy=self.greedy,
            follow=self.follow if follow is None else follow,
            recorded=self.recorded,
        )

    @property
    def _worlds(self) -> Sequence[RerunEnv]:
        return (self.a.world,) if self.follow else (self.a.world, self.b.world)

    @property
    def length(self) -> int:
        """Steps that were made so far, of the side that made more."""
        return max(len(self.a.steps), len(self.b.steps)) - 1

    @property
    def ended(self) -> bool:
        """Whether both have ended."""
        return self.a.ended and self.b.ended

    @property
    def waits(self) -> bool:
        """Whether a person has to choose an action before the next step."""
        return any(side.policy.trainer == HUMAN and not side.ended and not self._chosen for side in (self.a, self.b))

    @property
    def _chosen(self) -> bool:
        return self._part is not None

    def choose(self, action: Array) -> None:
        """Take an action as that of the person, and step."""
        self._part = action
        for side in (self.a, self.b):
            if side.policy.trainer == HUMAN and not side.ended:
                self._replace(side, action)
        self._compare(self.length)
        self.step()
        self._part = None

    def part(self, action: Array) -> None:
        """Choose the action that B takes where it branches off; B is there."""
        self._part = action
        self._replace(self.b, action)
        self._compare(len(self.b.steps) - 1)

    @staticmethod
    def _replace(side: Side, action: Array) -> None:
        """Have a side take an action in its newest state."""
        decision = side.steps[-1].decision
        assert decision is not None
        actions = decision.actions.copy()
        actions[decision.seat] = action
        side.steps[-1].decision = replace(decision, actions=actions)

    def step(self) -> None:
        """Step each side that has not ended, unless a person has to choose an action."""
        if self.waits:
            return
        playing = [side for side in (self.a, self.b) if not side.ended]
        for side in playing if not self.follow else playing[:1]:
            decision = side.steps[-1].decision
            assert decision is not None
            side.world.step(decision.actions)
        self._take(playing)

    def play(self, step: int) -> None:
        """Play until a step was made, or both have ended, or a person has to choose."""
        while self.length < step and not self.ended and not self.waits:
            self.step()

    def _take(self, sides: Sequence[Side]) -> None:
        for side in sides:
            self._record(side)
        self._compare(self.length)

    def _compare(self, at: int) -> None:
        """Note how far both are apart at a step, the newest."""
        del self.divergences[at:], self._differing[at:]
        one, other = self.decisions(at)
        same = self.follow or not any(self._differing)
        self.divergences.append(divergence(one, other) if one and other and same else UNKNOWN)
        self._differing.append(self.differs(at))

    def _record(self, side: Side) -> None:
        world, before = side.world, side.steps[-1] if side.steps else None
        moment = np.zeros((), self._dtype)
        world.fill(moment)
        moment["source"] = MomentSource.REBUILT
        reward = float(moment["reward"]) if before else 0.0
        end = int(moment["end"]) if before else 0
        terms = tuple(moment["reward_terms"].tolist()) if before else (0.0,) * len(self.task.reward_terms)
        gained = float(moment["episode_return"])
        step = Step(moment, reward, gained, terms, end, int(moment["outcome"]) if before else 0)
        side.steps.append(step)
        at = len(side.steps) - 1
        taken = self._taken(side, at)
        if not end:
            decision = side.mind.decide(world)
            step.decision = decision if taken is None else self._as_taken(side, decision, taken)
            if taken is None and side.policy.trainer == RECORDED:
                step.decision = None
        if len(side.steps) > self._most:
            side.steps[-self._most - 1].moment = None

    def _taken(self, side: Side, at: int) -> Array | None:
        """Return the recorded action of a side in a state, which must be the recorded one; None if it has none.

        Raises:
            RerunMismatch: The state is another one.
        """
        leads = self.branches if side is self.b else None
        if self.recorded is None or (side is self.b and (self.follow or leads is None or at > leads)):
            return None
        if at > self.recorded.length:
            return None
        names = CHECKED if at else CHECKED_FIRST
        recorded, world = self.recorded.steps[at], side.world
        if any(recorded.prints.get(name) != it for name, it in fingerprints_of(self.task, names, world.row).items()):
            raise RerunMismatch(at, "state", f"step {at:,} of the replay differs from the recorded one")
        if at in {self.recorded.length, leads}:
            return None
        return self.recorded.steps[at + 1].action

    def _as_taken(self, side: Side, decision: Decision, actions: Array) -> Decision:
        """Return a decision with the actions that were recorded instead; of an unknown policy, they are certain."""
        shares = decision.probabilities
        if side.policy.trainer == RECORDED and not self.task.action.shape:
            shares = np.zeros(self.task.num_actions)
            shares[int(actions[decision.seat])] = 1.0
        return replace(decision, actions=actions, probabilities=shares)

    def decisions(self, at: int) -> tuple[Decision | None, Decision | None]:
        """Return what both decided at a step; None where one had ended."""
        one, other = (side.steps[at].decision if at < len(side.steps) else None for side in (self.a, self.b))
        return one, other

    def differs(self, at: int) -> bool:
        """Whether the actions of both differ at a step, also because one has ended."""
        one, other = self.decisions(at)
        if self.waits and at == self.length:
            return False
        if one is None or other is None:
            known = not any(side.cut and at >= len(side.steps) - 1 for side in (self.a, self.b))
            return one is not other and known
        return not one.agrees(other)

    @property
    def parting(self) -> int | None:
        """The first step so far at which the actions differ; None if there is none."""
        return self._differing.index(True) if True in self._differing else None

    @property
    def partings(self) -> list[int]:
        """The steps at which the actions of both differ."""
        return [at for at, differs in enumerate(self._differing) if differs]

    @property
    def apart(self) -> list[int]:
        """The steps at which the distributions of both are known, those that are most apart first."""
        known = [at for at, value in enumerate(self.divergences) if not math.isnan(value)]
        return sorted(known, key=lambda at: -self.divergences[at])

    def branching(self, at: int) -> Pairing:
        """Return the future of A beside a copy of A, which `part` has take another action at a step.

        Both are played from the beginning by the same policy, up to that step. This pairing stays.

        Raises:
            BadParameter: The environment is not deterministic, so the same actions do not lead to that step again.
        """
        policies = replace(self.a.policy, label="original"), replace(self.a.policy, label="branch")
        made = Pairing(
            self.task, policies, self.seed, self.env, greedy=self.greedy, recorded=self.recorded, branches=at
        )
        made.play(at)
        old, new = self.a.steps[at] if at < len(self.a.steps) else None, made.a.steps[min(at, made.length)]
        if old is None or old.moment is None or new.moment is None or old.moment.tobytes() == new.moment.tobytes():
            return made
        made.close()
        raise BadParameter(f"no branch: {self.task.name} is not deterministic, a replay leads to another state")

    def branch(self, at: int, action: Array) -> Pairing:
        """Return the future of A beside another one, in which A takes `action` at a step; see `branching`."""
        made = self.branching(at)
        made.part(action)
        made.play(at + 1)
        return made

    def close(self) -> None:
        """Release both sides."""
        for side in (self.a, self.b):
            side.mind.close()
        for world in self._worlds:
            world.close()


def divergence(one: Decision, other: Decision) -> float:
    """Return the Kullback-Leibler divergence of B's from A's distribution in a state, in nats; NaN if unknown."""
    if one.probabilities is not None and other.probabilities is not None:
        p, q = np.maximum(one.probabilities, FLOOR), np.maximum(other.probabilities, FLOOR)
        return float(max(0.0, (one.probabilities * np.log(p / q)).sum()))
    if one.output is None or other.output is None or not (one.output.means and other.output.means):
        return UNKNOWN
    total = 0.0
    numbers = zip(one.output.means, one.output.deviations, other.output.means, other.output.deviations, strict=True)
    for mean, deviation, mean_of_other, deviation_of_other in numbers:
        s, t = max(deviation, FLOOR), max(deviation_of_other, FLOOR)
        total += math.log(t / s) + (s * s + (mean - mean_of_other) ** 2) / (2 * t * t) - 0.5
    return total
