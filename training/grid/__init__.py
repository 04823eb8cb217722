"""Several trainings of one command: all combinations of seeds and settings, as many at a time as there are cores."""
