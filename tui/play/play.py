"""The app in which the user plays a game frame by frame."""

from __future__ import annotations

import time
from collections import deque
from typing import ClassVar

import numpy as np
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.events import Key

from ...envs import BadParameter, Outcome, Task, allocate, families, find
from ...envs.fields import Array
from ...envs.poker.families import FAMILIES
from ...envs.specs import split_spec
from ...training.telemetry.description import ShapedPanel
from ..boards import BoardBorder, BoardGrid, renderer_for
from ..drawing.styles import BRIGHT, FAINT, SOFT, TONES, YELLOW, styled
from ..drawing.theme import colors_distinguish
from ..drawing.widgets import BorderedLines, TextLines
from ..terminal.modes import check_terminal
from ..terminal.terminal_app import TerminalApp, run_in_terminal

TAPS = {"left": "left", "right": "right", "up": "A", "x": "A", "z": "B"}
HELP = "← → move   ↑ x turn   z turn back   ↓ faster   space drop   p pause   n new game   q quit"
MOST_TAPS = 6
DOWN_FRAMES = 4
LATEST = 6  # frames that are caught up after a delay; older ones are skipped


class Gamepad:
    """Turns key presses into the buttons held in each frame.

    A terminal reports when a key is pressed, and repeats it, but not when it is released. So a move or a turn is a tap:
    the button is held for one frame and released for one, and a key that is held down taps at the terminal's rate. Down
    is held for a few frames per press, so that repeats join. A drop holds it until the piece has locked.
    """

    def __init__(self) -> None:
        self._taps: deque[str] = deque(maxlen=MOST_TAPS)
        self._down = 0
        self._dropping = False
        self._released = True

    def press(self, key: str) -> None:
        """Take a key press."""
        if key in TAPS:
            self._taps.append(TAPS[key])
        elif key == "down":
            self._down = DOWN_FRAMES
        elif key == "space":
            self._dropping = True

    def locked(self) -> None:
        """Release all buttons: the presses were meant for the piece that has locked."""
        self._taps.clear()
        self._down, self._dropping = 0, False

    def frame(self) -> frozenset[str]:
        """Return the buttons held in the next frame."""
        held = set()
        if self._dropping or self._down:
            self._down = max(0, self._down - 1)
            held.add("down")
        if self._released and self._taps:
            held.add(self._taps.popleft())
        self._released = held <= {"down"}
        return frozenset(held)


class ButtonGame:
    """One environment of a task whose steps are frames and whose actions are buttons.

    Attributes:
        frames: Frames played in this episode.
        ended: How the episode ended, or None while it runs.
        shown: The boards by field; after the end, the last ones of the episode.
        info: The task's scalars, likewise.

    Args:
        spec: The task; if its steps are placements, its variant with frames is played.

    Raises:
        BadParameter: The task's actions are not buttons.
    """

    def __init__(self, spec: str, seed: int) -> None:
        self.task = _by_frames(spec)
        self._actions = {frozenset(name.split()) - {"nothing"}: at for at, name in enumerate(self.task.action_names)}
        self._buffers = allocate(self.task, 1)
        self._envs = self.task.make(0, 1, self._buffers, seed)
        self.begin()

    def begin(self) -> None:
        """Start the next episode."""
        self._envs.reset(np.ones(1, np.bool_), 0)
        self.frames = 0
        self.ended: Outcome | None = None
        self._take()

    def step(self, buttons: frozenset[str]) -> None:
        """Play one frame with these buttons held. A combination that does not exist counts as no button."""
        self._buffers["action"][0, 0] = self._actions.get(buttons, self._actions[frozenset()])
        self._envs.step(0)
        self.frames += 1
        outcome = int(self._buffers["outcome"][0, 0])
        if outcome:
            self.ended = self.task.outcomes[outcome - 1]
        else:
            self._take()

    def _take(self) -> None:
        self.shown: dict[str, Array] = {item.name: self._buffers[item.name][0, 0].copy() for item in self.task.boards}
        self.info = {item.name: int(self._buffers[item.name][0, 0]) for item in self.task.info if not item.shape}


def _by_frames(spec: str) -> Task:
    """Return the variant of the task that is played with buttons."""
    name, _ = split_spec(spec)
    by_frames = f"{name}-frames"
    task = find(by_frames + spec.removeprefix(name) if by_frames in families() else spec)
    if not {"left", "right", "nothing"} <= set(task.action_names):
        playable = [other.removesuffix("-frames") for other in families() if other.endswith("-frames")]
        playable += sorted(FAMILIES)
        raise BadParameter(f"{name} cannot be played by hand; playable tasks: {', '.join(playable)}")
    return task


class PlayApp(TerminalApp):
    """Shows the board, the next pieces and the score."""

    CSS = """
    Screen { background: $background; color: $foreground; layout: vertical; }
    TextLines { height: 1; }
    #table { height: 1fr; align: center middle; }
    #board { height: 1fr; width: 1fr; }
    #side { width: 26; height: 1fr; }
    #side BorderedLines { height: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,ctrl+c,ctrl+q", "quit", "quit", priority=True),
    ]

    def __init__(self, game: ButtonGame) -> None:
        super().__init__()
        self.game = game
        self.paused = False
        self._pad = Gamepad()
        self._clock = time.perf_counter()
        self._frames = 0
        colors = colors_distinguish(self)
        shapes = {item.name: item for item in game.task.boards}
        self._panels = [ShapedPanel.of(panel, shapes[panel.field]) for panel in game.task.panels]
        self._renderers = {panel.field: renderer_for(panel, colors=colors) for panel in self._panels}
        self._boards: dict[str, BoardGrid] = {}

    def compose(self) -> ComposeResult:
        """The board on the left, other panels and the score on the right, the keys below."""
        for panel in self._panels:
            self._boards[panel.field] = BoardGrid(id="board" if panel.main else None)
        yield TextLines(id="head")
        with Horizontal(id="table"):
            for panel in self._panels:
                if panel.main:
                    yield self._boards[panel.field]
            with Vertical(id="side"):
                for panel in self._panels:
                    if not panel.main:
                        yield self._boards[panel.field]
                yield BorderedLines("Game", id="numbers")
        yield TextLines(id="foot")

    def on_mount(self) -> None:
        """Set up the boards and start the clock."""
        for panel in self._panels:
            board, renderer = self._boards[panel.field], self._renderers[panel.field]
            if not panel.main:
                wide = next((scale for scale in renderer.scales if scale.name == "wide"), renderer.scales[-1])
                board.styles.height = wide.lines + 2
            board.use(renderer, 1)
        self.query_one("#foot", TextLines).show([(styled(HELP, SOFT),)])
        self._clock = time.perf_counter()
        self.set_interval(1 / self.rate, self._tick)

    @property
    def rate(self) -> float:
        """Frames per second of the game."""
        return self.game.task.frame_rate or 60.0

    def on_key(self, event: Key) -> None:
        """Handle the game's keys."""
        if event.key == "p":
            self.paused = not self.paused
        elif event.key == "n" or (event.key in {"enter", "space"} and self.game.ended):
            self.game.begin()
            self._pad.locked()
        elif not self.paused:
            self._pad.press(event.key)
        self._draw()

    def _tick(self) -> None:
        """Play the frames that are due by the clock."""
        due = int((time.perf_counter() - self._clock) * self.rate) - self._frames
        self._frames += due
        if self.paused or self.game.ended:
            return
        pieces = self.game.info.get("pills")
        for _ in range(min(due, LATEST)):
            self.game.step(self._pad.frame())
            if self.game.info.get("pills") != pieces or self.game.ended:
                self._pad.locked()
                break
        self._draw()

    def _draw(self) -> None:
        game, task = self.game, self.game.task
        sign, hint, color = ("paused", "p continues", YELLOW) if self.paused else ("", "", SOFT)
        if game.ended:
            sign, hint, color = game.ended.name, "Enter plays again", TONES[game.ended.tone]
        for panel in self._panels:
            border = BoardBorder(panel.title, sign * panel.main, color if panel.main else FAINT)
            self._boards[panel.field].show(game.shown[panel.field][None], [border])
        numbers = self.query_one("#numbers", BorderedLines)
        seconds = game.frames / self.rate
        shown = {
            "time": f"{seconds // 60:.0f}:{seconds % 60:04.1f}",
            **{key: f"{value:,}" for key, value in game.info.items()},
        }
        width = max(12, numbers.room.width)
        numbers.show(
            [
                (styled(key.replace("_", " ").ljust(width - 8), SOFT), styled(value.rjust(8), BRIGHT))
                for key, value in shown.items()
            ]
        )
        self.query_one("#head", TextLines).show(
            [(styled(f" {task.title}   {sign}{sign and ': '}{hint}", color if sign else SOFT, bold=True),)]
        )


def play(spec: str, seed: int) -> int:
    """Play a task with buttons on this terminal; return the exit code.

    Raises:
        BadParameter: The task is not played with buttons.
        NoTerminal: There is no terminal.
    """
    check_terminal("run it in a terminal")
    return run_in_terminal(lambda: PlayApp(ButtonGame(spec, seed)))
