"""The compilers of this game's kernels."""

from __future__ import annotations

from pathlib import Path

from ..native import compiler

compiled = compiler(Path(__file__).parent)
inlined = compiler(Path(__file__).parent, inlined=True)
"""For the functions of every turn. A call would pass the hundred words of a `Scene`, and take longer than they do."""
