"""What can be drawn of an environment, as data: kinds, labels and colors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

PanelKind: TypeAlias = Literal["cells", "list", "pixels", "text", "bars", "table", "grid", "shades"]


@dataclass(frozen=True)
class Glyph:
    """How one code of a `cells` panel is drawn.

    Attributes:
        wide: Exactly two columns of text, for large cells.
        narrow: Exactly one column, legible without color.
        color: Foreground `#rrggbb`.
        ground: Background `#rrggbb`.
        name: Its meaning in legends and lists; a glyph without a name is not listed.
        note: Further text after the name.
    """

    wide: str
    narrow: str
    color: str
    ground: str
    name: str = ""
    note: str = ""


@dataclass(frozen=True)
class Layer:
    """A value of every cell that is drawn where cells are large enough.

    Attributes:
        field: Name of the buffer field, uint8, with the shape of the panel's field.
        kind: `pips` are 0 to 3 dots; a `meter` is a bar, full at 255.
        name: Its name in legends.
        color: `#rrggbb`.
    """

    field: str
    kind: Literal["pips", "meter"]
    name: str
    color: str


@dataclass(frozen=True)
class Sight:
    """What a seat sees of a `cells` panel: a square around the cell that contains the seat's code.

    Attributes:
        seat: The code of seat 1; that of seat k is k - 1 more.
        cells: How many cells a seat sees in each direction.
        marked: Added to the codes of the cells that the selected seat sees; these codes have glyphs, too.
    """

    seat: int
    cells: int
    marked: int


@dataclass(frozen=True)
class Panel:
    """A drawing of one environment.

    Attributes:
        kind: `cells` are uint8 codes `(H, W)` of `glyphs`, or `(T, H, W)` for a film. A `list` is uint8 codes `(K,)`,
            each on a line with name and note. `pixels` are uint8 `(H, W, 3)`. `text` is uint32 `(H, W)`, characters
            with colors as `pac.envs.text` packs them, or uint8 `(H, W)`, ASCII without colors. `bars` are float32
            `(K,)`, one per label, or `(K, 1 + C)` with C more numbers in each line. A `table` is float32 `(K,)`, shown
            as numbers. A `grid` is uint8 `(H, W, A)`, the shares of A actions in every cell, all 0 where they are
            unknown. `shades` are an image `(H, W)` of shades 0 to 3 in the encoding `2bpp`.
        title: Heading.
        field: Name of the buffer field, per environment and untimed.
        labels: Names of bars, of rows of tables, and of rows or cells of grids.
        glyphs: The glyph of every code of cells and lists, and of every action of grids.
        main: Whether this panel is the board that the summary shows.
        layers: Further values of every cell.
        full: The value of a full bar; 0 for the largest of the panel.
        columns: Headings of the numbers of bars, and of the columns of grids.
        colors: Colors of the bars if they differ, or of the shades 0 to 3 if 0 is not the darkest.
        steps: For each bar its thresholds. Bars with thresholds are listed only if they are not zero, those that have
            reached most first.
        close: Whether the characters of a text are drawn without gaps; otherwise a space may follow each.
        scrolls: Whether the last lines of a text are shown, and not the first ones, if there is no room for all.
        sight: How to mark what the selected seat sees.
        detail: Whether only the inspector shows it.
        size: Height and width of pixels before they are reduced to the size of the field; empty if they are not.
    """

    kind: PanelKind
    title: str
    field: str
    labels: tuple[str, ...] = ()
    glyphs: tuple[Glyph, ...] = ()
    main: bool = False
    layers: tuple[Layer, ...] = ()
    full: float = 0.0
    columns: tuple[str, ...] = ()
    colors: tuple[str, ...] = ()
    steps: tuple[tuple[float, ...], ...] = ()
    close: bool = False
    scrolls: bool = False
    sight: Sight | None = None
    detail: bool = False
    size: tuple[int, ...] = ()

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of all buffer fields that it draws."""
        return self.field, *(layer.field for layer in self.layers)
