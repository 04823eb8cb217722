"""Rules about learning: what the learner's metrics say."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, sqrt
from statistics import fmean, median

from ..telemetry.records import Severity
from .curves import LearnerCurves, Series
from .evidence import LEAST_EPISODES, LEAST_POINTS, LEAST_STEPS, MANY_STEPS, Evidence
from .rules import LEARNING, Measured, rule

FIRST, EARLY, LATE = 5, 20, 10
"""Points of a curve whose median is the first, the early and the late level."""
LONG = 40
SEEN = 3
"""Points of a curve that are medians or shares of what was seen of many updates."""
TINY_UPDATE = 1e-6
MOST_OTHERS = 0.02
"""Blocks of random actions, as a share, that chance may make look chosen."""
LEAST_REWARDS, HORIZON = 2000, 1000
"""Rewards that a bound of values needs, and the steps of an episode that it assumes at least."""
PLATEAU = 0.1
"""The share of a training that a fall must have lasted."""


def _of_learners(evidence: Evidence, role: str, points: int) -> Iterator[tuple[Series, LearnerCurves]]:
    """Yield the series of a role of each learner that has so many points."""
    for curves in evidence.learners.values():
        if (series := curves.known(role, points)) is not None:
            yield series, curves


def _rate(curves: LearnerCurves) -> str:
    """Return how to name the learning rate, if it is known."""
    rate = curves.known("learning_rate", 1)
    return "" if rate is None else f"; the learning rate is {rate.values[-1]:.2g}"


def _learns_temperature(curves: LearnerCurves) -> bool:
    """Whether the weight of the entropy changes, as that of SAC does."""
    series = curves.known("temperature", 2)
    return series is not None and min(series.values) < max(series.values)


@rule(
    "loss-not-finite",
    LEARNING,
    Severity.FAULT,
    sentence="{name} is {number}",
    why="The next update makes every weight NaN, and what was learned is lost.",
    advice="lower the learning rate, clip gradients (`max_grad_norm` 0.5), and look for divisions and logarithms in "
    "the loss",
    source="a number is finite or is not",
    needs="one metric with `loss` in its name",
)
def loss_not_finite(evidence: Evidence) -> Iterator[Measured]:
    """A metric with `loss` in its name is NaN or infinite."""
    for name, value in evidence.not_finite.items():
        yield Measured(1.0, {"name": name, "number": value}, curve=name)


@rule(
    "entropy-collapse",
    LEARNING,
    Severity.WARNING,
    sentence="the policy's entropy has collapsed to {late:.3g} nats, from {early:.3g} at first",
    why="A policy without entropy no longer explores: it keeps what it does now, good or bad.",
    advice="raise the entropy coefficient (PPO: `entropy_coef` 0.01), lower the learning rate, check the sign of the "
    "entropy in the loss",
    threshold=0.15,
    below=True,
    unit="of the early level: the first point, or the median of the first 5 or 20",
    source="our measurement: policies that learn CartPole stay at 0.6 to 0.9",
    needs="15 iterations with an entropy above 0; a note only if returns are much better than at first",
)
def entropy_collapse(evidence: Evidence) -> Iterator[Measured]:
    """The policy's last 10 entropies are far below its early level, in the median and the mean."""
    for series, curves in _of_learners(evidence, "entropy", FIRST + LATE):
        if _learns_temperature(curves):
            continue  # which keeps the entropy that is wanted
        early, late = max(series.values[0], series.early(FIRST), series.early(EARLY)), series.late(LATE)
        late = max(late, fmean(series.values[-LATE:]))  # each may be the entropy in one state, and low in most
        severity = Severity.NOTE if evidence.improved_much else Severity.WARNING
        if early > 0 and min(series.values) >= 0:  # that of continuous actions may be negative, and falls by itself
            yield Measured(late / early, {"early": early, "late": late}, curve=series.name, severity=severity)


@rule(
    "temperature-exploding",
    LEARNING,
    Severity.WARNING,
    sentence="the temperature has grown {value:,.0f}-fold, to {late:.3g}, and returns are no better",
    why="The policy cannot reach the entropy that is wanted, and soon entropy counts more than any reward.",
    advice="lower the target entropy (SAC: -1 per number of an action), check the sign of the temperature's loss, and "
    "scale actions to their bounds",
    threshold=100.0,
    unit="times the early level",
    source="our measurement: temperatures of SAC fall at first, and those that rise again stay below 10 times",
    needs="15 iterations with a temperature (`alpha`, `ent_coef`) that is learned",
)
def temperature_exploding(evidence: Evidence) -> Iterator[Measured]:
    """The weight of the entropy is far above its early level, though returns are no better."""
    for series, curves in _of_learners(evidence, "temperature", FIRST + LATE):
        early, late = series.early(FIRST), series.late(LATE)
        if _learns_temperature(curves) and early > 0 and not evidence.improved:
            yield Measured(late / early, {"late": late}, curve=series.name)


@rule(
    "entropy-does-not-fall",
    LEARNING,
    Severity.WARNING,
    sentence="after {steps:,} steps the policy is as random as at first (entropy {late:.3g} of {early:.3g} nats), "
    "and returns are no better",
    why="A policy that learns prefers some actions; this one does not.",
    advice="check that observations, actions and advantages in a minibatch belong together, that the optimizer has the "
    "policy's weights, and that the learning rate is not too small; lower the entropy coefficient",
    threshold=0.97,
    unit="of the early level",
    source="our measurement",
    needs="15 points, 200 episodes and 50,000 steps, with images 250,000; where most steps are rewarded, 1,000 "
    "episodes and 20,000 steps",
)
def entropy_does_not_fall(evidence: Evidence) -> Iterator[Measured]:
    """The policy's entropy is near its early level after many iterations, and returns are no better than at first."""
    for series, _ in _of_learners(evidence, "entropy", FIRST + LATE):
        early, late = series.early(FIRST), series.late(LATE)
        if early > 0 and evidence.stuck_for_long:
            yield Measured(late / early, {"early": early, "late": late, "steps": evidence.steps}, curve=series.name)


@rule(
    "kl-too-high",
    LEARNING,
    Severity.WARNING,
    sentence="the policy changes too much per update: KL divergence {value:.3g}",
    why="Data are from the policy before the update: after a large change they say little about the new one.",
    advice="lower the learning rate or the number of epochs, or stop an update early (`target_kl` 0.02)",
    threshold=0.1,
    unit="nats, median of the last 10 updates",
    source="`target_kl` of Spinning Up and CleanRL is 0.01 to 0.03",
    needs="10 updates that report a KL divergence",
)
def kl_too_high(evidence: Evidence) -> Iterator[Measured]:
    """The KL divergence between the policies before and after an update is far above usual targets."""
    for series, _ in _of_learners(evidence, "kl", LATE):
        yield Measured(series.late(LATE), curve=series.name)


@rule(
    "clip-fraction-high",
    LEARNING,
    Severity.NOTE,
    escalates=True,
    sentence="{value:.0%} of the samples are beyond PPO's clip range",
    why="Samples that are clipped no longer teach: most of an update does nothing.",
    advice="lower the learning rate or the number of epochs",
    threshold=0.3,
    unit="of the samples, median of the last 10 updates",
    source="Andrychowicz et al. 2021; tuned trainings of rl-zoo stay below 0.2",
    needs="10 updates that report a clip fraction",
)
def clip_fraction_high(evidence: Evidence) -> Iterator[Measured]:
    """A large share of the samples is clipped."""
    for series, _ in _of_learners(evidence, "clip_fraction", LATE):
        yield Measured(series.late(LATE), curve=series.name)


@rule(
    "clip-fraction-zero",
    LEARNING,
    Severity.NOTE,
    escalates=True,
    sentence="no sample has reached PPO's clip range in the last {count} updates",
    why="Updates are so small that the policy hardly moves.",
    advice="raise the learning rate or the number of epochs",
    source="a share is 0 or is not",
    needs="40 updates that report a clip fraction",
)
def clip_fraction_zero(evidence: Evidence) -> Iterator[Measured]:
    """No sample has been clipped for long."""
    for series, _ in _of_learners(evidence, "clip_fraction", LONG):
        yield Measured(float(max(series.values[-LONG:]) == 0), {"count": LONG}, curve=series.name)


@rule(
    "value-function-useless",
    LEARNING,
    Severity.NOTE,
    sentence="the value function explains nothing: explained variance {value:.2g} after {count:,} updates, and never "
    "above {best:.2g}",
    why="Advantages are then as noisy as whole returns, and the policy learns slowly or not at all.",
    advice="check that the loss of the critic is a part of the loss (`vf_coef` 0.5), that its weights are in the "
    "optimizer, and that rewards are near 1",
    threshold=0.05,
    below=True,
    unit="median of the last 10 updates, and never above 0.2 for long",
    source="our measurement: values that are learned explain 0.3 and more",
    needs="40 updates that report an explained variance, 50,000 steps, and rewards that vary",
)
def value_function_useless(evidence: Evidence) -> Iterator[Measured]:
    """The explained variance of the value function is about 0 or below, and always was."""
    returns = evidence.stepped.returns
    for series, _ in _of_learners(evidence, "explained_variance", LONG):
        best = max(median(series.values[index : index + 5]) for index in range(0, len(series.values) - 4, 5))
        if best < 0.2 and returns.low != returns.high and evidence.steps >= MANY_STEPS:
            yield Measured(series.late(LATE), {"count": series.count, "best": best}, curve=series.name)


@rule(
    "value-loss-scale",
    LEARNING,
    Severity.WARNING,
    sentence="the value loss is {loss:.3g}: values are wrong by about {error:.3g}, and no return was beyond {most:.3g}",
    why="Such errors make gradients of the critic that are thousands of times those of the policy.",
    advice="check by how much the script scales rewards; scale or normalise them to about 1, and clip gradients",
    threshold=10.0,
    unit="times the largest return",
    source="an error of a value that is larger than any return is no estimate",
    needs="10 updates that report a value loss, and 20 episodes",
)
def value_loss_scale(evidence: Evidence) -> Iterator[Measured]:
    """The error of values is far larger than any return."""
    returns = evidence.stepped.returns
    most = max(1.0, abs(returns.low), abs(returns.high))
    for series, _ in _of_learners(evidence, "value_loss", LATE):
        loss = series.late(LATE)
        if returns.count >= LEAST_POINTS and loss > 0 and most < inf:
            error = sqrt(loss)
            yield Measured(error / most, {"loss": loss, "error": error, "most": most}, curve=series.name)


@rule(
    "value-loss-growing",
    LEARNING,
    Severity.WARNING,
    sentence="the value loss has grown {value:,.0f}-fold, to {late:.3g}, and returns are no better",
    why="Values that drift away without better returns feed on themselves: each update learns from wrong targets.",
    advice="lower the learning rate, clip gradients, check that values are not bootstrapped beyond the end of an "
    "episode",
    threshold=100.0,
    unit="times the early level",
    source="our measurement: losses grow with the square of returns, and these have not grown",
    needs="40 updates that report a value loss",
)
def value_loss_growing(evidence: Evidence) -> Iterator[Measured]:
    """The value loss is far above its early level, though returns are not."""
    for series, _ in _of_learners(evidence, "value_loss", LONG):
        early, late = series.early(EARLY), series.late(LATE)
        if early > 0 and not evidence.improved:
            yield Measured(late / early, {"late": late}, curve=series.name)


@rule(
    "gradient-exploding",
    LEARNING,
    Severity.WARNING,
    sentence="the norm of the gradient is {late:.3g}, {value:,.0f} times the usual {usual:.3g}",
    why="One such update can undo what a thousand others have learned.",
    advice="clip gradients (`max_grad_norm` 0.5), lower the learning rate, look for rewards that are far too large",
    threshold=100.0,
    unit="times the median so far",
    source="our choice",
    needs="40 updates that report the norm of the gradient",
)
def gradient_exploding(evidence: Evidence) -> Iterator[Measured]:
    """The norm of the gradient is far above its median so far, for several updates."""
    for series, _ in _of_learners(evidence, "grad_norm", LONG):
        usual, late = median(series.values), min(series.values[-3:])
        if usual > 0:
            yield Measured(late / usual, {"usual": usual, "late": late}, curve=series.name)


@rule(
    "learning-rate-zero",
    LEARNING,
    Severity.WARNING,
    sentence="the learning rate has been {late:.2g} for {count} updates: nothing is learned any more",
    why="The training goes on, and the weights stay as they are.",
    advice="check the schedule of the learning rate and the number of steps that it expects",
    threshold=1e-9,
    below=True,
    source="far below what changes a float32 weight",
    needs="10 updates that report a learning rate",
)
def learning_rate_zero(evidence: Evidence) -> Iterator[Measured]:
    """The learning rate is 0."""
    for series, _ in _of_learners(evidence, "learning_rate", LATE):
        late = max(series.values[-LATE:])
        yield Measured(late, {"late": late, "count": LATE}, curve=series.name)


@rule(
    "epsilon-still-high",
    LEARNING,
    Severity.NOTE,
    escalates=True,
    sentence="{value:.0%} of the actions are random after {steps:,} steps, and returns are no better than at first",
    why="An agent that acts at random most of the time cannot show what it has learned.",
    advice="let epsilon fall within the first tenth or fifth of the steps (`exploration_fraction`)",
    threshold=0.5,
    unit="of the actions",
    source="DQN (Mnih et al. 2015) ends at 0.1, SB3 at 0.05",
    needs="20 points of epsilon, 200 episodes and 20,000 steps",
)
def epsilon_still_high(evidence: Evidence) -> Iterator[Measured]:
    """Most actions are still random, and returns are no better than at first."""
    for series, _ in _of_learners(evidence, "epsilon", LEAST_POINTS):
        if evidence.stuck:
            yield Measured(series.values[-1], {"steps": evidence.steps}, curve=series.name)


@rule(
    "return-fell",
    LEARNING,
    Severity.WARNING,
    sentence="the return rose to {best:.4g} and has fallen to {late:.4g}",
    why="What was learned is being forgotten; the best policy was an earlier one.",
    advice="evaluate the checkpoint from the best time; lower the learning rate or let it fall, lower the number of "
    "epochs, for DQN enlarge the replay",
    threshold=0.7,
    unit="of the rise, for a tenth of the training",
    source="our measurement: returns of trainings that go on learning fluctuate less",
    needs="100 points of the mean return, and a rise beyond its noise",
)
def return_fell(evidence: Evidence) -> Iterator[Measured]:
    """The mean return has risen, and lost most of its rise for a tenth of the training or longer."""
    for series, _ in _of_learners(evidence, "return", 5 * EARLY):
        values, steps = series.values, series.steps
        # Medians, as the first points are means of the few episodes that were over first, the shortest ones.
        levels = [median(values[at : at + LATE]) for at in range(len(values) - LATE + 1)]
        first, best, late = levels[0], max(levels), levels[-1]
        rise, noise = best - first, series.noise
        since = next((index for index in range(len(values) - 1, -1, -1) if values[index] > first + 0.3 * rise), 0)
        lasted = (steps[-1] - steps[since]) / max(1.0, steps[-1])
        if rise > 10 * noise and lasted > PLATEAU:
            yield Measured((best - late) / rise, {"best": best, "late": late}, curve=series.name)


@rule(
    "evaluation-far-below",
    LEARNING,
    Severity.NOTE,
    escalates=True,
    sentence="the greedy policy reaches {greedy:.4g} in evaluations, and {exploring:.4g} while it explores",
    why="The policy relies on its own noise, or the evaluation differs from the training.",
    advice="check the wrappers and normalisation of the evaluation's environments",
    threshold=0.5,
    unit="of what was gained",
    source="our choice",
    needs="2 evaluations, and returns that have risen",
)
def evaluation_far_below(evidence: Evidence) -> Iterator[Measured]:
    """The return of greedy evaluations is far below that of the exploring policy."""
    for series, curves in _of_learners(evidence, "evaluation", 2):
        returns = curves.known("return", LEAST_POINTS)
        if returns is not None and evidence.improved:
            first, exploring, greedy = returns.early(LATE), returns.late(LATE), median(series.values[-2:])
            if exploring > first:
                numbers = {"greedy": greedy, "exploring": exploring}
                yield Measured((exploring - greedy) / (exploring - first), numbers, curve=series.name)


@rule(
    "updates-too-large",
    LEARNING,
    Severity.WARNING,
    sentence="each update changes the weights by {value:.1%}",
    why="Steps of this size jump over what they look for, and forget what was learned.",
    advice="lower the learning rate tenfold; about 0.1 % is usual",
    threshold=0.03,
    unit="of the norm of the weights, median of the last 10 that were seen",
    source="a rule of thumb for such networks is 0.001; Adam at its first steps reaches 0.01",
    needs="10 steps of an optimizer, seen by `watch`",
)
def updates_too_large(evidence: Evidence) -> Iterator[Measured]:
    """The steps of the optimizer change the weights by far more than usual."""
    for series, _ in _of_learners(evidence, "update_ratio", SEEN):
        yield Measured(min(series.values[-SEEN:]), curve=series.name)


@rule(
    "weights-blown-up",
    LEARNING,
    Severity.WARNING,
    sentence="the weights are {value:,.0f} times as large as at first{rate}",
    why="Units are saturated by such weights, and what was learned before is lost.",
    advice="lower the learning rate tenfold, and clip gradients (`max_grad_norm` 0.5)",
    threshold=5.0,
    unit="times their first norm, in the first 1,000 updates",
    source="our measurement: trainings that learn stay below 3, and a learning rate of 0.1 reaches 7 in 320 updates",
    needs="10 steps of an optimizer, seen by `watch`",
)
def weights_blown_up(evidence: Evidence) -> Iterator[Measured]:
    """The norm of an optimizer's weights has grown many times over in its first updates."""
    for series, curves in _of_learners(evidence, "growth", SEEN):
        yield Measured(min(series.values[-SEEN:]), {"rate": _rate(curves)}, curve=series.name)


@rule(
    "updates-too-small",
    LEARNING,
    Severity.NOTE,
    escalates=True,
    sentence="each update changes the weights by only {value:.2g} of their norm{rate}",
    why="At this pace nothing changes within the training.",
    advice="raise the learning rate tenfold; check that gradients arrive at all",
    threshold=TINY_UPDATE,
    below=True,
    unit="of the norm of the weights, median of the last 10 that were seen",
    source="a rule of thumb for such networks is 0.001",
    needs="10 steps of an optimizer, seen by `watch`",
)
def updates_too_small(evidence: Evidence) -> Iterator[Measured]:
    """The steps of the optimizer change the weights by far less than usual, although there is a gradient."""
    for series, curves in _of_learners(evidence, "least_ratio", SEEN):
        always = max(series.values) < TINY_UPDATE  # and not only at the end of a schedule
        severity = Severity.WARNING if always else None
        yield Measured(max(series.values[-SEEN:]), {"rate": _rate(curves)}, curve=series.name, severity=severity)


@rule(
    "weights-without-gradient",
    LEARNING,
    Severity.WARNING,
    sentence="{value:.0%} of the weights that the optimizer has never got a gradient",
    why="These weights stay as they were initialised: a part of the network is not trained.",
    advice="check that every part of the loss is in the sum that `backward` is called on, that nothing is detached, "
    "and that units are not all dead",
    threshold=0.2,
    unit="of the weights",
    source="our choice: networks have unused weights, but not so many",
    needs="20 steps of an optimizer, seen by `watch`",
)
def weights_without_gradient(evidence: Evidence) -> Iterator[Measured]:
    """Weights that an optimizer has are never given a gradient other than 0."""
    for series, _ in _of_learners(evidence, "untrained", 3):
        yield Measured(series.values[-1], curve=series.name)


@rule(
    "dead-units",
    LEARNING,
    Severity.WARNING,
    sentence="{value:.0%} of the units are dead: no sample gives their weights a gradient",
    why="A unit that is 0 for all inputs learns nothing any more, and the network is as small as what is left.",
    advice="lower the learning rate, check biases and the scale of observations, use `tanh` or a leaky rectifier",
    threshold=0.5,
    unit="of the units",
    source="Sokar et al. 2023: trainings with so many dormant units stop learning",
    needs="20 steps of an optimizer, seen by `watch`",
)
def dead_units(evidence: Evidence) -> Iterator[Measured]:
    """Most units have weights that never get a gradient."""
    for series, curves in _of_learners(evidence, "dead", 3):
        untrained = curves.known("untrained", 3)
        if untrained is not None and untrained.values[-1] < 1:
            yield Measured(series.values[-1], curve=series.name)


@rule(
    "policy-not-updated",
    LEARNING,
    Severity.WARNING,
    sentence="the optimizer has made no step for {steps:,} environment steps; before, it made one every {usual:,.0f}",
    why="The environments are stepped for nothing: what they show is not learned from.",
    advice="check the condition under which the training loop calls `optimizer.step()`",
    threshold=30.0,
    unit="times the usual distance",
    source="our choice: evaluations in between are shorter",
    needs="20 points with updates, seen by `watch`, and then none for 20,000 steps",
)
def policy_not_updated(evidence: Evidence) -> Iterator[Measured]:
    """An optimizer that made steps regularly makes none any more, although the environments are stepped on."""
    for series, _ in _of_learners(evidence, "updates", 2):
        moved = [step for step, count in zip(series.steps, series.values, strict=True) if count > 0]
        since = evidence.steps - moved[-1] if moved else 0.0
        usual = moved[-1] / max(1, len(moved)) if moved else 0.0
        if since >= LEAST_STEPS and usual > 0:
            yield Measured(since / usual, {"steps": int(since), "usual": usual}, curve=series.name)


@rule(
    "gradient-always-clipped",
    LEARNING,
    Severity.NOTE,
    escalates=True,
    sentence="every update is clipped: the norm of the gradient is always {norm:.3g}",
    why="Clipping is to catch exceptions. If it catches everything, the learning rate is what the limit makes of it.",
    advice="look at the scale of rewards and of the value loss; raise `max_grad_norm` or lower the loss's scale",
    source="norms that are equal to 0.1 % are a limit",
    needs="40 updates that report the norm of the gradient",
)
def gradient_always_clipped(evidence: Evidence) -> Iterator[Measured]:
    """The norm of the gradient is the same in all updates."""
    for series, _ in _of_learners(evidence, "grad_norm", LONG):
        last = series.values[-LONG:]
        norm = median(last)
        if norm > 0:
            yield Measured(float(max(last) - min(last) < 1e-3 * norm), {"norm": norm}, curve=series.name)


@rule(
    "values-beyond-returns",
    LEARNING,
    Severity.WARNING,
    sentence="the policy expects a return of {value_mean:.4g} on average, and the best of the last episodes had "
    "{best:.4g}",
    why="Values that no episode reaches are bootstrapped from themselves: often beyond the end of an episode.",
    advice="multiply the next value by `1 - terminated` in returns and advantages; check that the flags belong to the "
    "same step as the values",
    threshold=3.0,
    unit="times the best return of the last 100 episodes",
    source="the mean value of states is below the mean return where rewards are not negative",
    needs="10 points of the mean value, 100 episodes that mostly terminate, and rewards that are not negative",
)
def values_beyond_returns(evidence: Evidence) -> Iterator[Measured]:
    """The mean value estimate is above all returns of the last episodes, though rewards are not negative."""
    stepped, returns = evidence.stepped, evidence.stepped.returns
    if returns.count < LEAST_EPISODES // 2 or stepped.negative or stepped.terminated < 2 * stepped.truncated:
        return
    best = returns.best
    for series, _ in _of_learners(evidence, "value", LATE):
        if best > 0:
            value = series.late(LATE)
            yield Measured(value / best, {"value_mean": value, "best": best}, curve=series.name)


@rule(
    "gradient-far-beyond-limit",
    LEARNING,
    Severity.WARNING,
    sentence="the gradient has a norm of {norm:.3g} and is clipped to {limit:.3g}",
    why="What is left of the policy's gradient beside a gradient of this size is nothing: the loss of values rules.",
    advice="scale or normalise rewards to about 1; look for a loss that is summed instead of averaged",
    threshold=1000.0,
    unit="times the limit, median of the last 10 that were seen",
    source="our measurement: PPO on CartPole with returns of 500 has 10 to 100",
    needs="20 calls of `clip_grad_norm_`, seen by `watch`",
)
def gradient_far_beyond_limit(evidence: Evidence) -> Iterator[Measured]:
    """The norm of the gradient before it is clipped is far beyond the limit."""
    for series, curves in _of_learners(evidence, "norm_limit", LEAST_POINTS):
        norms = curves.known("grad_norm", LEAST_POINTS)
        limit = series.late(LEAST_POINTS)
        if norms is not None and limit > 0:
            norm = norms.late(LEAST_POINTS)
            yield Measured(norm / limit, {"norm": norm, "limit": limit}, curve=norms.name)


@rule(
    "values-diverge",
    LEARNING,
    Severity.WARNING,
    sentence="the policy expects a return of {value_mean:.4g} on average, though no reward was beyond {most:.3g} and "
    "no episode longer than {longest:,} steps",
    why="Values that are bootstrapped from themselves and grow: each update learns from a larger error than before.",
    advice="use a target network and copy the weights to it regularly, multiply the next value by `1 - terminated`, "
    "keep gamma below 1, lower the learning rate",
    threshold=10.0,
    unit="times the largest reward in each of 1,000 steps, or of as many as the longest episode has",
    source="a sum of rewards cannot be larger",
    needs="10 points of the mean value, and 2,000 rewards",
)
def values_diverge(evidence: Evidence) -> Iterator[Measured]:
    """The mean value estimate is far beyond any sum of rewards."""
    stepped = evidence.stepped
    longest = stepped.returns.longest
    most = stepped.most * max(longest, HORIZON)
    for series, _ in _of_learners(evidence, "value", LATE):
        if stepped.rewards >= LEAST_REWARDS and most > 0:
            value = series.late(LATE)
            numbers = {"value_mean": value, "most": stepped.most, "longest": longest}
            yield Measured(abs(value) / most, numbers, curve=series.name)


@rule(
    "gradients-not-cleared",
    LEARNING,
    Severity.WARNING,
    sentence="each gradient is added to those of earlier updates: `zero_grad` is not called between two of them",
    why="The sum of all gradients points where the policy was wrong long ago.",
    advice="call `optimizer.zero_grad()` before `loss.backward()`",
    threshold=0.5,
    unit="of the last 10 updates that were followed",
    source="before the backward pass, a gradient is 0 or is not",
    needs="10 updates that were followed to the next one, seen by `watch`",
)
def gradients_not_cleared(evidence: Evidence) -> Iterator[Measured]:
    """An optimizer's gradients are added to what is left of those before its last step."""
    for series, _ in _of_learners(evidence, "gradients_left", 2):
        yield Measured(min(series.values[-2:]), curve=series.name)


@rule(
    "gradient-zero",
    LEARNING,
    Severity.WARNING,
    sentence="the gradient is exactly 0 in all of the last updates: the optimizer's steps teach nothing",
    why="Units or a softmax that are saturated let no gradient through, and never recover.",
    advice="lower the learning rate and the scale of observations; check that the loss depends on the weights",
    source="a gradient is 0 or is not",
    needs="10 steps of an optimizer, seen by `watch`; a note only if returns are better than at first",
)
def gradient_zero(evidence: Evidence) -> Iterator[Measured]:
    """All gradients of an optimizer are 0 for long."""
    for series, _ in _of_learners(evidence, "zero_gradients", SEEN):
        severity = Severity.NOTE if evidence.improved else Severity.WARNING
        yield Measured(min(series.values[-SEEN:]), curve=series.name, severity=severity)


@rule(
    "weights-not-finite",
    LEARNING,
    Severity.FAULT,
    sentence="{value:,.0f} weights are NaN or infinite",
    why="Every output that depends on them is NaN, too: what was learned is lost.",
    advice="look for divisions, logarithms and roots in the loss, clip gradients, lower the learning rate; "
    "`torch.autograd.set_detect_anomaly(True)` names the operation",
    source="a number is finite or is not",
    needs="a step of an optimizer, seen by `watch`",
)
def weights_not_finite(evidence: Evidence) -> Iterator[Measured]:
    """Weights of an optimizer are NaN or infinite."""
    for series, _ in _of_learners(evidence, "not_finite", 1):
        yield Measured(series.values[-1], curve=series.name)


@rule(
    "policy-not-trained",
    LEARNING,
    Severity.WARNING,
    sentence="{value:.1%} of the weights that get gradients have never changed",
    why="Gradients are computed for these weights, and no optimizer applies them.",
    advice="check that the optimizer was made with all parameters, that `optimizer.step()` is called, and that the "
    "learning rate is not too small",
    threshold=0.005,
    unit="of the weights of the modules that the script calls",
    source="a weight has changed or has not",
    needs="20 gradients of a weight in 10 s, seen by `watch`",
)
def policy_not_trained(evidence: Evidence) -> Iterator[Measured]:
    """Weights of the script's modules get gradients, and are what they were."""
    for series, _ in _of_learners(evidence, "unchanged", SEEN):
        yield Measured(min(series.values[-SEEN:]), curve=series.name)


@rule(
    "target-never-updated",
    LEARNING,
    Severity.NOTE,
    escalates=True,
    sentence="a network with the layers of the trained one has not changed in {value:,.0f} steps",
    why="If it is the target network, values learn the guesses of a network that knows nothing.",
    advice="copy the weights to the target network every 500 to 10,000 steps, or a little with each update",
    threshold=12_000.0,
    unit="steps",
    source="DQN (Mnih et al. 2015) and SB3 copy every 10,000 steps",
    needs="a module that the script calls and that gets no gradient, seen by `watch`",
)
def target_never_updated(evidence: Evidence) -> Iterator[Measured]:
    """A module stays as it was, and another one of the same class and shape is trained."""
    for series, _ in _of_learners(evidence, "fixed_copy", SEEN):
        if all(series.values[-SEEN:]):
            fixed = next(
                index for index in range(len(series.values), 0, -1) if index == 1 or not series.values[index - 2]
            )
            yield Measured(evidence.steps - series.steps[fixed - 1], curve=series.name)


@rule(
    "actions-random",
    LEARNING,
    Severity.WARNING,
    sentence="actions are as random as dice after {steps:,} steps, and returns are no better than at first",
    why="An agent that acts at random does not use what it learns, or has learned nothing.",
    advice="check that epsilon falls and that the trained policy chooses the actions; check the learning rate",
    threshold=8.0,
    unit="blocks of 2,048 successive actions, in which none is preferred, repeated or avoided",
    source="a chi-squared test",
    needs="200 episodes and 50,000 steps of an environment with actions to choose from; where most steps are rewarded, "
    "1,000 episodes and 20,000 steps",
)
def actions_random(evidence: Evidence) -> Iterator[Measured]:
    """Actions are evenly distributed, independent of each other, and always were, and returns are no better."""
    stepped = evidence.stepped
    if evidence.stuck_for_long and stepped.other_blocks <= MOST_OTHERS * stepped.random_blocks:
        yield Measured(stepped.random_blocks, {"steps": evidence.steps})


@rule(
    "policy-sees-the-same",
    LEARNING,
    Severity.WARNING,
    sentence="the policy is given the same observation in {value:.0%} of successive steps, though environments show "
    "new ones",
    why="A policy that always sees the same always does the same.",
    advice="pass what `step` returns to the policy: `observation, reward, ... = env.step(action)`",
    threshold=0.75,
    unit="of 12 pairs of successive steps",
    source="our choice: one in ten changes is that of a new episode",
    needs="12 pairs of steps in which the policy was seen by `watch`, and observations that are vectors of numbers",
)
def policy_sees_the_same(evidence: Evidence) -> Iterator[Measured]:
    """The first module that acts is given the same numbers in successive steps, and observations change."""
    seen = evidence.stepped.observed
    for series, _ in _of_learners(evidence, "same_input", 1):
        if seen.steps and seen.still < seen.steps / 2:
            yield Measured(series.values[-1], curve=series.name)


@rule(
    "policy-not-sampled",
    LEARNING,
    Severity.WARNING,
    sentence="the likeliest action is always taken, although the policy gives others a chance: actions are not drawn",
    why="The gradient of a policy is right only for actions that it has drawn, and without chance nothing is explored.",
    advice="draw actions while training (`Categorical(...).sample()`), and take the likeliest one in evaluations only",
    threshold=5.0,
    unit="standard deviations beyond how often it would be drawn",
    source="chance does this once in 3 million trainings",
    needs="20 steps in which probabilities were seen by `watch`, and steps of an optimizer",
)
def policy_not_sampled(evidence: Evidence) -> Iterator[Measured]:
    """The likeliest action is taken nearly always, and others have a considerable probability."""
    for series, curves in _of_learners(evidence, "greedy", SEEN):
        if evidence.main and curves.known("updates", SEEN) is not None:
            yield Measured(min(series.values[-SEEN:]), curve=series.name)


@rule(
    "features-collapsed",
    LEARNING,
    Severity.NOTE,
    escalates=True,
    sentence="the last layer is given features of an effective rank that is {value:.0%} of the first one, and returns "
    "are no better",
    why="States that the network no longer tells apart get the same values and actions, whatever else is learned.",
    advice="lower the learning rate, the weight decay and the number of updates per step; scale rewards to about 1",
    threshold=0.25,
    below=True,
    unit="of the first effective rank",
    source="the effective rank of Kumar et al. 2021 (delta = 0.01), most of which failing trainings lose; our "
    "measurement: it also falls in small trainings that learn",
    needs="5 looks at the inputs of last linear layers in updates with 32 rows or more, seen by `watch`, and returns "
    "that are not better than at first",
)
def features_collapsed(evidence: Evidence) -> Iterator[Measured]:
    """The effective rank of the features that a last layer is given is far below the first one."""
    for series, _ in _of_learners(evidence, "feature_rank", SEEN):
        if not evidence.improved and evidence.main:
            yield Measured(max(series.values[-SEEN:]), curve=series.name)


@rule(
    "advantages-near-zero",
    LEARNING,
    Severity.NOTE,
    escalates=True,
    sentence="advantages vary by {late:.2g}, and returns by {spread:.2g}: no action is better than expected",
    why="The policy's gradient is made of advantages: what is left of it, once they are normalised, is noise.",
    advice="check that advantages are returns minus values, not values minus themselves, and that values are computed "
    "before the update",
    threshold=0.01,
    below=True,
    unit="of the standard deviation of the returns, median of the last 10 updates",
    source="our choice: values would have to explain 99.99 % of the variance",
    needs="10 updates that report both deviations, as ppo does, and returns that are not better than at first",
)
def advantages_near_zero(evidence: Evidence) -> Iterator[Measured]:
    """Advantages hardly vary, though returns do, and returns of episodes are no better than at first."""
    for series, curves in _of_learners(evidence, "advantages", LATE):
        returns = curves.known("returns", LATE)
        if returns is not None and returns.late(LATE) > 0 and not evidence.improved:
            late, spread = series.late(LATE), returns.late(LATE)
            yield Measured(late / spread, {"late": late, "spread": spread}, curve=series.name)


@rule(
    "replay-less-used",
    LEARNING,
    Severity.NOTE,
    escalates=True,
    sentence="each transition is used by {value:.0%} of the updates that the settings ask for: they count steps of all "
    "environments as one",
    why="With several environments, more is collected per update, and learning from it takes as much longer.",
    advice="set `gradient_steps=-1`, which makes as many updates as steps were collected, or to the number of "
    "environments",
    threshold=0.5,
    below=True,
    unit="of the updates per step of `gradient_steps` and `train_freq`",
    source="the documentation of Stable-Baselines3 on several environments",
    needs="an off-policy model of Stable-Baselines3, seen by `watch`, that has learned for 1,000 steps",
)
def replay_less_used(evidence: Evidence) -> Iterator[Measured]:
    """An off-policy model makes fewer updates per step of an environment than its settings say for one environment."""
    for series, _ in _of_learners(evidence, "replay_use", SEEN):
        yield Measured(max(series.values[-SEEN:]), curve=series.name)
