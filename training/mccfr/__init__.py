"""Solving two-player zero-sum games by counterfactual regret minimisation, sampled and exact."""
