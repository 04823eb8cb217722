"""Names of sessions: training and evaluation environments of one script are distinguished by where they are made."""

from __future__ import annotations

import linecache
import re
import sys
from types import FrameType

EVALUATION = "eval"
FUNCTION = re.compile(r"(^|_)eval", re.IGNORECASE)
VARIABLE = re.compile(r"(^|_)(eval|test|valid)", re.IGNORECASE)
ASSIGNED = re.compile(r"\s*(?:self\.)?(\w+)\s*(?::[^=]+)?=[^=]")
MAX_FRAMES = 40


def creation_label() -> str:
    """Return `eval` if the environment that is being made is for evaluation, else an empty text.

    It is for evaluation if a function on the stack is called so, or the variable that a function's result is assigned
    to: `eval_env = make_env()`, `evaluate(policy)`, `self.test_envs = ...`.
    """
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - the only way to see who calls
    for _ in range(MAX_FRAMES):
        if frame is None:
            break
        if frame.f_globals.get("__package__") != __package__:
            line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
            assigned = ASSIGNED.match(line)
            if FUNCTION.search(frame.f_code.co_name) or (assigned and VARIABLE.search(assigned[1])):
                return EVALUATION
        frame = frame.f_back
    return ""
