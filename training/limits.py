"""Limits of all sessions."""

MAX_ENVS = 1_000_000
"""The largest number of environments N."""
