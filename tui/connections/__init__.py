"""Connections to sessions."""
