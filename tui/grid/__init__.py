"""Several trainings of one command on one screen."""
