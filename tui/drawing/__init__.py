"""Elements of the screen: styles, widgets, panels, charts, numbers, themes."""
