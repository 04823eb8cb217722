"""Maskable proximal policy optimisation: read `trainer`, then `rollout`, `gae`, `update` and `policy`."""
