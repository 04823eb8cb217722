"""The boards of a solver's worker: strategies as grids, and a hand that is played with them."""
