"""Independent learners: an agent per seat, each with its own network, replay and learner."""
