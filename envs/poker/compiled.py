"""Compiles the stepping of poker's games."""

from __future__ import annotations

from pathlib import Path

from ..native import compiler

compiled = compiler(Path(__file__).parent)
inlined = compiler(Path(__file__).parent, inlined=True)
