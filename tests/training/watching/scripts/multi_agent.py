"""Independent Q-learning in a parallel environment of PettingZoo."""

import numpy as np
from pettingzoo.classic import rps_v2
from pettingzoo.utils.conversions import aec_to_parallel
from tensorboardX import SummaryWriter

EPISODES, RATE = 500, 0.1

writer = SummaryWriter("runs/multi_agent")
env = aec_to_parallel(rps_v2.raw_env(num_actions=3, max_cycles=15))
random = np.random.default_rng(1)
tables = {agent: np.zeros((4, 3)) for agent in env.possible_agents}
for episode in range(EPISODES):
    observations, _ = env.reset(seed=1 if episode == 0 else None)
    totals = dict.fromkeys(env.possible_agents, 0.0)
    while env.agents:
        best = {agent: int(tables[agent][int(observations[agent])].argmax()) for agent in env.agents}
        actions = {agent: int(random.integers(3)) if random.random() < 0.2 else best[agent] for agent in env.agents}
        before = observations
        observations, rewards, terminated, truncated, _ = env.step(actions)
        for agent, action in actions.items():
            row = tables[agent][int(before[agent])]
            row[action] += RATE * (rewards[agent] - row[action])
            totals[agent] += rewards[agent]
    for agent, total in totals.items():
        writer.add_scalar(f"returns/{agent}", total, episode)
print("weights", sum(table.sum() for table in tables.values()))
env.close()
