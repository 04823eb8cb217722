"""What the operating system offers: cores, futexes, shared memory."""
