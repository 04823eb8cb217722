"""Starts apps and the processes that they show."""
