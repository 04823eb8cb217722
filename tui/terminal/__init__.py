"""The terminal: its modes, text for it, and pictures of it."""
