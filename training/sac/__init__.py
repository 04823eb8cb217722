"""SAC: continuous actions, learned from a replay."""
