"""Two policies side by side: the list of seeds, and both in lockstep on one of them."""
