"""EnvPool with Gymnasium's interface, synchronously and by send and recv."""
# needs: envpool
import envpool
import numpy as np

envs = envpool.make_gymnasium("CartPole-v1", num_envs=4, seed=1)
observations, _ = envs.reset()
total = 0.0
for step in range(200):
    observations, rewards, *_ = envs.step(np.full(4, step % 2))
    total += float(rewards.sum()) + float(observations[0, 0])
print(total)
envs = envpool.make_gymnasium("CartPole-v1", num_envs=4, batch_size=2, seed=1, num_threads=1)
envs.async_reset()
for _ in range(50):
    _, rewards, _, _, infos = envs.recv()
    envs.send(np.zeros(2, np.int32), infos["env_id"])
print(rewards.shape)
