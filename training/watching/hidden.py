"""Functions that a script does not notice: their frames are in no traceback and in no stack."""

from __future__ import annotations

import dis
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any, TypeVar, cast

AnyFunction = TypeVar("AnyFunction", bound=Callable[..., Any])
RESUME, NOP = dis.opmap.get("RESUME"), dis.opmap["NOP"]


def hidden_code(code: CodeType, **changes: Any) -> CodeType:
    """Return code whose frames are not in tracebacks, `inspect.stack`, `sys._getframe` and the lines of warnings.

    CPython counts a frame as one of the program's from its first RESUME on, the instruction at which a function begins.
    Here a NOP takes its place.
    """
    instructions = bytearray(code.co_code)
    for place in range(0, len(instructions), 2):
        if instructions[place] == RESUME:
            instructions[place : place + 2] = bytes((NOP, 0))
            break
    return code.replace(co_code=bytes(instructions), **changes)


def hidden(function: AnyFunction) -> AnyFunction:
    """Hide the frames of a function, also those of the closures that are made of the same code later."""
    own = cast("FunctionType", function)
    own.__code__ = hidden_code(own.__code__)
    return function
