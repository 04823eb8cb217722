"""One environment: its board, large, and all that is known of it."""

from __future__ import annotations

import numpy as np
from textual.app import ComposeResult
from textual.widget import Widget

from ...envs.task import Array
from ...training.description import PanelLook
from ...training.snapshot import Look, Snapshot
from ..boards import Boards, Drawing, Frame, drawing_of
from ..ink import FAINT
from ..lines import Lines
from ..numbers import figure
from ..panels import Section, beside, column, shares
from ..plain import PlainVertical
from . import figures, thoughts
from .base import Shot, View
from .inspect import inspected
from .wait import Waiting

LEAST_RIGHT = 58
WIDE = 80
TALL, FEW = 26, 4
LOW, SLIM = 8, 30


class EnvironmentView(View):
    """A board and its figures: episode, perf, policy, reward terms, the task's own scalars, learning."""

    def __init__(self, *, colors: bool) -> None:
        super().__init__(id="environment")
        self._colors = colors
        self._panels: tuple[PanelLook, ...] | None = None
        self._drawings: dict[str, Drawing] = {}
        self._waiting, self._board = Waiting(), Boards(id="board")
        self._extras = PlainVertical(id="extras")
        self._facts, self._more = Lines(id="facts"), Lines(id="more")
        self._table = PlainVertical(self._waiting, self._board, id="table")

    def compose(self) -> ComposeResult:
        """The board on the left, columns of panels on the right."""
        yield self._table
        yield PlainVertical(self._extras, self._facts, id="details")
        yield self._more

    def look(self, env: int) -> Look:
        """One environment, its policy output and the learning curve."""
        return Look(first=env, count=1, focus=env, curves=(figures.RETURN,))

    def show(self, shot: Shot) -> None:
        """Draw the board, and what else is due."""
        self._prepare(shot.snapshot)
        quiet = self._waiting.take(shot)
        self._board.display = not quiet
        if not quiet:
            self._show_boards(shot)
        self.set_class(shot.inspecting, "-inspecting")
        if shot.inspecting:
            if shot.closely or shot.figures:
                self._more.show(inspected(shot.snapshot, *self._more.size))
        elif shot.figures and shot.env < len(shot.snapshot.environments):
            self._facts.show(column(self._fact_sections(shot), *self._facts.size))
            self._show_more(shot)

    def _prepare(self, snapshot: Snapshot) -> None:
        """Take over another task: its board and its other panels."""
        panels = snapshot.description.panels
        if panels != self._panels:
            self._drawings = {panel.field: drawing_of(panel, colors=self._colors) for panel in panels}
            main = snapshot.description.board
            self._board.use(self._drawings[main.field] if main else drawing_of(None), 1)
            self._extras.remove_children()
            others = [panel for panel in panels if panel is not main]
            self._extras.mount(*(_Extra(panel, self._drawings[panel.field]) for panel in others))
        self._panels = panels
        self._arrange()

    def _arrange(self) -> None:
        """Give the board the columns it takes at the largest scale that leaves room for the panels."""
        width, height = self.size
        grid = self._board.fit_within(max(width // 4, width - LEAST_RIGHT), height)
        if grid is not None:
            _widen(self._table, min(width, grid.tile[0]))

    def _show_boards(self, shot: Shot) -> None:
        snapshot, env = shot.snapshot, shot.env
        main = snapshot.description.board
        if snapshot.focus != env or env >= len(snapshot.environments):
            return
        board: Array = snapshot.focus_boards[main.field][None] if main else np.zeros((1, 1), np.uint8)
        self._board.show(board, figures.frames_of(snapshot, env, 1, shot.now, None))
        for extra in self._extras.query(_Extra):
            extra.take(snapshot)

    def _fact_sections(self, shot: Shot) -> list[Section]:
        snapshot, env = shot.snapshot, shot.env
        return [
            Section("Episode", lambda width, _: thoughts.episode(snapshot, env, width)),
            Section("State", lambda width, _: thoughts.info(snapshot, env, width), fills=True),
        ]

    def _show_more(self, shot: Shot) -> None:
        """Perf, policy, reward and the curve; where there is room, the trainer's figures beside them."""
        snapshot, env = shot.snapshot, shot.env
        width, height = self._more.size
        tall = height >= TALL
        sections = [
            Section("Perf", lambda width, _: thoughts.perf(snapshot, env, width)[: None if tall else FEW]),
            Section("Policy", lambda width, _: thoughts.policy(snapshot, env, width), fills=not tall),
            Section("Reward", lambda width, _: thoughts.reward(snapshot, env, width)),
        ]
        if tall:
            latest = figure(snapshot.metrics.get(figures.RETURN))
            title = "Return, mean of 100 episodes"
            sections.append(Section(title, lambda *room: figures.curve(shot, *room), fills=True, note=latest))
        if width < WIDE:
            self._more.show(column(sections, width, height))
            return
        widths = shares(width, 2)
        trainer = Section("Learning", lambda width, _: figures.learning(snapshot, width), fills=True)
        blocks = [column(part, wide, height) for part, wide in zip((sections, [trainer]), widths, strict=True)]
        self._more.show(beside(blocks, widths))


class _Extra(Boards):
    """A small panel beside the board, such as the next pill."""

    def __init__(self, panel: PanelLook, drawing: Drawing) -> None:
        super().__init__()
        self._panel = panel
        modest = [scale for scale in drawing.scales if scale.lines <= LOW and scale.columns <= SLIM]
        usual = [scale for scale in modest if scale.name in {"wide", "close"}]
        small = (usual or modest or [drawing.scales[-1]])[0]
        self.styles.width, self.styles.height = small.columns + 2, small.lines + 2
        self.use(drawing, 1)

    def take(self, snapshot: Snapshot) -> None:
        """Show this panel's field of the environment that is looked at."""
        self.show(snapshot.focus_boards[self._panel.field][None], [Frame(self._panel.title, color=FAINT)])


def _widen(widget: Widget, width: int) -> None:
    if widget.styles.width is None or widget.styles.width.value != width:
        widget.styles.width = width
