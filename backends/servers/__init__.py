"""What the servers of environments and their clients share, whatever the protocol."""
