"""Speed of the built-in games on one core."""
