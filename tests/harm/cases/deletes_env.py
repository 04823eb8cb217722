"""Deletes and collects its environments between trainings, and saves for a second after each."""
import gc
import time
import gymnasium as gym

for kind in ("CartPole-v1", "Acrobot-v1"):
    envs = gym.make_vec(kind, num_envs=3, vectorization_mode="sync")
    envs.action_space.seed(0)
    envs.reset(seed=1)
    total = sum(float(envs.step(envs.action_space.sample())[1].sum()) for _ in range(300))
    del envs
    print(kind, "collected", gc.collect() >= 0, total, flush=True)
    time.sleep(0.6)
    open(f"{kind}.txt", "w").write(str(total))
print("saved")
