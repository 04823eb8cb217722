"""What a person sees and types: the command, the app, its views and widgets."""
