"""Steps of agents per second on one core: `python -m pac.training.bench.games.gridworld`."""

from __future__ import annotations

import sys

import numpy as np

from ....envs.registry import find
from ....envs.task import allocate
from .rates import median_rate

EIGHT = "treasure:agents=8"
ENVIRONMENTS = 32
STEPS = 16


def agent_steps_per_second(spec: str = EIGHT, seconds: float = 1.0) -> float:
    """Return steps of agents per second of one thread with random actions, with observations written into a rollout.

    Args:
        spec: The task and its parameters.
        seconds: CPU time of the measurement, without compilation.
    """
    task = find(spec)
    buffers = allocate(task, ENVIRONMENTS, STEPS + 1)
    environments = task.make(0, ENVIRONMENTS, buffers, 0)
    environments.reset(np.ones(ENVIRONMENTS, np.bool_), 0)
    actions = buffers["action"]
    actions[...] = np.random.default_rng(0).integers(task.num_actions, size=actions.shape)

    def work() -> int:
        for slot in range(STEPS):
            environments.step(slot)
        return STEPS * ENVIRONMENTS * task.players

    return median_rate(work, seconds)


def main() -> None:
    """Print the figures."""
    for spec in (EIGHT, "staghunt:agents=8,size=15"):
        sys.stdout.write(f"{spec}: {agent_steps_per_second(spec, 2.0):,.0f} agent steps/s on one core\n")


if __name__ == "__main__":
    main()
