"""Solving two-player zero-sum games by counterfactual regret minimization, sampled and exact."""
