"""Apps in which the user plays: games frame by frame, and card and dice games."""
