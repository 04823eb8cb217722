"""A plugin for interpreters without PyTorch: what imports it is skipped, or kernels that take long to compile."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

MISSING = ("torch", "pac.envs.autochess.views", "pac.envs.autochess.bag", "pac.envs.gameboy.memory")


class Missing:
    """Finds no module of these names, and has pytest skip what asks for one."""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        """Skip the test, or the file of tests, that is being run or read."""
        if name in MISSING:
            raise pytest.skip.Exception(f"{name} is left out", allow_module_level=True)


@contextmanager
def skipping() -> Iterator[None]:
    """Skip in this block what imports these modules."""
    sys.meta_path.insert(0, Missing)
    try:
        yield
    finally:
        sys.meta_path.remove(Missing)


def pytest_configure(config):
    """Let a test that is skipped in its middle leave files open."""
    config.addinivalue_line("filterwarnings", "ignore::ResourceWarning")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    """Skip files of tests."""
    with skipping():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol():
    """Skip tests."""
    with skipping():
        return (yield)
