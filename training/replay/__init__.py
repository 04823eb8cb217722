"""Replay: transitions sampled from a ring of slots, in which each observation is stored once."""
