"""Measures the backends and compares their trajectories."""
