"""Environments behind HTTP: the server, its client and the backend `http`."""
