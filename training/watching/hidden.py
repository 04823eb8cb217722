"""Functions that a script does not notice: their frames are in no traceback and in no stack."""

from __future__ import annotations

import dis
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar, cast

AnyFunction = TypeVar("AnyFunction", bound=Callable[..., Any])
RESUME, NOP = dis.opmap.get("RESUME"), dis.opmap["NOP"]


def hidden(function: AnyFunction) -> AnyFunction:
    """Hide the frames of a function, also its closures', from tracebacks, `inspect.stack`, `sys._getframe` and warnings.

    CPython counts a frame as one of the program's from its first RESUME on, the instruction at which a function begins.
    Here a NOP takes its place. Before Python 3.11, there is no such instruction, and frames stay visible.
    """
    own = cast("FunctionType", function)
    code = bytearray(own.__code__.co_code)
    for place in range(0, len(code), 2):
        if code[place] == RESUME:
            code[place : place + 2] = bytes((NOP, 0))
            break
    own.__code__ = own.__code__.replace(co_code=bytes(code))
    return function
