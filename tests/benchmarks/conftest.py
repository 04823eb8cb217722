"""Processes that benchmarks start find this package."""

import pytest

from .__main__ import ROOT


@pytest.fixture(autouse=True)
def found_by_processes(monkeypatch):
    """Put the repository's folder on the path of other processes."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
