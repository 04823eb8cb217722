"""A task without a game, to measure the cost of passing a step from the environment to the learner."""
