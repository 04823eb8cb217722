"""The environments that tests of backends have are found by their modules' names."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _toys(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "backends"))
