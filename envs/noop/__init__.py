"""A task without a game, to measure what it costs to carry a step from the environment to the learner."""
