"""Shows a session of another machine: a relay there sends its telemetry over a pipe, and gets commands."""
