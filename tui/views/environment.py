"""One environment: its board, and everything known of it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from textual.app import ComposeResult
from textual.widget import Widget

from ...envs.fields import Array
from ...training.telemetry.description import ShapedPanel
from ...training.telemetry.records import Phase
from ...training.telemetry.snapshot import Snapshot, ViewRequest
from ..boards import BoardGrid, Renderer, renderer_for
from ..drawing.panels import BORDER, Maker, Rows, Section, column, columns, pages, shares, taken
from ..drawing.plain import PlainVertical
from ..drawing.widgets import TextLines
from . import environment_rows, goal, number_rows
from .base import BaseView, ViewUpdate
from .borders import borders_of, with_messages
from .curves import Curves, main_curves
from .environment_rows import replayed
from .inspect import inspected
from .panels import FEWEST, PanelSection, legend, stacked, with_sight
from .status_message import StatusMessage

LEAST_RIGHT, LEAST_COLUMN, NARROW = 58, 44, 100
WIDE = 80
TALL = 26
LEAST_CURVE, SLIMMEST_CURVE = 8, 36
TALLEST_CURVE = 16
"""Lines of a curve, from twice of which on there are two."""
LEAST_TRAINER = 6
LOW_GOAL, LEAST_GOAL, HIGH_GOAL = 3, 5, 15


class EnvironmentView(BaseView):
    """A board and the panels of its environment: task panels, episode, policy, reward terms, scalars, speed, learning.

    Details follow the board within a tenth of a second. Curves and speeds are drawn less often.
    """

    def __init__(self, *, colors: bool) -> None:
        super().__init__(id="environment")
        self._colors = colors
        self._panels: tuple[ShapedPanel, ...] | None = None
        self._main: ShapedPanel | None = None
        self._small: Renderer | None = None
        self._large: Renderer | None = None
        self._shown_large = False
        self._others: list[PanelSection] = []
        self._details: list[PanelSection] = []
        self._kept: dict[tuple[str, int, int], Rows] = {}
        self._curves = Curves()
        self._env = 0
        self._waiting, self._board = StatusMessage(), BoardGrid(id="board")
        self._below, self._facts, self._more = TextLines(id="below"), TextLines(id="details"), TextLines(id="more")
        self._table = PlainVertical(self._waiting, self._board, self._below, id="table")

    def compose(self) -> ComposeResult:
        """The board on the left with panels below it if there is room, and columns of panels on the right."""
        yield self._table
        yield self._facts
        yield self._more

    def restyle(self, *, colors: bool) -> None:
        """Forget the drawn board, panels and curves."""
        self._colors, self._panels, self._curves = colors, None, Curves()
        self._kept.clear()

    def request(self, env: int) -> ViewRequest:
        """Request one environment, its policy output and the learning curve."""
        return ViewRequest(first=env, count=1, focus=env, curves=self.curves)

    def show(self, update: ViewUpdate) -> None:
        """Draw the board and the panels."""
        snapshot, env = update.snapshot, update.env
        self.curves = main_curves(snapshot, update.curves)
        quiet = self._waiting.take(update)
        self._board.display = self._below.display = not quiet
        self.set_class(quiet, "-quiet")
        self._prepare(snapshot, env)
        self._choose_board(snapshot)
        self.set_class(update.inspecting, "-inspecting")
        if quiet or snapshot.focus != env or env >= len(snapshot.environments):
            return
        if update.numbers:
            self._kept.clear()
        board = self._board_of(snapshot)
        borders = borders_of(snapshot, env, 1, update.now, None)
        self._board.show(board[None], with_messages(borders, board[None], snapshot, snapshot.moment))
        if not update.details:
            return
        others = [self._curves.section(update, name, LEAST_CURVE) for name in self.curves[1:]]
        below, rest = self._divided(update, others)
        known = self._known(update)
        self._below.show(column(below, *self._below.size))
        count = self._show_facts(self._fact_sections(rest, known, others)) if self._facts.display else 1
        if not update.inspecting:
            self._show_more(known, others)
        else:
            count = max(count, self._inspect(update))
        self._page, self._pages = min(self._page, count - 1), count

    def _board_of(self, snapshot: Snapshot) -> Array:
        if self._main is None:
            return np.zeros((1, 1), np.uint8)
        if snapshot.large is not None:
            return snapshot.large
        return with_sight(self._main, stacked(self._main, snapshot.focus_boards), snapshot.seat)

    def _prepare(self, snapshot: Snapshot, env: int) -> None:
        panels, colors = snapshot.description.panels, self._colors
        if panels != self._panels or env != self._env:
            renderers: dict[str, Renderer] = {panel.field: renderer_for(panel, colors=colors) for panel in panels}
            self._main = main = snapshot.description.board
            if panels != self._panels:
                self._small = renderers[main.field] if main else renderer_for(None)
                self._large = None
                self._board.use(self._small, 1)
            others = [PanelSection(panel, renderers[panel.field]) for panel in panels if panel is not main]
            self._others = [other for other in others if not other.panel.detail]
            self._details = [other for other in others if other.panel.detail]
        self._panels, self._env = panels, env
        self._arrange()

    def _choose_board(self, snapshot: Snapshot) -> None:
        """Draw the picture in large if there is one, which the terminal shows in real pixels."""
        if snapshot.large is not None and self._large is None and self._main is not None:
            self._large = renderer_for(replace(self._main, shape=snapshot.large.shape), colors=self._colors)
        self._shown_large = snapshot.large is not None
        chosen = self._large if self._shown_large else self._small
        if chosen is not None:
            self._board.use(chosen, 1)

    @property
    def in_large(self) -> bool:
        """Whether the board is a picture in large."""
        return self._shown_large

    def show_picture(self, pixels: Array) -> None:
        """Show a newer picture in large, and nothing else."""
        self._board.show_pictures(pixels[None])

    def _arrange(self) -> None:
        """Draw the board at the largest scale that leaves room for the panels."""
        width, height = self.size
        least = LEAST_RIGHT if width >= NARROW else LEAST_COLUMN
        grid = self._board.fit_within(max(width // 2 if width < WIDE else width // 4, width - least), height)
        if self.has_class("-quiet"):
            _resize(self._table, width=width)
        elif grid is not None:
            # A board that is cut in any case leaves room for the panels.
            taken = grid.tile[0] if grid.tile[0] <= width else max(1, width - least)
            _resize(self._table, width=taken)
            _resize(self._board, height=min(height, grid.tile[1]))
            self.set_class(width - taken < LEAST_RIGHT, "-single")

    def _divided(self, update: ViewUpdate, others: list[Section]) -> tuple[list[Section], list[Section]]:
        """Return the task's panels below the board, if they fit uncut, and those beside it.

        If there is room for one of the curves `others`, it is moved from that list to the panels below the board.
        """
        below: list[Section] = []
        rest: list[Section] = []
        width, left = self._below.size
        kept = update.snapshot.moment is None or update.snapshot.moment.shown
        for other in self._others:
            tall = other.height(width)
            fits = tall <= left and other.scale(width - BORDER).columns <= width - BORDER
            room = width if fits else self._facts.size.width
            section = other.section(update.snapshot.focus_boards, update.now, room, kept=kept)
            (below if fits else rest).append(section)
            left -= tall if fits else 0
        main = self._main
        if kept and main and any(glyph.name for glyph in main.glyphs):
            board, colors = update.snapshot.focus_boards[main.field], self._colors
            names = Section(
                "Actions" if main.kind == "grid" else main.title,
                lambda room, _: legend(main, board, room, colors=colors),
                fills=True,
                least=FEWEST,
            )
            (below if left >= FEWEST + 2 else rest).append(names)
            left -= FEWEST + 2
        if others and left >= LEAST_CURVE + 2 and width >= SLIMMEST_CURVE:
            below.append(others.pop(0))
        return below, rest

    def _known(self, update: ViewUpdate) -> dict[str, Section]:
        """The panels of the environment by name; those of episodes, scalars, terms and learning only if it has any."""
        snapshot, env, about = update.snapshot, update.env, update.snapshot.description
        tall = self._tall
        seat = environment_rows.seat_of(snapshot)
        learning = self._keeping("learning", lambda *room: number_rows.learning(snapshot, room[0]))
        known: dict[str, Section] = {}
        if not replayed(snapshot):  # an episode has no speed
            known["perf"] = Section("Perf", lambda width, _: environment_rows.perf(snapshot, env, width))
        if snapshot.phase is not Phase.PAUSED or goal.goal_of(snapshot)[1] is not None:  # in a replay, nothing learns
            least = LEAST_CURVE if self.has_class("-single") else LEAST_GOAL
            known["goal"] = goal.section(update, self._curves, least, fills=True)
            known["low goal"] = goal.section(update, self._curves, LOW_GOAL)
            known["line goal"] = goal.section(update, self._curves, 1)
            known["high goal"] = goal.section(update, self._curves, HIGH_GOAL)
            known["trainer"] = Section("Trainer", learning)
        if set(about.info) - set(number_rows.REPEATED):
            known["info"] = Section("Info", lambda width, _: environment_rows.info(snapshot, env, width))
        if not about.units.episodes:
            return known
        number = environment_rows.counted(int(snapshot.environments["episode"][env]), first=1)
        note = " · ".join(filter(None, (number, seat)))
        known["episode"] = Section(
            "Episode", lambda width, _: environment_rows.episode(snapshot, env, width), note=note
        )
        if environment_rows.has_policy(snapshot):
            thought = partial(environment_rows.policy, snapshot, env)
            known["policy"] = Section("Policy", lambda width, _: thought(width), fills=not tall, least=3, note=seat)
        if about.reward_terms:
            known["reward"] = Section(
                "Reward", lambda width, _: environment_rows.reward(snapshot, env, width), whole=tall
            )
        return known

    @property
    def _tall(self) -> bool:
        """Whether all panels on the right fit uncut."""
        return self.size.height >= TALL

    @property
    def _broad(self) -> bool:
        """Whether the trainer's figures have their own column."""
        return self._more.size.width >= WIDE

    def _fact_sections(self, rest: list[Section], known: dict[str, Section], others: list[Section]) -> list[Section]:
        """The panels in the column next to the board after `rest`: all, in pages, if there is only one column."""
        single = self.has_class("-single")
        names: tuple[str, ...] = ("episode", "info")
        if single:
            several = ("episode", "policy", "info", "reward", "perf")
            fits = taken([*rest[:1], *_chosen(known, "low goal")], *self._facts.size) <= self._facts.size.height
            names = (*several, "goal") if self._tall else ("low goal" if fits else "line goal", *several)
        found = [*rest, *_chosen(known, *names)]
        if self._broad and not single:
            return _filled(found, others, *self._facts.size, spared=2)  # one for each of the other columns
        trainer = _chosen(known, "trainer")
        whole = [*found, *trainer]
        if not single and others and taken(whole, *self._facts.size) + LEAST_CURVE + 2 <= self._facts.size.height:
            return [*whole, others[0]]
        return [*found, *(replace(section, fills=True, least=LEAST_TRAINER) for section in trainer)]

    def _show_facts(self, sections: list[Section]) -> int:
        """Draw one page of the column next to the board; return the number of pages."""
        found = pages(sections, *self._facts.size)
        self._facts.show(column(found[min(self._page, len(found) - 1)], *self._facts.size))
        return len(found)

    def _show_more(self, known: dict[str, Section], others: list[Section]) -> None:
        """Draw the measure of success, policy, reward and speed; if there is room, the trainer beside them."""
        width, height = self._more.size
        facts = _chosen(known, "policy", "reward", "perf")
        if self._broad:
            wide = shares(width, 2)
            groups = [facts, _chosen(known, "high goal", "trainer")]
            filled = [_filled(group, others, room, height) for group, room in zip(groups, wide, strict=True)]
            self._more.show(columns(filled, wide, height))
            return
        if self._tall or "policy" not in known:
            self._more.show(column([*_chosen(known, "goal"), *facts], width, height))
            return
        found, perf = _chosen(known, "low goal", "policy", "reward"), known.get("perf")
        fixed = [section for section in found if not section.fills]
        spare = height - taken(fixed, width, height) - known["policy"].least - 4
        brief = [] if perf is None or spare <= 0 else [replace(perf, rows=lambda *room: perf.rows(*room)[:spare])]
        self._more.show(column([*found, *brief], width, height))

    def _inspect(self, update: ViewUpdate) -> int:
        """Draw a page of everything known of the environment; return the number of pages."""
        snapshot, (width, height) = update.snapshot, self._more.size
        details = [each.section(snapshot.focus_boards, update.now, width // 2) for each in self._details]
        rows, count = inspected(
            snapshot, width, height, self._page, details=details, old=update.age, alone=not self._facts.display
        )
        self._more.show(rows)
        return count

    def _keeping(self, name: str, make: Maker) -> Maker:
        """Return a function that makes rows again only when figures are due."""

        def rows(width: int, height: int) -> Rows:
            found = self._kept.get((name, width, height))
            if found is None:
                found = self._kept[name, width, height] = make(width, height)
            return found

        return rows


def _filled(
    sections: list[Section], others: list[Section], width: int, height: int, *, spared: int = 0
) -> list[Section]:
    """Return sections with curves below them: as many of `others` as have room, which are removed from these.

    Of these, `spared` are left if there is more than one.
    """
    count = max(1, min((height - taken(sections, width, height)) // TALLEST_CURVE, len(others) - spared))
    curves, others[:] = others[:count], others[count:]
    return [*sections, *curves]


def _chosen(known: dict[str, Section], *names: str) -> list[Section]:
    return [known[name] for name in names if name in known]


def _resize(widget: Widget, *, width: int | None = None, height: int | None = None) -> None:
    """Set only a size that differs, since every change makes Textual lay out the screen again."""
    if width is not None and (widget.styles.width is None or widget.styles.width.value != width):
        widget.styles.width = width
    if height is not None and (widget.styles.height is None or widget.styles.height.value != height):
        widget.styles.height = height
