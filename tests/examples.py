"""The number of examples of property tests: that of the profile, or a share of it where an example takes long."""

from hypothesis import settings


def one_in(number: int) -> settings:
    """Return settings with one example for so many of the profile."""
    return settings(max_examples=max(1, settings().max_examples // number))
