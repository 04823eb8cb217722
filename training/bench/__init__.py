"""Measurements of the training, ratios taken in one run."""
