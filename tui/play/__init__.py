"""A person plays: games frame by frame, cards by numbers."""
