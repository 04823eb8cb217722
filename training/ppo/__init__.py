"""Proximal policy optimization with action masks: start with `trainer`, then `rollout`, `gae`, `update`, `policy`."""
