"""What a worker of the solver shows: strategies as grids of shares, and a hand that is played by them."""
