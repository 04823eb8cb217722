"""Sessions, telemetry, algorithms, runs and measurements."""
