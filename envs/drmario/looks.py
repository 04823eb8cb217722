"""The glyphs of the bottle's cells, by the codes of `view`."""

from __future__ import annotations

from ..panels import Glyph

COLOR_NAMES = ("amber", "rose", "sky")
BRIGHT = ("#e3b55b", "#e0708f", "#67a5ea")
DIM = ("#3b2f17", "#3d1f2b", "#1b2d44")
INK = ("#7a5a1a", "#7d2a44", "#22588f")
EYES = ("oo", "><", "^^")
GLASS = "#13151d"

# Pills are filled cells with their outline drawn in: half-block glyphs leave seams in many fonts.
SHAPES = ("()", "( ", " )", "/\\", "\\/")

EMPTY = Glyph(wide="  ", narrow=" ", color=GLASS, ground=GLASS)
HALVES = tuple(
    Glyph(wide=shape, narrow=name[0], color=ink, ground=bright)
    for shape in SHAPES
    for name, ink, bright in zip(COLOR_NAMES, INK, BRIGHT, strict=True)
)
VIRUSES = tuple(
    Glyph(wide=eyes, narrow=name[0].upper(), color=bright, ground=dim)
    for name, eyes, bright, dim in zip(COLOR_NAMES, EYES, BRIGHT, DIM, strict=True)
)
GLYPHS = (EMPTY, *HALVES, *VIRUSES)
"""Nothing, then amber, rose and sky of: single half, left, right, top, bottom, virus."""
