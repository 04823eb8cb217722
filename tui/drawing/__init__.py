"""What everything on the screen is made of: ink, lines, panels, curves, numbers, themes."""
