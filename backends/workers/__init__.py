"""Worker processes: how they are started, supervised and replaced, and the backend `shm`."""
