"""Runs on disk: folders, metadata, metrics, checkpoints; and the sessions that are running or died."""
