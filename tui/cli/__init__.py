"""The command line: `commands` defines the commands, and the other modules implement them."""
