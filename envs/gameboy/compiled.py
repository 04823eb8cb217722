"""The compilers of this task's kernels."""

from __future__ import annotations

from pathlib import Path

from ..native import compiler

compiled = compiler(Path(__file__).parent)
inlined = compiler(Path(__file__).parent, inlined=True)
"""For the parts of an instruction, whose results are registers: a call would pass them through memory."""
