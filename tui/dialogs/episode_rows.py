"""Episodes as rows: what is shown of them, how they are sorted and filtered."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from rich.segment import Segment

from ...envs import episode_seed
from ...envs.fields import Array
from ...envs.task import seed_from
from ...training.telemetry.description import Description
from ...training.telemetry.records import TRUNCATED
from ..drawing.numbers import age
from ..drawing.panels import BORDER
from ..drawing.styles import ACCENT, BRIGHT, CYAN, FAINT, GREEN, RED, SOFT, TEXT, Row, fit, styled

TABLE = (
    ("age", 7, 0),
    ("env", 7, 0),
    ("episode", 10, 0),
    ("return", 11, 0),
    ("length", 9, 0),
    ("end", 12, 90),
    ("outcome", 14, 0),
    ("seed", 22, 110),
)
"""Columns: heading, width, and the least width of the screen that has the column."""
SPARED, MARGIN = ("outcome", "age", "length", "episode"), 2
"""The columns that are left out first, and the columns before the table."""
COMPARED = re.compile(r"(env|episode|return|length)(<=|>=|<|>|=)(-?[\d.]+(?:e-?\d+)?)")
COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
    "=": operator.eq,
}
MARKS = {"best": GREEN, "median": CYAN, "worst": RED}


@dataclass(frozen=True)
class EpisodeRow:
    """An episode that has ended.

    Attributes:
        number: Of all episodes, from 1, in the order in which they ended.
        env: The environment, from 0.
        episode: The episode in it, from 0.
        gained: Return of the first seat.
        length: Length in steps.
        end: `terminated` or `truncated`.
        outcome: Name of the outcome; empty without one.
        when: When it ended, s since the epoch.
        run_seed: The seed of the environments; None if it is unknown.
        mark: `best`, `worst`, `median` or empty.
    """

    number: int
    env: int
    episode: int
    gained: float
    length: int
    end: str
    outcome: str
    when: float
    run_seed: int | None
    mark: str = ""

    @property
    def seed(self) -> int | None:
        """The seed of the episode; None if it is unknown."""
        return None if self.run_seed is None else episode_seed(self.run_seed, self.env, self.episode)

    def value(self, column: str) -> float | str:
        """Return what a column is sorted by."""
        values: dict[str, float | str] = {
            "age": self.number,
            "env": self.env,
            "episode": self.episode,
            "return": self.gained if self.gained == self.gained else -np.inf,
            "length": self.length,
            "end": self.end,
            "outcome": self.outcome,
            "seed": self.seed or 0,
        }
        return values[column]

    def matches(self, word: str) -> bool:
        """Return whether the episode is one that a word of the filter asks for."""
        if found := COMPARED.fullmatch(word):
            name, comparison, text = found.groups()
            shown = {"env": self.env + 1, "episode": self.episode + 1, "return": self.gained, "length": self.length}
            try:
                return COMPARISONS[comparison](shown[name], float(text))
            except ValueError:
                return False
        return word in f"{self.end} {self.outcome} {self.mark}".lower()


def rows_of(records: Array, about: Description) -> list[EpisodeRow]:
    """Return the episodes of a snapshot, oldest first, with the best, the worst and the median one marked.

    Args:
        records: Records of `EPISODE`.
        about: The session.
    """
    names = ["", *(name for name, _ in about.outcomes)]
    marks = marks_of(records["ret"])
    seed = None if about.watched else seed_from(about.seed, about.first_env)
    return [
        EpisodeRow(
            number=int(item["number"]),
            env=int(item["env"]),
            episode=int(item["episode"]),
            gained=float(item["ret"]),
            length=int(item["length"]),
            end="truncated" if item["end"] == TRUNCATED else "terminated",
            outcome=names[min(int(item["outcome"]), len(names) - 1)],
            when=float(item["time"]),
            run_seed=seed,
            mark=marks.get(index, ""),
        )
        for index, item in enumerate(records)
    ]


def marks_of(returns: Array) -> dict[int, str]:
    """Return which episodes are the median, the worst and the best one, by index; the first of equal ones."""
    known = np.flatnonzero(np.isfinite(returns))
    if not len(known):
        return {}
    order = known[np.argsort(returns[known], kind="stable")]
    best = order[np.flatnonzero(returns[order] == returns[order[-1]])[0]]
    return {int(order[(len(order) - 1) // 2]): "median", int(order[0]): "worst", int(best): "best"}


def chosen(rows: Sequence[EpisodeRow], words: Sequence[str], column: str, *, ascending: bool) -> list[EpisodeRow]:
    """Return the episodes that match every word, sorted by a column; equal ones newest first."""
    found = [row for row in reversed(rows) if all(row.matches(word) for word in words)]
    return sorted(found, key=lambda row: row.value(column), reverse=not ascending)


def columns_of(width: int) -> list[tuple[str, int]]:
    """Return the columns that fit into a border, uncut."""
    found = {name: wide for name, wide, least in TABLE if width + BORDER >= least}
    for name in SPARED:
        if sum(found.values()) + MARGIN > width:
            found.pop(name)
    return list(found.items())


def heading(columns: Sequence[tuple[str, int]], sorted_by: str, *, ascending: bool) -> Row:
    """Return the headings; that of the column by which the table is sorted is marked."""
    arrow = "↑" if ascending else "↓"
    names = [(f"{arrow} {name}" if name == sorted_by else name, wide, name == sorted_by) for name, wide in columns]
    return (styled("  ", FAINT), *(styled(f"{name:>{wide}}", ACCENT if by else FAINT) for name, wide, by in names))


def line(
    row: EpisodeRow,
    columns: Sequence[tuple[str, int]],
    now: float,
    colors: Mapping[str, str],
    shown: Callable[[float], str],
    *,
    selected: bool,
) -> Row:
    """Return the line of an episode.

    Args:
        columns: The columns that are shown.
        now: s since the epoch.
        colors: Colors of the outcomes.
        shown: Formats returns.
    """
    cells = {
        "age": (age(now - row.when), SOFT),
        "env": (f"{row.env + 1:,}", TEXT),
        "episode": (f"{row.episode + 1:,}", TEXT),
        "return": (shown(row.gained), MARKS.get(row.mark, BRIGHT)),
        "length": (f"{row.length:,}", TEXT),
        "end": (row.end, SOFT),
        "outcome": (row.outcome, colors.get(row.outcome, SOFT)),
        "seed": ("" if row.seed is None else str(row.seed), FAINT),
    }
    return (
        styled("▌ " if selected else "  ", ACCENT),
        *(cell(*cells[name], wide) for name, wide in columns),
        styled(f"  {row.mark}", MARKS.get(row.mark, TEXT)),
    )


def cell(text: str, color: str, width: int) -> Segment:
    """Return a cell of a table, aligned to the right."""
    return styled(f"{fit(text, min(len(text), width - 1)):>{width}}", color)
