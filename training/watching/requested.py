"""The options of the command that started a watched script.

Attributes:
    output: The file for the script's output; None if it prints to a terminal or a file of its own.
    quiet: Whether it does not print how to attach, since an app is in front.
    keep: Whether a run is kept.
"""

output: str | None = None
quiet: bool = False
keep: bool = True
