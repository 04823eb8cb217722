"""Closes its environment, then saves a model and prints."""
import time
import gymnasium as gym

env = gym.make("CartPole-v1")
total = 0.0
for episode in range(20):
    env.reset(seed=episode)
    over = False
    while not over:
        _, reward, terminated, truncated, _ = env.step(episode % 2)
        total, over = total + reward, terminated or truncated
env.close()
time.sleep(1)
with open("model.txt", "w") as file:
    file.write(f"{total}\n")
print("model saved", total)
