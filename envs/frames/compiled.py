"""The compilers of this game's kernels."""

from __future__ import annotations

from pathlib import Path

from ..native import compiler

compiled = compiler(Path(__file__).parent)
inlined = compiler(Path(__file__).parent, inlined=True)
