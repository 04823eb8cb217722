"""The algorithms: counterfactual regret minimization by sampling, on tables that workers share, and on whole trees."""
