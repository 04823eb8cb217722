"""A new environment for each of 200 episodes: some closed, some deleted, some forgotten."""
import gymnasium as gym

total, kept = 0.0, []
for episode in range(200):
    env = gym.make("CartPole-v1")
    env.reset(seed=episode)
    over = False
    while not over:
        observation, reward, terminated, truncated, _ = env.step((episode + int(total)) % 2)
        total, over = total + reward, terminated or truncated
    if episode % 3 == 0:
        env.close()
    elif episode % 3 == 1:
        kept.append(env)
print("total", total, observation.tolist())
