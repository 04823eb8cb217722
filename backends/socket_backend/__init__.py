"""Environments behind a socket: the binary protocol, its server, its client and the backend `socket`."""
