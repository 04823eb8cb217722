"""What any learner uses: decoding of observations and masks, torsos, distributions over actions, weights, Adam."""
