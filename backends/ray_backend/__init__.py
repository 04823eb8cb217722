"""Environments on the nodes of a Ray cluster. Only this backend uses Ray, and only if it is requested."""
