"""What any learner can use: the device buffer, decoding, torsos, action distributions, gradient steps, weights."""
