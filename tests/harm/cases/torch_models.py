"""Saves, copies and pickles its networks and optimizers between updates, and prints what it has learned."""
# environment: PYTHONWARNINGS=error
# needs: torch gymnasium

import copy
import hashlib
import io
import pickle
import time

import gymnasium as gym
import torch
from torch import nn
from torch.distributions import Categorical


def digest(net):
    """Return a hash of the weights of a network."""
    return hashlib.sha256(b"".join(weight.detach().numpy().tobytes() for weight in net.parameters())).hexdigest()[:16]


torch.manual_seed(0)
torch.set_num_threads(1)
envs = gym.make_vec("CartPole-v1", num_envs=4, vectorization_mode="sync")
actor = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(actor.parameters(), 1e-2)
averaged = copy.deepcopy(actor)
seen, _ = envs.reset(seed=1)
begun = time.time()
for update in range(60):
    losses = []
    for _ in range(32):
        policy = Categorical(logits=actor(torch.as_tensor(seen)))
        action = policy.sample()
        seen, reward, *_ = envs.step(action.numpy())
        losses.append(-(policy.log_prob(action) * torch.as_tensor(reward)).mean())
    optimizer.zero_grad()
    torch.stack(losses).mean().backward()
    norm = nn.utils.clip_grad_norm_(actor.parameters(), 0.5)
    optimizer.step()
    with torch.no_grad():
        for mine, weight in zip(averaged.parameters(), actor.parameters(), strict=True):
            mine.lerp_(weight, 0.1)
    saved = io.BytesIO()
    torch.save({"net": actor, "optimizer": optimizer.state_dict(), "norm": norm}, saved)
    copied = copy.deepcopy(actor)
    pickled = pickle.dumps(actor)
    assert digest(copied) == digest(pickle.loads(pickled)) == digest(actor)
    again = torch.load(io.BytesIO(saved.getvalue()), weights_only=False)
    assert digest(again["net"]) == digest(actor)
    if update % 10 == 0:
        print(update, digest(actor), digest(averaged), float(norm), len(saved.getvalue()), len(pickled))
        print([weight.grad.norm().item() for weight in actor.parameters()])
    while time.time() < begun + 0.1 * update:  # long enough that steps of the optimizer are looked at
        time.sleep(0.01)
print("function", nn.utils.clip_grad_norm_.__name__, nn.utils.clip_grad_norm_.__module__)
envs.close()
