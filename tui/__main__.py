"""Starts the command; Ctrl-C ends it quietly from the first moment on, while the rest is still being imported."""

import sys


def main() -> int:
    """Run a command and return its exit code."""
    try:
        from ..training.imports import importing

        with importing():
            from .cli import main as run
        return run()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
