"""PPO as a trainer, against a slow loop that learns from the same rollouts."""

from copy import deepcopy
from typing import Any

import numpy as np
import pytest
import torch

from pac.envs.fields import FINAL_OBSERVATION
from pac.training.ppo.trainer import PPO

from ..alone import context, started
from ..corridor import corridor

ENVS, ITERATIONS, MEAN, LIMIT = 7, 4, 1e-8, 10.0
SCHEDULED = ("learning_rate", "entropy_coefficient", "clip")
CASES: dict[str, dict[str, Any]] = {
    "discounts": {"gamma": 0.8, "gae_lambda": 0.6},
    "discounts per frame": {"gamma": 0.8, "gae_lambda": 0.6, "gamma_per_frame": True},
    "values": {"value_coefficient": 2.5},
    "Huber": {"huber_value_loss": True, "normalize_reward": True},
    "gradients": {"max_grad_norm": 0.05},
    "advantages": {"normalize_advantage": False},
    "minibatches": {"normalize_per_minibatch": True},
    "rewards": {"normalize_reward": True},
    "rewards per frame": {"normalize_reward": True, "gamma": 0.8, "gamma_per_frame": True},
    "schedules": {
        "learning_rate": "50:3e-3,150:6e-3,200:1e-3",
        "entropy_coefficient": "0:0.1,100:0,300:1",
        "clip": "100:0.3,300:0.02",
    },
    "one pass": {"epochs": 1, "minibatch": 115},
    "passes": {"epochs": 6, "target_kl": 0.016, "learning_rate": 6e-3},
}


class ByHand:
    """Learns what a trainer learns; `stops` are the passes after which its updates ended."""

    def __init__(self, trainer):
        self.settings, self.policy = trainer.settings, deepcopy(trainer.policy)
        self.shuffle = torch.Generator()
        self.shuffle.set_state(trainer.learner.state()[0]["generator.shuffle"])
        self.weights = list(self.policy.parameters())
        self.moments = [(torch.zeros_like(each), torch.zeros_like(each)) for each in self.weights]
        self.decisions = self.steps = 0
        self.stops, self.returns, self.sums = [], [], np.zeros(ENVS)

    def value(self, name):
        points: Any = np.array(getattr(self.settings, name), ndmin=2)
        return float(np.interp(self.decisions, points[:, 0], points[:, -1]))

    def scaled(self, rewards, discounts, ends):
        """Divide by the deviation of the discounted returns so far."""
        for reward, discount, end in zip(rewards, discounts, ends, strict=True):
            self.sums = self.sums * discount + reward
            self.returns.append(self.sums)
            self.sums = np.where(end, 0, self.sums)
        return np.clip(rewards / np.std(self.returns), -LIMIT, LIMIT)

    @torch.no_grad()
    def advantages(self, buffer, last):
        """Sum discounted errors forwards from every step; nothing follows a termination."""
        s, steps = self.settings, len(last)
        values = np.array([self.policy.value(torch.tensor(seen)).numpy() for seen in buffer["observation"]])
        finals = np.array([self.policy.value(torch.tensor(seen)).numpy() for seen in last])
        terminated, truncated = buffer["terminated"][1:] > 0, buffer["truncated"][1:] > 0
        rewards = buffer["reward"][1:]
        discounts = s.gamma ** (buffer["frames"][1:] if s.gamma_per_frame else np.ones_like(rewards))
        if s.normalize_reward:
            rewards = self.scaled(rewards, discounts, terminated | truncated)
        advantages = np.zeros((steps, ENVS))
        for start in range(steps):
            for row in range(ENVS):
                weight = 1.0
                for t in range(start, steps):
                    follows = values[t + 1, row]
                    if terminated[t, row]:
                        follows = 0
                    elif truncated[t, row]:
                        follows = finals[t, row]
                    error = rewards[t, row] + discounts[t, row] * follows - values[t, row]
                    advantages[start, row] += weight * error
                    weight *= discounts[t, row] * s.gae_lambda
                    if terminated[t, row] or truncated[t, row]:
                        break
        return torch.tensor(advantages.ravel(), dtype=torch.float32), torch.tensor(values[:-1].ravel())

    def learn(self, buffer, last):
        """Learn from a rollout; return the means of the statistics."""
        s = self.settings
        advantages, values = self.advantages(buffer, last)
        seen, masks, actions = (
            torch.tensor(buffer[name][:-1]).flatten(0, 1) for name in ("observation", "action_mask", "action")
        )
        with torch.no_grad():
            old = self.policy.distribution.likelihood(self.policy(seen, masks)[0], actions).log_probability
        returns, count = advantages + values, max(1, len(actions) // s.minibatch)
        if s.normalize_advantage and not s.normalize_per_minibatch:
            advantages = (advantages - advantages.mean()) / (advantages.std(correction=0) + MEAN)
        batch, statistics = (seen, masks, actions, old, advantages, returns), []
        for _ in range(s.epochs):
            parts = torch.randperm(len(actions), generator=self.shuffle).tensor_split(count)
            statistics += [self.step(*batch, rows=rows) for rows in parts]
            if s.target_kl and np.mean([kl for *_, kl in statistics[-count:]]) > s.target_kl:
                break
        self.stops.append(len(statistics) // count)
        self.decisions += len(actions)
        return np.mean(statistics, 0)

    def step(self, *batch, rows):
        """Take one gradient step."""
        seen, masks, actions, old, advantages, returns = (each[rows] for each in batch)
        s, clip = self.settings, self.value("clip")
        if s.normalize_per_minibatch:
            advantages = (advantages - advantages.mean()) / (advantages.std(correction=0) + MEAN)
        outputs, values = self.policy(seen, masks)
        new, entropy, _ = self.policy.distribution.likelihood(outputs, actions)
        ratio, error = (new - old).exp(), (values - returns).abs()
        gain = torch.minimum(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages).mean()
        squares = torch.where(error < 1, error**2 / 2, error - 0.5) if s.huber_value_loss else error**2 / 2
        loss = s.value_coefficient * squares.mean() - gain - self.value("entropy_coefficient") * entropy.mean()
        gradients = torch.autograd.grad(loss, self.weights)
        norm = torch.cat([each.flatten() for each in gradients]).norm()
        self.steps += 1
        with torch.no_grad():
            for weight, (mean, square), gradient in zip(self.weights, self.moments, gradients, strict=True):
                clipped = gradient * min(1.0, s.max_grad_norm / float(norm))
                mean.lerp_(clipped, 0.1)
                square.lerp_(clipped**2, 0.001)
                scale = (square / (1 - 0.999**self.steps)).sqrt() + 1e-5
                weight.sub_(self.value("learning_rate") * mean / (1 - 0.9**self.steps) / scale)
        outside = ((ratio - 1).abs() > clip).float().mean()
        kl = (ratio - 1 - ratio.log()).mean()
        return torch.stack((-gain, squares.mean(), entropy.mean(), outside, norm, kl)).tolist()


def flat(policy):
    return torch.cat([each.detach().flatten() for each in policy.parameters()])


@pytest.mark.parametrize(("case", "both"), [*((case, False) for case in CASES), ("discounts", True)])
@pytest.mark.thorough
def test_what_is_learned_is_what_a_slow_loop_learns(case, both):
    """Each setting has its effect where it should, also in later updates, and where both ends come at once."""
    given: Any = context(corridor(both=both, toll=0.1), batch=115, **CASES[case])
    with started(PPO, given, ENVS) as trainer:
        envs = trainer.owner.envs
        advance, last, learner = envs.advance, [], ByHand(trainer)

        def advance_and_keep(slot):
            advance(slot)
            last.append(envs.buffer[FINAL_OBSERVATION][slot + 1].copy())

        envs.advance, before = advance_and_keep, flat(trainer.policy)
        for _ in range(ITERATIONS):
            last.clear()
            rates = [learner.value(name) for name in SCHEDULED]
            found = trainer.iterate()
            policy, value, entropy, outside, norm, kl = learner.learn(envs.buffer, last)
            assert [found[name] for name in SCHEDULED] == pytest.approx(rates)
            shown = {"loss/policy": policy, "loss/value": value, "loss/entropy": entropy, "approx_kl": kl}
            shown |= {"clip_fraction": outside, "grad_norm": norm}
            assert {name: found[name] for name in shown} == pytest.approx(shown, rel=1e-3, abs=1e-5)
            own, other = flat(learner.policy), flat(trainer.policy)
            assert (own - other).norm() <= 5e-3 * (own - before).norm() + 1e-4
            before = own
    ends = (envs.buffer["terminated"] & envs.buffer["truncated"]).any(), envs.buffer["truncated"].any()
    assert ends == (both, True)
    assert case != "passes" or 1 < min(learner.stops) < max(learner.stops) == trainer.settings.epochs
