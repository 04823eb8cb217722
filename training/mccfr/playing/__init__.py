"""Plays and evaluates trained strategies: matches, local best response, resolving."""
