"""An environment that prints."""

import gymnasium
from gymnasium.spaces import Discrete

TALKER = f"{__name__}:Talker"


class Talker(gymnasium.Env):
    """Prints the number of each of its steps."""

    action_space, observation_space = Discrete(2), Discrete(2)
    count = 0

    def reset(self, *, seed=None, **_):
        super().reset(seed=seed)
        return 0, {}

    def step(self, _action):
        self.count += 1
        print(f"step {self.count} of one", flush=True)  # noqa: T201 - its purpose
        return 0, 0.0, False, self.count % 10 == 0, {}
