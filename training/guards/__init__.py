"""What stops or warns by itself: breakpoints and their conditions, alarms."""
