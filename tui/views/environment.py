"""One environment: its board, large, and all that is known of it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from textual.app import ComposeResult
from textual.widget import Widget

from ...training.description import PanelLook
from ...training.snapshot import Look, Snapshot
from ..boards import Boards, Drawing, drawing_of
from ..governor import GRID
from ..lines import Lines
from ..panels import FRAME, Maker, Rows, Section, beside, column, pages, shares
from ..plain import PlainVertical
from . import curves, figures, thoughts
from .base import Shot, View
from .inspect import inspected
from .panels import FEWEST, PanelSection, legend, stacked
from .wait import Waiting

LEAST_RIGHT, LEAST_COLUMN, NARROW = 58, 44, 100
WIDE = 80
TALL, FEW = 26, 4
LEAST_CURVE = 8


class EnvironmentView(View):
    """A board and its figures: the task's panels, episode, policy, reward terms, scalars, perf, learning.

    What is said of the environment follows its board within a tenth of a second; curves and speeds come less often.
    """

    def __init__(self, *, colors: bool) -> None:
        super().__init__(id="environment")
        self._colors = colors
        self._panels: tuple[PanelLook, ...] | None = None
        self._main: PanelLook | None = None
        self._others: list[PanelSection] = []
        self._kept: dict[tuple[str, int, int], Rows] = {}
        self._env = 0
        self._said = 0.0
        self._page, self._count = 0, 1
        self._waiting, self._board = Waiting(), Boards(id="board")
        self._below, self._facts, self._more = Lines(id="below"), Lines(id="details"), Lines(id="more")
        self._table = PlainVertical(self._waiting, self._board, self._below, id="table")

    def compose(self) -> ComposeResult:
        """The board on the left, panels below it where there is room, columns of panels on the right."""
        yield self._table
        yield self._facts
        yield self._more

    def look(self, env: int) -> Look:
        """One environment, its policy output and the learning curve."""
        return Look(first=env, count=1, focus=env, curves=self.curves)

    def show(self, shot: Shot) -> None:
        """Draw the board, and what is known of it at that moment."""
        snapshot, env = shot.snapshot, shot.env
        self.curves = curves.curves_of(snapshot)
        self._prepare(snapshot, env)
        quiet = self._waiting.take(shot)
        self._board.display = self._below.display = not quiet
        self.set_class(shot.inspecting, "-inspecting")
        if quiet or snapshot.focus != env or env >= len(snapshot.environments):
            return
        if shot.figures:
            self._kept.clear()
        board = stacked(self._main, snapshot.focus_boards) if self._main else np.zeros((1, 1), np.uint8)
        self._board.show(board[None], figures.frames_of(snapshot, env, 1, shot.now, None))
        if not shot.figures and 0 <= shot.now - self._said < GRID:
            return
        self._said = shot.now
        below, rest = self._divided(shot)
        self._below.show(column(below, *self._below.size))
        self._show_facts([*rest, *self._fact_sections(shot)])
        if not shot.inspecting:
            self._show_more(shot)
        elif shot.closely or shot.figures:
            self._more.show(inspected(snapshot, *self._more.size))

    def _prepare(self, snapshot: Snapshot, env: int) -> None:
        """Take over another task or environment: its board and its other panels."""
        panels, colors = snapshot.description.panels, self._colors
        if panels != self._panels or env != self._env:
            drawings: dict[str, Drawing] = {panel.field: drawing_of(panel, colors=colors) for panel in panels}
            self._main = main = snapshot.description.board
            if panels != self._panels:
                self._board.use(drawings[main.field] if main else drawing_of(None), 1)
            self._others = [PanelSection(panel, drawings[panel.field]) for panel in panels if panel is not main]
        self._panels, self._env = panels, env
        self._arrange()

    def _arrange(self) -> None:
        """Give the board the columns it takes at the largest scale that leaves room for the panels."""
        width, height = self.size
        least = LEAST_RIGHT if width >= NARROW else LEAST_COLUMN
        grid = self._board.fit_within(max(width // 2 if width < WIDE else width // 4, width - least), height)
        if grid is not None:
            _resize(self._table, width=min(width, grid.tile[0]))
            _resize(self._board, height=min(height, grid.tile[1]))
            self.set_class(width - grid.tile[0] < LEAST_RIGHT, "-single")

    def _divided(self, shot: Shot) -> tuple[list[Section], list[Section]]:
        """Return the task's panels that stand below the board, and those beside it: each is where it fits whole."""
        below: list[Section] = []
        rest: list[Section] = []
        width, left = self._below.size
        for other in self._others:
            section, tall = other.section(shot.snapshot.focus_boards, shot.now), other.height(width)
            fits = tall <= left and other.scale(width - FRAME).columns <= width - FRAME
            (below if fits else rest).append(section)
            left -= tall if fits else 0
        main = self._main
        if main and any(glyph.name for glyph in main.glyphs):
            board, colors = shot.snapshot.focus_boards[main.field], self._colors
            names = Section(
                "Actions" if main.kind == "grid" else main.title,
                lambda room, _: legend(main, board, room, colors=colors),
                fills=True,
                least=FEWEST,
            )
            (below if left >= FEWEST + 2 else rest).append(names)
        return below, rest

    def _known(self, shot: Shot, *, tall: bool) -> dict[str, Section]:
        """What is known of the environment, by name; of episodes only where there are any."""
        snapshot, env = shot.snapshot, shot.env
        seat, perf = (
            thoughts.seat_of(snapshot),
            lambda *room: thoughts.perf(snapshot, env, room[0])[: None if tall else FEW],
        )
        known = {
            "state": Section("State", lambda width, _: thoughts.info(snapshot, env, width), fills=True, least=4),
            "perf": Section("Perf", perf),
            "goal": curves.goal_section(shot, self._keeping("curve", lambda *room: curves.curve(shot, *room))),
        }
        if not snapshot.description.units.episodes:
            return known
        note = " · ".join(filter(None, (f"{int(snapshot.environments['episode'][env]) + 1:,}", seat)))
        thought = partial(thoughts.policy, snapshot, env)
        return known | {
            "episode": Section("Episode", lambda width, _: thoughts.episode(snapshot, env, width), note=note),
            "policy": Section("Policy", lambda width, _: thought(width), fills=not tall, least=3, note=seat),
            "reward": Section("Reward", lambda width, _: thoughts.reward(snapshot, env, width), whole=tall),
        }

    def _fact_sections(self, shot: Shot) -> list[Section]:
        """What stands beside the board; all of it where there is but one column, in pages."""
        single = self.has_class("-single")
        names = ("episode", "policy", "state", "reward", "perf", "goal") if single else ("episode", "state")
        known = self._known(shot, tall=False)
        known["goal"] = replace(known["goal"], least=LEAST_CURVE)
        return [known[name] for name in names if name in known]

    def _show_facts(self, sections: list[Section]) -> None:
        """One page of them."""
        found = pages(sections, *self._facts.size)
        self._page, self._count = min(self._page, len(found) - 1), len(found)
        self._facts.show(column(found[self._page], *self._facts.size))

    @property
    def pages(self) -> tuple[int, int]:
        """See the base class."""
        return self._page + 1, self._count

    def turn_page(self, by: int) -> None:
        """Show other panels."""
        self._page = min(self._count - 1, max(0, self._page + by))

    def _show_more(self, shot: Shot) -> None:
        """Policy, reward, perf and the curve; where there is room, the trainer's figures beside them."""
        width, height = self._more.size
        tall = height >= TALL
        known = self._known(shot, tall=tall)
        names = ("policy", "reward", "perf", "goal") if tall else ("policy", "reward", "perf")
        sections = [known[name] for name in names if name in known]
        if width < WIDE:
            self._more.show(column(sections, width, height))
            return
        widths = shares(width, 2)
        learning = self._keeping("learning", lambda *room: figures.learning(shot.snapshot, room[0]))
        trainer = Section("Learning", learning, fills=True)
        blocks = [column(part, wide, height) for part, wide in zip((sections, [trainer]), widths, strict=True)]
        self._more.show(beside(blocks, widths))

    def _keeping(self, name: str, make: Maker) -> Maker:
        """Return what makes rows anew only when figures are due."""

        def rows(width: int, height: int) -> Rows:
            found = self._kept.get((name, width, height))
            if found is None:
                found = self._kept[name, width, height] = make(width, height)
            return found

        return rows


def _resize(widget: Widget, *, width: int | None = None, height: int | None = None) -> None:
    """Set what differs: every change arranges the screen anew."""
    if width is not None and (widget.styles.width is None or widget.styles.width.value != width):
        widget.styles.width = width
    if height is not None and (widget.styles.height is None or widget.styles.height.value != height):
        widget.styles.height = height
