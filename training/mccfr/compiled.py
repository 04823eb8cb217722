"""Compiles the solver's kernels."""

from __future__ import annotations

from pathlib import Path

from ...envs.native import compiler

compiled = compiler(Path(__file__).parent)
inlined = compiler(Path(__file__).parent, inlined=True)
