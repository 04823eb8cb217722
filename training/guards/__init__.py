"""Breakpoints with their conditions, and alarms."""
