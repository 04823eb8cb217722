"""Scripts as users write them, which `pac-tui bench watch` runs with and without `pac-tui watch`."""
