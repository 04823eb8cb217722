"""Recorded episodes: the app that shows them, and the export as asciicast or GIF."""
