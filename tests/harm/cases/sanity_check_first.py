"""Checks the environment with Gymnasium's checker, closes it, then trains with another one and evaluates in between."""
import warnings
import gymnasium as gym
from gymnasium.utils.env_checker import check_env

warnings.simplefilter("ignore")
check = gym.make("CartPole-v1")
check_env(check.unwrapped, skip_render_check=True)
check.close()


def evaluate():
    eval_env = gym.make("CartPole-v1")
    eval_env.reset(seed=7)
    total, over = 0.0, False
    while not over:
        _, reward, terminated, truncated, _ = eval_env.step(int(total) % 2)
        total, over = total + reward, terminated or truncated
    eval_env.close()
    return total


env = gym.make("CartPole-v1")
env.action_space.seed(0)
env.reset(seed=0)
for step in range(1500):
    observation, _, terminated, truncated, _ = env.step(env.action_space.sample())
    if terminated or truncated:
        env.reset()
    if step % 300 == 299:
        print(step, evaluate(), observation.tolist())
env.close()
