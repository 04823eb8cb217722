"""The algorithms: counterfactual regret minimisation by sampling, on tables that workers share, and on whole trees."""
