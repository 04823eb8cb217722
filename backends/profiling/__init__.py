"""Where the threads of a process spend their time: samples of their stacks, on demand."""
