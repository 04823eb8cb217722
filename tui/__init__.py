"""The command line, the app, its views and widgets."""
