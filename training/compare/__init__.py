"""Two policies on the same task: in lockstep on one seed, or on many seeds with paired statistics."""
