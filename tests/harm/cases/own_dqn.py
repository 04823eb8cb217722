"""A small DQN with one environment, a state without a batch, and a compiled-in evaluation: weights at the end."""
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
env, eval_env = gym.make("CartPole-v1"), gym.make("CartPole-v1")
state, _ = env.reset(seed=0)
for step in range(600):
    action = net(torch.as_tensor(state)).argmax().item() if random.random() > 0.2 else random.randrange(2)
    following, reward, terminated, truncated, _ = env.step(action)
    memory.append((state, action, reward, following, terminated))
    state = env.reset()[0] if terminated or truncated else following
    if step % 4 == 0 and step > 50:
        batch = random.sample(memory, 16)
        states, actions, rewards, followings, ends = (torch.as_tensor(np.array(each)) for each in zip(*batch))
        target = rewards.float() + 0.99 * net(followings).detach().amax(1) * ~ends
        loss = (net(states).gather(1, actions[:, None])[:, 0] - target).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if step % 200 == 199:
        seen, total, over = eval_env.reset(seed=1)[0], 0.0, False
        while not over:
            seen, reward, terminated, truncated, _ = eval_env.step(net.forward(torch.as_tensor(seen)).argmax().item())
            total, over = total + reward, terminated or truncated
        print(step, total, loss.item())
print(hashlib.sha256(b"".join(each.detach().numpy().tobytes() for each in net.parameters())).hexdigest(), type(net).__name__, list(vars(net)))
