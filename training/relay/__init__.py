"""Shows a session on another machine, where a relay sends its telemetry over a pipe and receives commands."""
