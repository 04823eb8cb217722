"""What the operating system offers: cores, control groups, futexes, shared memory."""
