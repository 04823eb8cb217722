"""Exit codes of the command and of a session's process."""

DONE, FAILED, BAD_USAGE, INTERRUPTED = 0, 1, 2, 130
