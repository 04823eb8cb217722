"""The compilers of this task's kernels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from ..native import compiler

Function = TypeVar("Function", bound=Callable[..., object])

compiled = compiler(Path(__file__).parent)
inlined = compiler(Path(__file__).parent, inlined=True)
"""For the parts of an instruction, whose results are registers: a call would pass them through memory."""


def called(function: Function) -> Function:
    """Compile a part of the console that few instructions need: on a GPU, it is called and not inlined."""
    made: Any = function
    made.called_on_gpu = True
    return compiled(function)
