"""Statistics of the environments' steps: rewards, actions, observations and ends of episodes."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping
from math import inf, sqrt

import numpy as np
from numpy.typing import NDArray

from ...envs.fields import Array
from ..telemetry.records import TERMINATED
from ..telemetry.step_results import StepResults
from .budget import Budget

MAX_SHARE = 0.0004
"""The largest share of the CPU time for statistics of steps; if they cost more, steps are left out."""
MOST_NUMBERS = 16_384
"""Numbers of a batch of steps that are looked at."""
FEW, EPISODES, MANY = 20, 100, 1000
"""First and last episodes that are compared: at least, usually, and at most, which shows small gains despite noise."""
BETTER = 3.0
"""Standard errors by which the last returns must be above the first ones to be better."""
MOST_FIRSTS, MOST_ENVS = 16, 256
"""First observations of an environment that are compared with those of others, and environments that are."""
MOST_WIDTH = 4096
"""Numbers of an observation; of wider ones, no statistics are kept."""
RECENT_ACTIONS = 8192
"""After so many actions, older ones count half."""
BLOCK, DEVIATIONS = 2048, 6.0
"""Successive actions that are tested together, and the standard deviations of chi-squared that chance may explain."""
FAR = 5.0
"""Times the distance of the bounds from the middle, from which on an action is far beyond them."""
MOST_SEEDS = 256
"""Environments whose seeds are compared."""


class Returns:
    """The returns and lengths of episodes.

    Attributes:
        count: Episodes that ended.
        lengths: Lengths of the last ones.
        low: The lowest return.
        high: The highest return.
        longest: The greatest length.
    """

    def __init__(self) -> None:
        self.count, self.low, self.high, self.longest = 0, inf, -inf, 0
        self._first: list[float] = []
        self._last: deque[float] = deque(maxlen=MANY)
        self.lengths: deque[int] = deque(maxlen=EPISODES)

    def add(self, returns: Array, lengths: Array) -> None:
        """Add episodes."""
        self.count += len(returns)
        known = returns[np.isfinite(returns)]
        if not len(known):
            return
        self.low, self.high = min(self.low, float(known.min())), max(self.high, float(known.max()))
        self.longest = max(self.longest, int(lengths.max()))
        self._first.extend(known[: MANY - len(self._first)].tolist())
        self._last.extend(known[-MANY:].tolist())
        self.lengths.extend(lengths[-EPISODES:].tolist())

    @property
    def improved(self) -> bool | None:
        """Whether the last episodes are better than the first ones; None if too few have ended to deny it."""
        if any(self._is_better(*self.ends(most)) for most in (EPISODES, MANY)):
            return True
        return None if self.count < 2 * EPISODES or len(self._first) < EPISODES else False

    def ends(self, most: int = EPISODES) -> tuple[Array, Array]:
        """Return the returns of the first and of as many last episodes, at most half of all."""
        count = min(most, self.count // 2, len(self._first))
        return np.array(self._first[:count]), np.array([*self._last][-count:])

    @staticmethod
    def _is_better(first: Array, last: Array) -> bool:
        if len(first) < FEW:
            return False
        return bool(last.mean() - first.mean() > BETTER * sqrt((first.var() + last.var()) / len(first)))

    @property
    def best(self) -> float:
        """The best of the last 100 returns."""
        return max([*self._last][-EPISODES:])


class Observed:
    """Statistics of observations that are vectors of numbers.

    Attributes:
        count: Observations that were looked at.
        low: The lowest value of each number, `(numbers,)`.
        high: The highest value.
        size: The mean of the absolute values.
        steps: Pairs of successive observations within an episode that were compared.
        still: How many of them were equal.
    """

    def __init__(self) -> None:
        self.count = self.steps = self.still = 0
        self.low: Array = np.zeros(0)
        self.high: Array = np.zeros(0)
        self.size: Array = np.zeros(0)

    def add(self, seen: Array, within: NDArray[np.bool_]) -> None:
        """Add observations.

        Args:
            seen: `(steps, N, numbers)`.
            within: Whether an observation and the one after it belong to one episode, `(steps - 1, N)`.
        """
        if len(seen) > 1:
            same = (seen[1:] == seen[:-1]).all(axis=2)[within]
            self.steps += same.size
            self.still += int(same.sum())
        flat = seen.reshape(-1, seen.shape[2])
        flat = flat[np.isfinite(flat).all(axis=1)]
        if not len(flat):
            return
        low, high, size = flat.min(axis=0), flat.max(axis=0), np.abs(flat).mean(axis=0)
        if self.low.shape != low.shape:
            self.count, self.low, self.high, self.size = 0, low, high, size
        share = len(flat) / (self.count + len(flat))
        self.count += len(flat)
        self.low, self.high = np.minimum(self.low, low), np.maximum(self.high, high)
        self.size = (1 - share) * self.size + share * size


class StepStatistics:
    """What is known of the environments' steps.

    Attributes:
        returns: The returns and lengths of episodes.
        terminated: Episodes that ended by termination.
        truncated: Episodes that were cut.
        rewards: Rewards that were looked at.
        zeros: How many of them were 0.
        size: The sum of their absolute values.
        most: The largest absolute value.
        negative: Whether one of them was below 0.
        terms: The sum of the absolute values of each reward term, `(terms,)`.
        actions: How often each action was taken of late, `(num_actions,)`; empty if actions are not choices.
        random_blocks: Blocks of actions that chance explains: each as frequent, and as often after itself.
        other_blocks: Blocks of actions that it does not explain.
        seeds: By environment, the seed of its last reset, and with how many resets in a row it was given.
        kinds: Names of the types of numbers in observations, if there are several.
        timed: By environment that a script steps by itself, how long some of its last steps took, in s.
        numbers: Numbers of continuous actions that were looked at.
        clipped: How many of them were at a bound or beyond.
        far: How many of them were far beyond.
        observed: Statistics of observations.
        together: Steps at which all environments terminated their episodes, and steps at which one did.
        nan_rewards: Environments whose reward was NaN since the last check.
        nan_observations: Environments that observed NaN since the last check.
    """

    def __init__(self) -> None:
        self.returns, self.observed = Returns(), Observed()
        self.terminated = self.truncated = self.rewards = self.zeros = self.numbers = self.clipped = 0
        self.far = 0
        self.size, self.most, self.negative = 0.0, 0.0, False
        self.random_blocks = self.other_blocks = 0
        self.seeds: dict[int, tuple[int | None, int]] = {}
        self.kinds: set[str] = set()
        self.timed: Mapping[int, Collection[float]] = {}
        self._block: list[NDArray[np.int64]] = []
        self.terms: Array = np.zeros(0)
        self.actions: NDArray[np.int64] = np.zeros(0, np.int64)
        self.together = [0, 0]
        self.nan_rewards: set[int] = set()
        self.nan_observations: set[int] = set()
        self._firsts: dict[int, list[int]] = {}
        self._sampling, self._observing = Budget(MAX_SHARE), Budget(MAX_SHARE)

    def resize(self) -> None:
        """Forget what is known of single environments, which are replaced."""
        self._firsts, self.together = {}, [0, 0]

    def add(self, results: StepResults, players: int, num_actions: int, bounds: Array | None) -> set[int]:
        """Add steps; return the environments whose reward or observation is NaN in them.

        Args:
            results: The steps.
            players: Seats of an environment.
            num_actions: Number of actions to choose from; 0 if actions are not choices.
            bounds: The lowest and the highest value of each number of an action, `(2, numbers)`; None if unknown.
        """
        rewards, observations = (
            set((rows // players).tolist()) for rows in (results.nan_returns, results.nan_observations)
        )
        self.nan_rewards |= rewards
        self.nan_observations |= observations
        if len(results.ended_envs):
            with np.errstate(all="ignore"):
                self._add_ends(results)
        if self._sampling.due:
            self._sampling.begin()
            with np.errstate(all="ignore"):  # NaN and infinity are for the script to warn of
                self._sample(results, num_actions, bounds)
            self._sampling.end()
        return rewards | observations

    def _add_ends(self, results: StepResults) -> None:
        self.returns.add(results.returns[:, 0], results.lengths)
        terminated = results.ends == TERMINATED
        count = int(terminated.sum())
        self.terminated += count
        self.truncated += len(results.ended_envs) - count
        if count and results.ends.shape[1] > 1:
            self.together[0] += int(terminated.all(axis=1).sum())
            self.together[1] += int(terminated.any(axis=1).sum())

    def _sample(self, results: StepResults, num_actions: int, bounds: Array | None) -> None:
        """Look at some rewards and actions."""
        steps = max(1, MOST_NUMBERS // max(1, results.rewards.shape[1]))
        decided = results.decided[-steps:]
        rewards = results.rewards[-steps:][decided]
        rewards = rewards[np.isfinite(rewards)]
        self.negative |= bool((rewards < 0).any())
        rewards = np.abs(rewards)
        self.rewards += rewards.size
        self.zeros += int((rewards == 0).sum())
        self.size += float(rewards.sum(dtype=np.float64))
        self.most = max(self.most, float(rewards.max(initial=0.0)))
        if results.reward_terms.size:
            terms = np.abs(results.reward_terms[-steps:]).sum(axis=(0, 1), dtype=np.float64)
            self.terms = terms if self.terms.shape != terms.shape else self.terms + terms
        actions = results.actions[-steps:][decided]
        if num_actions:
            counts = _counted(actions, num_actions)
            if self.actions.shape != counts.shape:
                self.actions = counts
            else:
                self.actions = (self.actions // 2 if self.actions.sum() > RECENT_ACTIONS else self.actions) + counts
            if actions.ndim == 1:
                self._test(results.actions[-steps:][decided.all(axis=1)], num_actions)
        elif bounds is not None and actions.ndim > 1 and actions.shape[1:] == bounds.shape[1:]:
            self.numbers += actions.size
            self.clipped += int(((actions <= bounds[0]) | (actions >= bounds[1])).sum())
            size = FAR * (bounds[1] - bounds[0]) / 2
            self.far += int((np.abs(actions - bounds.mean(axis=0)) > size).sum())

    def _test(self, actions: Array, num_actions: int) -> None:
        """Test whether chance explains actions, `(steps, N)`, once enough of them are known."""
        given = actions.astype(np.int64)
        each = _counted(given, num_actions)
        again = int((given[1:] == given[:-1]).sum())
        if self._block and len(self._block[0]) != num_actions + 2:
            self._block = []
        self._block.append(np.array([*each, again, given[1:].size - again]))
        block = np.sum(self._block, axis=0)
        if block[:-2].sum() >= BLOCK:
            same = block[-2:].sum() / num_actions
            chance = _by_chance(block[:-2], np.full(num_actions, block[:-2].sum() / num_actions))
            chance &= _by_chance(block[-2:], np.array([same, block[-2:].sum() - same]))
            blocks = int(block[:-2].sum()) // BLOCK
            self.random_blocks += blocks * chance
            self.other_blocks += blocks * (not chance)
            self._block = []

    def seed(self, env: int, seed: object) -> None:
        """Add a reset of an environment, with a seed or None; what is no whole number is not compared."""
        seed = int(seed) if isinstance(seed, int | np.integer) else None
        if env < MOST_SEEDS:
            before, count = self.seeds.get(env, (None, 0))
            self.seeds[env] = seed, count + 1 if seed is not None and seed == before else int(seed is not None)

    def observe(self, seen: Array, ends: Array, begins: int | None) -> None:
        """Add observations of all environments.

        Args:
            seen: What was observed after some successive steps, `(steps, N, numbers)`.
            ends: How these steps ended episodes, `(steps, N)`; 0 where none did.
            begins: How many steps after an end the first observation of the next episode is; None if it is not here.
        """
        over = ends > 0
        if begins is not None:
            for step, env in np.argwhere(over[:, :MOST_ENVS]).tolist():
                if step + begins < len(seen):
                    self.begin(env, seen[step + begins, env])
        if self._observing.due and 0 < seen.shape[2] <= MOST_WIDTH:
            self._observing.begin()
            some = min(len(seen), max(2, MOST_NUMBERS // max(1, seen.shape[1] * seen.shape[2])))
            broken = over[:-1] if begins else over[1:] if begins == 0 else over[:-1] | over[1:]
            with np.errstate(all="ignore"):
                self.observed.add(seen[-some:], ~broken[len(seen) - some :])
            self._observing.end()

    def begin(self, env: int, observation: object) -> None:
        """Add the first observation of an episode of an environment, if it is a number or an array of numbers."""
        if env < MOST_ENVS and isinstance(observation, np.ndarray | np.generic | int):
            known = self._firsts.setdefault(env, [])
            if len(known) < MOST_FIRSTS:
                known.append(hash(np.asarray(observation).tobytes()))

    @property
    def alike(self) -> list[int]:
        """The largest set of environments whose episodes began alike, though not always in the same way."""
        groups: dict[tuple[int, ...], list[int]] = {}
        for env, known in self._firsts.items():
            for length in (MOST_FIRSTS, MOST_FIRSTS // 4):
                if len(known) >= length and len(set(known[:length])) > 2:
                    groups.setdefault((length, *known[:length]), []).append(env)
        return max(groups.values(), key=len, default=[])


def _counted(actions: Array, num_actions: int) -> NDArray[np.int64]:
    """Return how often each action was taken; scripts may take others, or -1 is in the place of one."""
    known = actions[(actions >= 0) & (actions < num_actions)].astype(np.int64)
    return np.bincount(known, minlength=num_actions)


def _by_chance(counts: NDArray[np.int64], expected: Array) -> bool:
    """Whether counts are so near to what is expected that chance explains them."""
    if not expected.all():
        return False
    freedom = len(counts) - 1
    return bool(((counts - expected) ** 2 / expected).sum() < freedom + DEVIATIONS * sqrt(2 * freedom))
