"""A flame view in characters: the functions of all samples, each as wide as its share, what it calls below it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..drawing.numbers import percent
from ..drawing.styles import BRIGHT, FAINT, GROUND, LINE, TEXT, Row, blank, fit, styled

LEAST = 2
"""Columns from which on a function is drawn."""


@dataclass
class Flame:
    """A function in all stacks that begin alike.

    Attributes:
        name: The function.
        kind: What most of its samples are for.
        count: Samples with it.
        calls: What it calls.
    """

    name: str
    kind: str = ""
    count: int = 0
    calls: dict[str, Flame] = field(default_factory=dict)
    kinds: dict[str, int] = field(default_factory=dict)

    @property
    def ordered(self) -> list[Flame]:
        """What it calls, the widest first."""
        return sorted(self.calls.values(), key=lambda one: (-one.count, one.name))


class Placed(NamedTuple):
    """A function on the screen: its row, its columns, and the indices of its place among what each caller calls."""

    row: int
    begin: int
    end: int
    path: tuple[int, ...]
    flame: Flame


def flame_of(stacks: Iterable[tuple[Sequence[str], str, int]], name: str = "all") -> Flame:
    """Return the root over stacks: each the names of its functions, the outermost first, its kind and its count."""
    root = Flame(name)
    for names, kind, count in stacks:
        here = root
        for each in (None, *names):
            here = here if each is None else here.calls.setdefault(each, Flame(each))
            here.count += count
            here.kinds[kind] = here.kinds.get(kind, 0) + count
            here.kind = max(here.kinds, key=here.kinds.__getitem__)
    return root


def at_path(root: Flame, path: Sequence[int]) -> tuple[Flame, tuple[int, ...]]:
    """Return the function at a path, and the path as far as it exists: samples come and go."""
    here, found = root, []
    for index in path:
        calls = here.ordered
        if not calls:
            break
        found.append(min(index, len(calls) - 1))
        here = calls[found[-1]]
    return here, tuple(found)


def place(root: Flame, width: int, height: int, path: tuple[int, ...] = ()) -> list[Placed]:
    """Return which functions are where; those that are less than `LEAST` columns wide are left out."""
    found = [Placed(0, 0, width, path, root)]
    for one in found:
        if one.row + 1 >= height or not one.flame.count:
            continue
        begin, scale = one.begin, (one.end - one.begin) / one.flame.count
        exact = float(begin)
        for index, call in enumerate(one.flame.ordered):
            exact += call.count * scale
            end = min(one.end, round(exact))
            if end - begin >= LEAST:
                found.append(Placed(one.row + 1, begin, end, (*one.path, index), call))
            begin = end
    return found


def moved(placed: Sequence[Placed], cursor: tuple[int, ...], across: int, down: int) -> tuple[int, ...]:
    """Return the path of the function next to the one at the cursor: what it calls, its caller, or one on its row."""
    here = next((one for one in placed if one.path == cursor), placed[0])
    if down > 0:
        below = [one for one in placed if one.path[:-1] == here.path and one.row == here.row + 1]
        return below[0].path if below else here.path
    if down < 0:
        return here.path[:-1] if here.row else here.path
    row = [one for one in placed if one.row == here.row]
    return row[max(0, min(len(row) - 1, row.index(here) + across))].path


def render(root: Flame, size: tuple[int, int], zoom: tuple[int, ...], cursor: tuple[int, ...]) -> list[Row]:
    """Return the rows of the flame view, whose last one describes the function at the cursor.

    Args:
        root: All samples.
        size: Columns and rows.
        zoom: The path of the function that is as wide as the view.
        cursor: The path of the selected function, at or below `zoom`.
    """
    width, height = size
    top, zoom = at_path(root, zoom)
    selected, cursor = at_path(root, cursor)
    rows = []
    placed = place(top, width, height - 1, zoom)
    for row in range(height - 1):
        at, cells = 0, []
        for one in (one for one in placed if one.row == row):
            cells += [blank(one.begin - at)] * (one.begin > at)
            chosen = one.path == cursor
            mark = "▶" if chosen else "▏"
            text = mark + fit(one.flame.name, max(0, one.end - one.begin - 1))
            ground = GROUND if chosen else LINE
            cells.append(styled(text, BRIGHT if chosen else TEXT, ground=ground, bold=chosen))
            at = one.end
        rows.append((*cells, blank(max(0, width - at))))
    share, part = selected.count / max(1, root.count), selected.count / max(1, top.count)
    own = (selected.count - sum(one.count for one in selected.calls.values())) / max(1, root.count)
    shown = f"{percent(100 * share, 1)} of all, {percent(100 * own, 1)} itself"
    shown += f", {percent(100 * part, 1)} of the zoom" if zoom else ""
    rows.append(
        (styled(fit(f"{shown}  {selected.kind}  {selected.name}", width), FAINT if not root.count else BRIGHT),)
    )
    return rows
