"""A small DQN with one environment, whose policy sees one state at a time."""
# needs: torch
import hashlib
import random
import gymnasium as gym
import numpy as np
import torch
from torch import nn

random.seed(0)
torch.manual_seed(0)
torch.set_num_threads(1)
net, memory = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2)), []
optimizer = torch.optim.Adam(net.parameters(), 1e-3)
env = gym.wrappers.RecordEpisodeStatistics(gym.make("CartPole-v1", render_mode="rgb_array"))
state, _ = env.reset(seed=0)
for step in range(2_500):
    action = net(torch.as_tensor(state)).argmax().item() if random.random() > 0.2 else random.randrange(2)
    following, reward, terminated, truncated, _ = env.step(action)
    memory.append((state, action, reward, following, terminated))
    state = env.reset()[0] if terminated or truncated else following
    if step % 10 == 0 and step > 50:
        batch = random.sample(memory, 16)
        states, actions, rewards, followings, ends = (torch.as_tensor(np.array(each)) for each in zip(*batch))
        target = rewards.float() + 0.99 * net(followings).detach().amax(1) * ~ends
        loss = (net(states).gather(1, actions[:, None])[:, 0] - target).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(hashlib.sha256(b"".join(each.detach().numpy().tobytes() for each in net.parameters())).hexdigest(), random.random())
