"""What a film shows: the board of an episode at every step, with its caption, as pixels or as lines of text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from textual.strip import Strip

from ...envs import Task
from ...envs.fields import Array
from ...envs.packed import unpack_pixels
from ...envs.unknown import is_unknown
from ...training.past.episode import Episode, play
from ...training.telemetry.description import describe
from ...training.telemetry.moments import moment_dtype
from ..boards import renderer_for
from ..boards.renderers import SHADE_COLORS
from ..boards.scale import Scale
from ..drawing.numbers import readable
from ..drawing.styles import ACCENT, Row, padded, styled
from ..terminal.raster import CannotExport, drawn
from ..terminal.svg import HEIGHT, WIDTH
from ..views.environment_rows import action_text
from ..views.panels import stacked

T = TypeVar("T")

COLUMNS, LINES = 100, 36
"""The largest board of text."""
LEAST = 34
"""Columns of the narrowest film, so that captions have room."""
USUAL = 480
"""Pixels of height to which small images are enlarged, about."""
NUMBER = 8  # columns


def full_size(task: Task) -> Task:
    """Return the task with its pictures as large as they are rendered."""
    sizes = {panel.field: panel.size for panel in task.panels if panel.size}
    boards = tuple(
        replace(item, shape=(*sizes[item.name], *item.shape[2:])) if item.name in sizes else item
        for item in task.boards
    )
    return replace(task, boards=boards)


@dataclass(frozen=True)
class Shot:
    """What is shown of an episode at one step.

    Attributes:
        board: The board, with its layers.
        caption: Pieces of text, each as long at every step.
    """

    board: Array
    caption: tuple[str, ...]


class Look:
    """Draws the boards of a task.

    Args:
        scale: By what the picture is enlarged; None for a usual size.

    Raises:
        CannotExport: The task has no board.
    """

    def __init__(self, task: Task, scale: int | None = None) -> None:
        self.task = task
        about = describe(task, run="", backend="", device="", seed=0, pid=0)
        if about.board is None:
            raise CannotExport(f"{task.name} has no board to film")
        self.about, self.panel = about, about.board
        self._renderer = renderer_for(self.panel)
        self._pixels = self.panel.kind in {"pixels", "shades"}
        height = self.panel.shape[0]
        self._enlarged = scale or (max(1, USUAL // height) if self._pixels else 1)

    @property
    def wide(self) -> int:
        """How wide its pictures are at least, in pixels."""
        return round(LEAST * WIDTH)

    def picture(self, shot: Shot) -> NDArray[np.uint8]:
        """Return a shot as pixels `(H, W, 3)`: the board, and its caption below it."""
        board = self._board(shot.board).repeat(self._enlarged, axis=0).repeat(self._enlarged, axis=1)
        width = max(board.shape[1], self.wide)
        bar = drawn([*self._caption(shot, int(width / WIDTH))])
        return np.concatenate([on_ground(board, board.shape[0], width), on_ground(bar, len(bar), width)])

    def lines(self, shot: Shot) -> list[Strip]:
        """Return a shot as text: the board in characters, and its caption below it."""
        rows, width = self._rows(shot.board)
        width = max(width, LEAST)
        return [*(Strip(padded(row, width), width) for row in rows), *self._caption(shot, width)]

    def _board(self, board: Array) -> NDArray[np.uint8]:
        if self.panel.kind == "pixels":
            return board
        if self.panel.kind == "shades":
            colors = [tuple(bytes.fromhex(color[1:])) for color in self.panel.colors or SHADE_COLORS]
            shades: NDArray[np.uint8] = np.array(colors, np.uint8)[unpack_pixels(board[None], self.panel.shape[1])[0]]
            return shades
        rows, width = self._rows(board)
        return drawn([Strip(padded(row, width), width) for row in rows])

    def _rows(self, board: Array) -> tuple[list[Row], int]:
        """Return the lines of a board at the largest scale that fits, and their width."""
        scale = self._scale
        prepared = self._renderer.prepare(board[None], scale)[0]
        count = min(scale.lines, len(prepared) * scale.span)
        rows = [self._renderer.line(prepared[at // scale.span], at % scale.span, scale) for at in range(count)]
        return rows, scale.columns

    @property
    def _scale(self) -> Scale:
        scales = self._renderer.scales
        return next((one for one in scales if one.columns <= COLUMNS and one.lines <= LINES), scales[-1])

    def _caption(self, shot: Shot, columns: int) -> Iterator[Strip]:
        line = ""
        for piece in (*shot.caption, ""):
            longer = f"{line}  {piece}" if line else f" {piece}"
            if not piece or (len(longer) > columns and line):
                yield Strip(padded((styled(line[:columns], ACCENT),), columns), columns)
                longer = f" {piece}"
            line = longer


def on_ground(picture: NDArray[np.uint8], height: int, width: int) -> NDArray[np.uint8]:
    """Return a picture in the middle of the top of a larger area, in the color of the background."""
    ground = drawn([Strip(padded((), 1), 1)])[0, 0]
    area = np.empty((height, width, 3), np.uint8)
    area[...] = ground
    left = (width - picture.shape[1]) // 2
    area[: picture.shape[0], left : left + picture.shape[1]] = picture
    return area


@dataclass(frozen=True)
class Track:
    """One or several episodes of a task, shown one after the other in one part of a film.

    Attributes:
        parts: A label, which may be empty, and an episode.
    """

    look: Look
    parts: Sequence[tuple[str, Episode]]

    @classmethod
    def of(cls, parts: Sequence[tuple[str, Episode]], scale: int | None = None) -> Track:
        """Return the track of episodes.

        Raises:
            CannotExport: They cannot be drawn.
        """
        first = parts[0][1]
        task = full_size(first.task) if all(episode.replays for _, episode in parts) else first.task
        return cls(Look(task, scale), parts)

    @property
    def length(self) -> int:
        """How many shots it has."""
        return sum(len(episode.steps) for _, episode in self.parts)

    def shots(self) -> Iterator[Shot]:
        """Yield its shots."""
        longest = max(episode.length for _, episode in self.parts)
        label = max(len(label) for label, _ in self.parts)
        return chain.from_iterable(self._of(episode, text.ljust(label), longest) for text, episode in self.parts)

    def _of(self, episode: Episode, label: str, longest: int) -> Iterator[Shot]:
        task, panel = self.look.task, self.look.panel
        moment, machines = np.zeros((), moment_dtype(task)), None
        if episode.replays:
            machines = play(replace(episode, task=task))
        gained, digits = 0.0, len(f"{longest:,}")
        valued = any(one.valued for _, one in self.parts)
        actions = max((len(self._action(step.action)) for step in episode.steps), default=0)
        for index, step in enumerate(episode.steps):
            gained = math.fsum((gained, step.reward))
            if machines is not None:
                next(machines).fill(moment)
                boards = {name: moment[f"board:{name}"].copy() for name in panel.fields}
                gained = float(moment["episode_return"])
            elif step.boards:
                boards = {name: step.boards[name] for name in panel.fields}
            else:
                raise CannotExport("the episode cannot be replayed, and its boards were not kept")
            caption = [
                f"step {index:>{digits},}/{episode.length:<{digits},}",
                f"reward {readable(step.reward):<{NUMBER}}",
                f"return {readable(gained):<{NUMBER}}",
                f"action {self._action(step.action):<{actions}}",
            ]
            if valued:
                caption.append(f"value {'' if is_unknown(step.value) else readable(step.value):<{NUMBER}}")
            yield Shot(stacked(panel, boards), (*([label] if label.strip() else []), *caption))

    def _action(self, action: Array | None) -> str:
        return "" if action is None else action_text(self.look.about, action[0])


class Film:
    """Tracks side by side, in a grid; those that have ended show their last step.

    Args:
        tracks: What is shown.
    """

    def __init__(self, tracks: Sequence[Track]) -> None:
        self._tracks = tracks
        self.length = max(track.length for track in tracks)
        self._columns = math.ceil(math.sqrt(len(tracks)))

    def pictures(self) -> Iterator[NDArray[np.uint8]]:
        """Yield pictures `(H, W, 3)`, all of one size."""
        for parts in self._together([map(track.look.picture, track.shots()) for track in self._tracks]):
            if len(parts) == 1:
                yield parts[0]
                continue
            height, width = (max(part.shape[axis] for part in parts) for axis in (0, 1))
            gap = round(HEIGHT / 2)
            cells = [on_ground(part, height + gap, width + gap) for part in parts]
            empty = on_ground(cells[0][:0], height + gap, width + gap)
            yield np.concatenate([np.concatenate(row, axis=1) for row in self._grid(cells, empty)])

    def screens(self) -> Iterator[list[Strip]]:
        """Yield screens of text, all of one size."""
        for parts in self._together([map(track.look.lines, track.shots()) for track in self._tracks]):
            height = max(map(len, parts))
            width = max(line.cell_length for part in parts for line in part) + 2 * (len(parts) > 1)
            blank = Strip(padded((), width), width)
            cells = [
                [*(Strip(padded(tuple(line), width), width) for line in part), *[blank] * (height - len(part))]
                for part in parts
            ]
            grid = self._grid(cells, [blank] * height)
            yield [Strip.join(lines) for row in grid for lines in zip(*row, strict=True)]

    def _together(self, streams: Sequence[Iterator[T]]) -> Iterator[list[T]]:
        shown = [next(stream) for stream in streams]
        for _ in range(self.length):
            yield shown
            shown = [next(stream, last) for stream, last in zip(streams, shown, strict=True)]

    def _grid(self, cells: Sequence[T], empty: T) -> Iterator[list[T]]:
        for first in range(0, len(cells), self._columns):
            row = list(cells[first : first + self._columns])
            yield row + [empty] * (self._columns - len(row))
