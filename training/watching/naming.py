"""Where an environment was made, which says what it is for and which others are like it."""

from __future__ import annotations

import linecache
import re
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple

EVALUATION = "eval"
FUNCTION, TRAINS = re.compile(r"(^|_)eval", re.IGNORECASE), re.compile(r"train|main|experiment", re.IGNORECASE)
VARIABLE = re.compile(r"(^|_)(eval|test|valid)", re.IGNORECASE)
ASSIGNED = re.compile(r"\s*(?:self\.)?(\w+)\s*(?::[^=]+)?=[^=]")
MAX_FRAMES = 40
OWN = str(Path(__file__).parent)


class Caller(NamedTuple):
    """A function that was running, and its line."""

    code: CodeType
    line: int


def callers(frame: FrameType | None) -> tuple[Caller, ...]:
    """Return the functions that are running, the innermost first, without pac-tui's own."""
    found: list[Caller] = []
    while frame is not None and len(found) < MAX_FRAMES:
        if not frame.f_code.co_filename.startswith(OWN):
            found.append(Caller(frame.f_code, frame.f_lineno))
        frame = frame.f_back
    return tuple(found)


def creation_label(calls: tuple[Caller, ...]) -> str:
    """Return `eval` if an environment was made for evaluation, else an empty text.

    It is for evaluation if a function that was running is called so, or the variable that a function's result is
    assigned to: `eval_env = make_env()`, `evaluate(policy)`, `self.test_envs = ...`.
    """
    for code, line in calls:
        assigned = ASSIGNED.match(linecache.getline(code.co_filename, line))
        evaluates = FUNCTION.search(code.co_name) and not TRAINS.search(code.co_name)
        if evaluates or (assigned and VARIABLE.search(assigned[1])):
            return EVALUATION
    return ""
