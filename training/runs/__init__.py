"""Runs: their folders and checkpoints, those that live, and what is left of those that died."""
