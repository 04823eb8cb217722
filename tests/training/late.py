"""Environments whose infos have numbers that a first step does not show."""

from gymnasium.spaces import Box, Discrete

from ..backends.kinds import Small

LATE = f"{__name__}:Late"
TEAM = f"{__name__}:Team"


class Late(Small):
    """`second` and a number within a dict appear at the second step, `won` at an end, `lucky` after some resets.

    With `more`, further numbers appear at every step.
    """

    def __init__(self, *, more=False):
        self.more = more
        self.total = 0

    def reset(self, *, seed=None, **_):
        seen, _ = super().reset(seed=seed)
        return seen, {"lucky": 7} if self.np_random.random() < 0.2 else {}

    def step(self, action):
        *results, over, cut, _ = super().step(action)
        info = {"first": self.count} | ({"parts": {"odd": self.count % 2}, "second": 2.0} if self.count > 1 else {})
        self.total += 1
        info |= {f"more{chr(65 + self.total)}": 1.0} if self.more and 1 < self.total < 30 else {}
        return *results, over, cut, info | ({"won": float(action)} if over else {})


class Team:
    """A parallel environment of two agents, who report their number from the second step on."""

    metadata: dict[str, list[str]] = {"render_modes": []}  # noqa: RUF012
    possible_agents = ["a", "b"]  # noqa: RUF012

    def action_space(self, _agent):
        return Discrete(2)

    def observation_space(self, _agent):
        return Box(0, 9, (1,))

    def of_each(self, value):
        return {agent: value(place) for place, agent in enumerate(self.agents)}

    def reset(self, **_):
        self.agents, self.count = list(self.possible_agents), 0
        return self.of_each(lambda _: [0.0]), self.of_each(lambda _: {})

    def step(self, _actions):
        self.count += 1
        seen, rewards = self.of_each(lambda _: [self.count]), self.of_each(lambda _: 1.0)
        over, cut = self.of_each(lambda _: self.count == 5), self.of_each(lambda _: False)
        infos = self.of_each(lambda place: {"number": place + 1} if self.count > 1 else {})
        self.agents = [] if self.count == 5 else self.agents
        return seen, rewards, over, cut, infos

    def close(self):
        pass
