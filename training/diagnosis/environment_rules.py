"""Rules about environments: what they observe, reward and end."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..telemetry.records import Severity
from .evidence import LEAST_EPISODES, LEAST_STEPS, Evidence
from .rules import ENVIRONMENTS, Measured, rule

LEAST_SEEN = 2000
"""Observations, rewards or actions that a statement about them needs."""
LEAST_ENDS = 20
SAME_SEEDS = 30
LARGE_INPUT = 1000.0
"""From which on the inputs of a network are too large in any training."""
LEAST_TOGETHER = 10
LEAST_TERMS = 0.01
"""The share of a reward term, from which on it counts as one that is paid."""
SHOWN = 5
WIDE = 256
"""Numbers of an observation from which on it is more likely an image than a vector."""


def _named(envs: set[int]) -> dict[str, object]:
    """Return how to name environments: the first, and how many more."""
    more = len(envs) - 1
    rest = f", and in {more:,} more environment{'s' if more > 1 else ''}" if more else ""
    return {"first": f"env {min(envs) + 1}", "more": rest}


@rule(
    "nan-observation",
    ENVIRONMENTS,
    Severity.FAULT,
    sentence="{first}: observation is NaN{more}",
    why="One NaN in an observation makes every weight of the network NaN with the next update.",
    advice="go back from the marked environment (key Left while paused) to the step in which it became NaN; look for "
    "divisions by zero and square roots of negative numbers there",
    source="a number is NaN or is not",
    needs="one observation",
)
def nan_observation(evidence: Evidence) -> Iterator[Measured]:
    """An observation contains NaN."""
    if envs := evidence.stepped.nan_observations:
        yield Measured(len(envs), _named(envs), min(envs))


@rule(
    "nan-reward",
    ENVIRONMENTS,
    Severity.FAULT,
    sentence="{first}: reward is NaN{more}",
    why="Returns and advantages become NaN, and with them the weights.",
    advice="go back from the marked environment (key Left while paused) to the step in which it became NaN",
    source="a number is NaN or is not",
    needs="one step",
)
def nan_reward(evidence: Evidence) -> Iterator[Measured]:
    """A reward, and therefore the return of its episode, is NaN."""
    if envs := evidence.stepped.nan_rewards:
        yield Measured(len(envs), _named(envs), min(envs))


@rule(
    "no-episode-ends",
    ENVIRONMENTS,
    Severity.WARNING,
    sentence="no episode has ended for {silent:.0f} s; the limit is {limit:.0f} s",
    why="Without ends there are no returns, and environments that are stuck look like this.",
    advice="look at the boards for environments that do not move; give episodes a limit of steps (`TimeLimit`)",
    threshold=1.0,
    unit="of the limit: ten median episodes and at least 60 s, or 600 s before the first end",
    source="our measurement: longer than any pause of the built-in games",
    needs="the time since the last end of an episode",
)
def no_episode_ends(evidence: Evidence) -> Iterator[Measured]:
    """No episode has ended for much longer than episodes take."""
    silent, limit = evidence.silence
    if limit > 0:
        yield Measured(silent / limit, {"silent": silent, "limit": limit}, curve="length_mean")


@rule(
    "identical-environments",
    ENVIRONMENTS,
    Severity.WARNING,
    sentence="{value:.0f} environments are copies of each other: their episodes begin alike, again and again",
    why="N copies of one experience cost as much as N environments and teach as much as one.",
    advice="seed each environment differently: `reset(seed=seed + i)`, or pass one number to the vector environment, "
    "which counts it up",
    threshold=1.0,
    unit="environments",
    source="first observations that vary are equal only with equal seeds",
    needs="the first observations of 4 episodes of each, 3 of which differ",
)
def identical_environments(evidence: Evidence) -> Iterator[Measured]:
    """Episodes of several environments begin with the same observations, though not every episode does."""
    if alike := evidence.stepped.alike:
        yield Measured(len(alike), env=alike[0])


@rule(
    "same-seed-at-each-reset",
    ENVIRONMENTS,
    Severity.WARNING,
    sentence="{first} was reset with the seed {seed} {value:,.0f} times in a row{more}: its episodes begin alike",
    why="The agent learns one episode by heart, with the same start and the same chance events.",
    advice="pass a seed to the first reset only",
    threshold=SAME_SEEDS,
    unit="times in a row",
    source="a seed decides all that is random in an environment",
    needs="31 resets; a note only if observations are no vectors of numbers, such as those of a fixed maze",
)
def same_seed_at_each_reset(evidence: Evidence) -> Iterator[Measured]:
    """An environment in which the agent learns is reset with the same seed again and again."""
    seeds = evidence.stepped.seeds
    often = {env for env, (_, count) in seeds.items() if count > SAME_SEEDS}
    if often and evidence.main:
        numbers = {"seed": seeds[min(often)][0], **_named(often)}
        severity = None if evidence.stepped.observed.count or evidence.stuck else Severity.NOTE
        yield Measured(max(seeds[env][1] for env in often), numbers, min(often), severity=severity)


@rule(
    "observation-kind-changes",
    ENVIRONMENTS,
    Severity.NOTE,
    escalates=True,
    sentence="observations are sometimes {kinds}",
    why="Numbers that were rounded to whole ones carry less, and networks are fed with different types.",
    advice="return `np.asarray(observation, dtype=np.float32)` from both `reset` and `step`",
    threshold=1.0,
    unit="types",
    source="a type is the same or is not",
    needs="two steps of single environments",
)
def observation_kind_changes(evidence: Evidence) -> Iterator[Measured]:
    """Observations are not always of the same type."""
    if kinds := evidence.stepped.kinds:
        yield Measured(len(kinds), {"kinds": " and sometimes ".join(sorted(kinds))})


@rule(
    "synchronised-ends",
    ENVIRONMENTS,
    Severity.WARNING,
    sentence="all {envs:,} environments terminated their episodes in the same step, {value:.0f} times in a row",
    why="Environments that end together are in the same phase of the task: a batch is less varied than it could be.",
    advice="give each environment a seed of its own, or let them begin at different steps",
    threshold=9.0,
    unit="times",
    source="our measurement: independent episodes of different lengths never do this",
    needs="10 steps with ends by termination, with episodes of different lengths",
)
def synchronised_ends(evidence: Evidence) -> Iterator[Measured]:
    """Whenever one of several environments terminates its episode, all do, although episodes differ in length."""
    (together, single), lengths = evidence.stepped.together, evidence.stepped.returns.lengths
    if single >= LEAST_TOGETHER and together == single and len(set(lengths)) > 1:
        yield Measured(together, {"envs": evidence.num_envs})


@rule(
    "reward-never-paid",
    ENVIRONMENTS,
    Severity.WARNING,
    sentence="no reward other than 0 in {episodes:,} episodes and {steps:,} steps",
    why="Without a reward there is nothing to learn from.",
    advice="check that the reward is returned; start nearer to the goal, shape the reward, or explore more (entropy "
    "coefficient, epsilon)",
    source="our choice of 200 episodes and 20,000 steps",
    needs="200 episodes and 20,000 steps",
)
def reward_never_paid(evidence: Evidence) -> Iterator[Measured]:
    """All rewards so far were 0."""
    stepped, returns = evidence.stepped, evidence.stepped.returns
    if returns.count >= LEAST_EPISODES and evidence.steps >= LEAST_STEPS and stepped.zeros == stepped.rewards:
        value = float(returns.low == returns.high == 0)
        yield Measured(value, {"episodes": returns.count, "steps": evidence.steps}, curve="return_mean")


@rule(
    "return-always-the-same",
    ENVIRONMENTS,
    Severity.NOTE,
    escalates=True,
    sentence="each of {episodes:,} episodes had the return {low:.4g}",
    why="If all episodes are worth the same, no action is better than another.",
    advice="check whether the reward depends on what the agent does; if only success counts, shape the reward or "
    "explore more",
    source="our choice of 200 episodes and 20,000 steps",
    needs="200 episodes and 20,000 steps with rewards",
)
def return_always_the_same(evidence: Evidence) -> Iterator[Measured]:
    """All episodes since the beginning had the same return, which is not 0."""
    returns = evidence.stepped.returns
    if returns.count >= LEAST_EPISODES and evidence.steps >= LEAST_STEPS:
        numbers = {"episodes": returns.count, "low": returns.low}
        yield Measured(float(returns.low == returns.high != 0), numbers, curve="return_mean")


@rule(
    "reward-scale",
    ENVIRONMENTS,
    Severity.NOTE,
    escalates=True,
    sentence="rewards are about {size:.3g} in a step that pays one",
    why="Losses and gradients grow with the square of rewards: large ones drown the policy's gradient, tiny ones are "
    "lost in it.",
    advice="scale rewards to about 1: `normalize_reward`, `NormalizeReward` or `VecNormalize`",
    threshold=100.0,
    unit="times larger or smaller than 1",
    source="Andrychowicz et al. 2021 and rl-zoo normalise rewards of this size",
    needs="2,000 rewards, of which 20 are not 0",
)
def reward_scale(evidence: Evidence) -> Iterator[Measured]:
    """Rewards that are paid are far larger or smaller than 1."""
    stepped = evidence.stepped
    paid = stepped.rewards - stepped.zeros
    if stepped.rewards >= LEAST_SEEN and paid >= LEAST_ENDS:
        size = stepped.size / paid
        yield Measured(max(size, 1 / size) if size else 0.0, {"size": size})


@rule(
    "reward-term-dominates",
    ENVIRONMENTS,
    Severity.NOTE,
    escalates=True,
    sentence="one of {terms} reward terms makes up {share:.0%} of all rewards",
    why="The agent learns what the largest term pays for, and does not notice the others.",
    advice="compare the terms in the inspector (key i), and weigh them",
    threshold=0.98,
    unit="of the absolute sum",
    source="our choice",
    needs="2,000 rewards with several terms that are paid",
)
def reward_term_dominates(evidence: Evidence) -> Iterator[Measured]:
    """One reward term outweighs all others together."""
    terms = evidence.stepped.terms
    if evidence.stepped.rewards >= LEAST_SEEN and len(terms) > 1 and terms.sum() > 0:
        share = float(terms.max() / terms.sum())
        yield Measured(share, {"terms": len(terms), "share": share})


@rule(
    "episodes-only-cut",
    ENVIRONMENTS,
    Severity.NOTE,
    sentence="all {episodes:,} episodes were cut at a limit of steps, and none ended by itself",
    why="The value of the last state of a cut episode is not 0: code that treats the cut as an end learns wrong "
    "values. And perhaps no agent ever reaches the goal.",
    advice="bootstrap at truncations; check the condition of termination",
    source="our choice of 100 episodes",
    needs="100 episodes",
)
def episodes_only_cut(evidence: Evidence) -> Iterator[Measured]:
    """Episodes only ever end by truncation."""
    stepped = evidence.stepped
    if stepped.returns.count >= LEAST_EPISODES // 2:
        yield Measured(float(stepped.terminated == 0), {"episodes": stepped.returns.count}, curve="length_mean")


@rule(
    "episodes-end-at-once",
    ENVIRONMENTS,
    Severity.NOTE,
    escalates=True,
    sentence="{value:.0%} of the last episodes ended within two steps",
    why="What ends at once can hardly be influenced: often a condition of termination that is true from the start.",
    advice="look at the first steps of an episode (key f, then Left), and at the condition of termination",
    threshold=0.5,
    unit="of the last 100 episodes",
    source="our choice",
    needs="100 episodes",
)
def episodes_end_at_once(evidence: Evidence) -> Iterator[Measured]:
    """Most episodes end in their first two steps."""
    lengths = evidence.stepped.returns.lengths
    if evidence.stepped.returns.count >= LEAST_EPISODES // 2:
        yield Measured(sum(length <= 2 for length in lengths) / len(lengths), curve="length_mean")


@rule(
    "observation-constant",
    ENVIRONMENTS,
    Severity.NOTE,
    escalates=True,
    sentence="{value:.0%} of the {numbers:,} numbers of the observation never change ({which})",
    why="Numbers that never change carry nothing, or are a part of the state that was forgotten.",
    advice="compare the inspector (key i) with what the agent needs to know; leave the numbers out or fill them",
    threshold=0.5,
    unit="of the numbers",
    source="our choice: unused parts of observations are common, half of one is not",
    needs="2,000 observations that are vectors of numbers",
)
def observation_constant(evidence: Evidence) -> Iterator[Measured]:
    """Most numbers of the observation have the same value at all times in all environments."""
    seen = evidence.stepped.observed
    if seen.count >= LEAST_SEEN and seen.low.size < WIDE:
        constant = seen.low == seen.high
        which = ", ".join(f"{index}" for index in np.flatnonzero(constant)[:SHOWN].tolist())
        more = ", ..." if constant.sum() > SHOWN else ""
        yield Measured(float(constant.mean()), {"numbers": seen.low.size, "which": f"number {which}{more}"})


@rule(
    "observation-scale",
    ENVIRONMENTS,
    Severity.NOTE,
    escalates=True,
    sentence="{what} is about {value:.3g}",
    why="Networks expect inputs of about 1: a number in the hundreds saturates units, and drowns the other numbers.",
    advice="normalise observations: `normalize_observation`, `NormalizeObservation`, `VecNormalize`, or divide by the "
    "largest value",
    threshold=100.0,
    source="Andrychowicz et al. 2021: normalising observations matters most on such scales",
    needs="2,000 observations that are vectors of floating-point numbers; a warning from 1,000 on, where `watch` sees "
    "that the policy's first layer is given such numbers, and nothing where it is not",
)
def observation_scale(evidence: Evidence) -> Iterator[Measured]:
    """The absolute value of a number of the observation is large on average."""
    seen, curves = evidence.stepped.observed, evidence.learners.get(0)
    given = None if curves is None else curves.known("input_size", 3)
    if given is not None:
        size = min(given.values[-3:])
        severity = Severity.WARNING if size > LARGE_INPUT else None
        yield Measured(size, {"what": "a number that the policy is given"}, curve=given.name, severity=severity)
    elif seen.count >= LEAST_SEEN:
        worst = int(np.argmax(seen.size))
        yield Measured(float(seen.size[worst]), {"what": f"number {worst} of the observation"})


@rule(
    "observation-still",
    ENVIRONMENTS,
    Severity.WARNING,
    sentence="the observation does not change: {value:.1%} of {steps:,} steps left it as it was",
    why="A policy that always sees the same always does the same.",
    advice="check that `step` returns the new observation, not the first one, and that it is not a copy of an array "
    "that is not updated",
    threshold=0.999,
    unit="of the steps within episodes",
    source="our choice",
    needs="2,000 steps within episodes, with observations that are vectors of numbers",
)
def observation_still(evidence: Evidence) -> Iterator[Measured]:
    """Observations within an episode are equal."""
    seen = evidence.stepped.observed
    if seen.steps >= LEAST_SEEN:
        yield Measured(seen.still / seen.steps, {"steps": seen.steps})


@rule(
    "actions-clipped",
    ENVIRONMENTS,
    Severity.NOTE,
    escalates=True,
    sentence="{value:.0%} of the numbers of actions are at a bound",
    why="Beyond a bound all actions have the same effect, so their gradient says nothing.",
    advice="start with a smaller deviation, squash actions (`tanh`), or scale them with `RescaleAction`",
    threshold=0.6,
    unit="of the numbers",
    source="a standard normal distribution is beyond -1 to 1 in 32 % of the cases",
    needs="2,000 numbers of continuous actions with bounds",
)
def actions_clipped(evidence: Evidence) -> Iterator[Measured]:
    """Most numbers of continuous actions are at their bounds or beyond."""
    stepped = evidence.stepped
    if stepped.numbers >= LEAST_SEEN:
        yield Measured(stepped.clipped / stepped.numbers)


@rule(
    "actions-far-outside",
    ENVIRONMENTS,
    Severity.WARNING,
    sentence="{value:.0%} of the numbers of actions are more than five times beyond their bounds",
    why="They are cut to the bounds, so all such actions are the same one, whatever the policy says.",
    advice="scale the policy's output to the bounds of the action space, once: look for a scale that is applied twice",
    threshold=0.5,
    unit="of the numbers",
    source="a standard normal distribution is beyond five times 0.4 in 5 % of the cases",
    needs="500 numbers of continuous actions with bounds",
)
def actions_far_outside(evidence: Evidence) -> Iterator[Measured]:
    """Most numbers of continuous actions are far beyond their bounds."""
    stepped = evidence.stepped
    if stepped.numbers >= LEAST_SEEN / 4:
        yield Measured(stepped.far / stepped.numbers)


@rule(
    "one-action",
    ENVIRONMENTS,
    Severity.NOTE,
    escalates=True,
    sentence="action {action} is chosen in {value:.1%} of all steps",
    why="An agent that always does the same cannot find out what else would be good.",
    advice="raise the entropy coefficient or epsilon; lower the learning rate if this came at once",
    threshold=0.98,
    unit="of the last actions",
    source="our choice",
    needs="2,000 actions of which one is chosen, among two or more",
)
def one_action(evidence: Evidence) -> Iterator[Measured]:
    """One action is chosen nearly always."""
    counts = evidence.stepped.actions
    if len(counts) > 1 and counts.sum() >= LEAST_SEEN:
        yield Measured(float(counts.max() / counts.sum()), {"action": int(counts.argmax())})


@rule(
    "action-without-effect",
    ENVIRONMENTS,
    Severity.WARNING,
    sentence="actions have no effect: from each of {states} states, all {actions} actions led to the same "
    "observations, rewards and ends",
    why="Where nothing depends on what the agent does, there is nothing to learn.",
    advice="check that `step` uses its action, and that wrappers pass it on",
    source="tried out in a copy of the environment; an action matters or does not",
    needs="an environment of one seat with states that can be saved, and without an action mask or chance; looked at "
    "once, if a training does not learn",
)
def action_without_effect(evidence: Evidence) -> Iterator[Measured]:
    """None of the actions matters in any of the states from which all were tried."""
    actions, states = evidence.tried
    if actions > 1:
        yield Measured(states, {"states": states, "actions": actions})
