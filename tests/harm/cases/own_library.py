"""An environment class without a library, with reset and step as Gymnasium has them, and one with the old interface."""
import random


class Line:
    def __init__(self, size):
        self.size = size

    def reset(self, seed=None):
        random.seed(seed)
        self.x = 0
        return self.x, {}

    def step(self, action):
        self.x += 1 if action else -1
        return self.x, float(self.x), abs(self.x) >= self.size, False, {}


class Old(Line):
    def reset(self):
        return super().reset()[0]

    def step(self, action):
        observation, reward, over, _, info = super().step(action)
        return observation, reward, over, info


total = 0.0
for env in (Line(5), Old(5)):
    env.reset()
    for _ in range(500):
        _, reward, over, *_ = env.step(random.Random(total).random() > 0.5)
        total += reward
        if over:
            env.reset()
print(total, type(env) is Old)
