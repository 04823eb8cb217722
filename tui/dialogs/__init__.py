"""What stands over the views for a while: lists, questions, help."""
