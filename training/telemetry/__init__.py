"""What can be seen of a training: blocks in shared memory, what is counted for them, and the snapshot."""
