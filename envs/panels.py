"""What can be drawn of an environment, as data: kinds, labels and colours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

PanelKind: TypeAlias = Literal["cells", "list", "pixels", "text", "bars", "table", "grid"]


@dataclass(frozen=True)
class Glyph:
    """How one code of a `cells` panel looks.

    Attributes:
        wide: Exactly two columns of text, for a cell drawn large.
        narrow: Exactly one column, legible without colour.
        color: Foreground `#rrggbb`.
        ground: Background `#rrggbb`.
        name: What it stands for, in legends and lists; one without a name is not listed.
        note: What else is said of it there.
    """

    wide: str
    narrow: str
    color: str
    ground: str
    name: str = ""
    note: str = ""


@dataclass(frozen=True)
class Layer:
    """Something more that is drawn of every cell, where cells are large enough.

    Attributes:
        field: Name of the buffer field, uint8, of the shape of its panel's.
        kind: `pips` are 0 to 3, drawn as so many signs; a `meter` is a share, 255 the whole, drawn as a bar.
        name: What it shows, for legends.
        color: Its colour `#rrggbb`.
    """

    field: str
    kind: Literal["pips", "meter"]
    name: str
    color: str


@dataclass(frozen=True)
class Panel:
    """Something that can be drawn of one environment.

    Attributes:
        kind: What is drawn: `cells` are uint8 codes `(H, W)` looked up in `glyphs`, or `(T, H, W)` for a film; a `list`
            are uint8 codes `(K,)`, one line with name and note for each; `pixels` are uint8 `(H, W, 3)`; `text` are
            uint32 `(H, W)`, letters with their colours as `pac.envs.text` packs them; `bars` are float32 `(K,)`, one
            per label, or `(K, 1 + C)` with C more numbers in each line; `table` are float32 `(K,)` shown as numbers;
            a `grid` are uint8 `(H, W, A)`, of every cell the shares of A actions, none where nothing is known.
        title: Heading.
        field: Name of the buffer field, per environment and untimed.
        labels: Names of the elements, for bars and tables; of a grid those of its rows, or of all its cells.
        glyphs: The look of every code, for cells and lists; of every action, for grids.
        main: Whether this panel is the board, the one shown in the summary.
        layers: What else is drawn of every cell.
        full: What a whole bar stands for; 0 for the largest of the panel.
        columns: Headings of the numbers, for bars that have several; of the columns, for grids.
        colors: Colours of the bars, if they differ.
        steps: For each bar the values at which it begins to count; bars that have them are listed only where they are
            not zero, those that count most first.
        close: Whether letters of a text stand side by side, as in words; else there may be a space behind each.
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

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of all the buffer fields that it draws."""
        return self.field, *(layer.field for layer in self.layers)
