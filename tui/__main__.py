"""`python -m pac.tui` is `pac-tui`."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
