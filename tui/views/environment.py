"""One environment: its board, large, and all that is known of it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.message import Message

from ...training.snapshot import Look, PanelLook, Snapshot
from ..boards import Boards, Drawing, Frame, drawing_of
from ..chart import chart
from ..ink import FAINT, Row, part
from ..lines import Panel
from . import figures, thoughts
from .base import Shot, View
from .summary import CURVE
from .wait import Waiting

LEAST_RIGHT = 58
TALL = 26
FEW = 4
MAKERS: dict[str, Callable[[Snapshot, int, int], list[Row]]] = {
    "episode": thoughts.episode,
    "info": thoughts.info,
    "perf": thoughts.perf,
    "policy": thoughts.policy,
    "reward": thoughts.reward,
    "env-learning": lambda snapshot, _env, width: figures.learning(snapshot, width),
}


class EnvironmentView(View):
    """A board and its figures: episode, perf, policy, reward terms, the task's own scalars, learning."""

    class Opened(Message):
        """Another environment is looked at."""

    def __init__(self, *, colors: bool) -> None:
        super().__init__(id="environment")
        self._colors = colors
        self._panels: tuple[PanelLook, ...] | None = None
        self._drawings: dict[str, Drawing] = {}

    def compose(self) -> ComposeResult:
        """The board on the left, columns of panels on the right."""
        with Vertical(id="table"):
            yield Waiting(id="env-waiting")
            yield Boards(id="board")
        with Container(id="columns"):
            with Vertical(id="column-a"):
                yield Container(id="extras")
                yield Panel("Episode", id="episode")
                yield Panel("State", id="info")
            with Vertical(id="column-b"):
                yield Panel("Perf", id="perf")
                yield Panel("Policy", id="policy")
                yield Panel("Reward", id="reward")
                yield Panel("Return, mean of 100 episodes", id="env-curve")
            with Vertical(id="column-c"):
                yield Panel("Learning", id="env-learning")

    def look(self, env: int) -> Look:
        """One environment, its policy output and the learning curve."""
        return Look(first=env, count=1, focus=env, curves=(CURVE,))

    def show(self, shot: Shot) -> None:
        """Draw the board, and what else is due."""
        self._prepare(shot.snapshot)
        quiet = self.query_one("#env-waiting", Waiting).take(shot)
        board = self.query_one("#board", Boards)
        board.display = not quiet
        if not quiet:
            self._show_boards(shot, board)
        if shot.figures:
            self._show_panels(shot)

    def _prepare(self, snapshot: Snapshot) -> None:
        """Take over another task: its board and its other panels."""
        panels = snapshot.description.panels
        if panels is self._panels or panels == self._panels:
            self._panels = panels
            self._arrange()
            return
        self._panels = panels
        self._drawings = {panel.field: drawing_of(panel, colors=self._colors) for panel in panels}
        main = snapshot.description.board
        self.query_one("#board", Boards).use(self._drawings[main.field] if main else drawing_of(None), 1)
        extras = self.query_one("#extras")
        extras.remove_children()
        others = [panel for panel in panels if panel is not main]
        extras.display = bool(others)
        for panel in others:
            small = _Extra(panel, self._drawings[panel.field])
            extras.mount(small)
        self._arrange()

    def _arrange(self) -> None:
        """Give the board the columns it takes at the largest scale that leaves room for the panels."""
        board, table = self.query_one("#board", Boards), self.query_one("#table")
        width, height = self.size
        if not (width and height):
            return
        grid = board.fit_within(max(width // 4, width - LEAST_RIGHT), height)
        wanted = min(width, grid.tile[0]) if grid else width // 3
        if table.styles.width is None or table.styles.width.value != wanted:
            table.styles.width = wanted

    def _show_boards(self, shot: Shot, board: Boards) -> None:
        snapshot, env = shot.snapshot, shot.env
        if snapshot.focus != env or env >= len(snapshot.environments):
            board.show(self._empty(snapshot), [Frame(f"Env {env + 1}/{snapshot.num_envs}")])
            return
        (frame,) = figures.frames_of(snapshot, env, 1, shot.now, None)
        main = snapshot.description.board
        board.show(snapshot.focus_boards[main.field][None] if main else np.zeros((1, 1), np.uint8), [frame])
        for extra in self.query(_Extra):
            extra.take(snapshot)

    @staticmethod
    def _empty(snapshot: Snapshot) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
        main = snapshot.description.board
        return np.zeros((1, *(main.shape if main else (1,))), np.uint8)

    def _show_panels(self, shot: Shot) -> None:
        snapshot, env = shot.snapshot, shot.env
        if env >= len(snapshot.environments):
            return
        for name, maker in MAKERS.items():
            panel = self.query_one(f"#{name}", Panel)
            if panel.room.width:
                rows = maker(snapshot, env, panel.room.width)
                panel.show(rows[:FEW] if name == "perf" and self.size.height < TALL else rows)
        curve, panel = snapshot.curves.get(CURVE), self.query_one("#env-curve", Panel)
        if panel.room and curve is not None:
            x = curve.seconds if shot.by_time else curve.steps
            panel.show(chart(x.astype(float), curve.values.astype(float), *panel.room, seconds=shot.by_time))
        elif panel.room:
            panel.show([(part("no episode has ended twice yet", FAINT),)])


class _Extra(Boards):
    """A small panel beside the board, such as the next pill."""

    def __init__(self, panel: PanelLook, drawing: Drawing) -> None:
        super().__init__()
        self._panel = panel
        wide = next((scale for scale in drawing.scales if scale.name in {"wide", "close"}), drawing.scales[-1])
        self.styles.height = wide.lines + 2
        self.use(drawing, 1)

    def take(self, snapshot: Snapshot) -> None:
        """Show this panel's field of the environment that is looked at."""
        title = self._panel.title
        self.show(snapshot.focus_boards[self._panel.field][None], [Frame(title, color=FAINT)])
