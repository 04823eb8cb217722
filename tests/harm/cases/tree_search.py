"""A tree search: copies of the environment are stepped before the environment itself."""
import copy
import gymnasium as gym


def value(env, depth):
    if depth == 0:
        return 0.0
    best = float("-inf")
    for action in range(2):
        twin = copy.deepcopy(env)
        _, reward, terminated, truncated, _ = twin.step(action)
        best = max(best, reward + (0.0 if terminated or truncated else value(twin, depth - 1)))
    return best


env = gym.make("CartPole-v1")
env.reset(seed=3)
for step in range(12):
    scores = []
    for action in range(2):
        twin = copy.deepcopy(env)
        observation, reward, *_ = twin.step(action)
        scores.append(value(twin, 2) - abs(float(observation[2])))
    observation, _, terminated, _, _ = env.step(scores.index(max(scores)))
    print(step, observation.tolist(), scores)
