"""Benchmarks. Speeds are compared as ratios within one run."""
