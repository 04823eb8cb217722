"""Environments on the device of the policy."""
