"""What a task's name may stand for in somebody's module: things to call, and things not to."""

from __future__ import annotations

from functools import partial
from os import system  # noqa: F401 - somebody may name it
from shutil import rmtree  # noqa: F401 - as above
from typing import TYPE_CHECKING, Any

import gymnasium

from ..backends.faulty import Counter

if TYPE_CHECKING:
    from gymnasium import Env as Environment


def annotated(length: int = 7) -> gymnasium.Env[Any, Any]:
    return Counter(length)


def unannotated(length=7):
    return Counter(length)


def annotated_for_checkers(length: int = 7) -> Environment:
    return Counter(length)


def says_text() -> str:
    raise AssertionError("called")


class Maker:
    def __call__(self, length=7):
        return Counter(length)

    @classmethod
    def made(cls, length=7):
        return Counter(length)


class NoEnvironment:
    def __init__(self):
        raise AssertionError("called")


class Wrapped(gymnasium.Wrapper):
    """A wrapper that makes its environment, whose class has no metadata of its own."""

    def __init__(self, length: int = 7, render_mode: str | None = None) -> None:  # noqa: ARG002 - it renders nothing
        super().__init__(Counter(length))


prefilled = partial(Counter, length=5)
callable_object = Maker()
method = Maker.made
