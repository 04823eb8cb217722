"""The `pac-tui` command: `commands` is what can be typed, the other modules are what it does."""
