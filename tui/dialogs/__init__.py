"""Dialogs over the views: lists, questions, help."""
