"""Telemetry: blocks in shared memory that a session writes, the counts behind them, and the snapshot of a viewer."""
