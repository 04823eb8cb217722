"""What the tests of watching share."""

import pytest

from .scripted import forget_all


@pytest.fixture(autouse=True)
def nothing_stays_watched():
    """Sessions last as long as the process: end those of each test."""
    yield
    forget_all()
