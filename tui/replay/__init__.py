"""A recorded episode: looked at, stepped through, written as a film."""
