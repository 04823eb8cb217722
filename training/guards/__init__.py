"""Breakpoints with their conditions."""
