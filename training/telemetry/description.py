"""The description in the header of the telemetry: task, trainer and settings of a session, and its panels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from ...envs import Field, Panel, Task
from ..units import RETURN, STEPPED, Figure, Units


@dataclass(frozen=True)
class ShapedPanel(Panel):
    """A panel and the shape of the field that it draws."""

    shape: tuple[int, ...] = ()

    @classmethod
    def of(cls, panel: Panel, board: Field) -> ShapedPanel:
        """Describe `panel`, which draws `board`."""
        return cls(**vars(panel), shape=board.shape)


@dataclass(frozen=True, kw_only=True)
class Description:
    """What does not change about a session until it restarts with another N.

    Attributes:
        agents: Names of the seats; of a watched script, of the environments. Empty if they have none.
        action: The field of the actions.
        info: The names of the task's scalars.
        boards: The fields per environment that are drawn or were drawn.
        large: The field of one environment's picture in large, which is drawn if a viewer requests it.
        folder: The run's folder; empty if the run is not saved.
        watched: Whether it is a watched script, which viewers cannot end or restart.
        begins_at_once: Whether the step that ends an episode begins the next one, so that it leads to two states.
        state_files: Whether files of a state can be saved.
        live: The settings that can be changed while it trains.
        first_env: The number of the first environment among those of all processes of the training, from 0.
        rank: The number of this process among those of the training, from 0.
        ranks: Number of processes that train together.
        host: The name of the machine.
    """

    run: str
    task: str
    title: str
    trainer: str
    backend: str
    device: str
    seed: int
    version: str
    pid: int
    players: int
    agents: tuple[str, ...] = ()
    num_actions: int
    choices: tuple[int, ...]
    bounds: tuple[tuple[float, float], ...]
    component_names: tuple[str, ...] = ()
    action_shape: tuple[int, ...]
    action_planes: tuple[str, ...] = ()
    action_names: tuple[str, ...]
    frame_rate: float
    reward_terms: tuple[str, ...]
    outcomes: tuple[tuple[str, str], ...]
    info: tuple[str, ...]
    headline: tuple[str, ...]
    panels: tuple[ShapedPanel, ...]
    observation: Field
    action: Field
    boards: tuple[Field, ...]
    large: Field | None = None
    slices: tuple[tuple[str, int, int], ...] = ()
    masked: bool = False
    folder: str = ""
    watched: bool = False
    begins_at_once: bool = True
    state_files: bool = False
    units: Units = STEPPED
    figures: tuple[Figure, ...] = (RETURN,)
    settings: Mapping[str, Any] = field(default_factory=dict)
    live: tuple[str, ...] = ()
    first_env: int = 0
    rank: int = 0
    ranks: int = 1
    host: str = ""

    @property
    def board(self) -> ShapedPanel | None:
        """The panel that the summary shows."""
        return next((panel for panel in self.panels if panel.main), self.panels[0] if self.panels else None)

    def env_title(self, env: int, count: str = "") -> str:
        """What an environment is called on screen: `Env 3/8`, or the name of its agent and `3/8`; `count` is `/8`."""
        name = self.agents[env] if self.players == 1 and env < len(self.agents) else self.units.env.capitalize()
        return f"{name} {env + 1:,}{count}"

    def seat_title(self, seat: int) -> str:
        """What a seat is called on screen: `seat 2/8`, or its name and `2/8`."""
        name = self.agents[seat] if seat < len(self.agents) else "seat"
        return f"{name} {seat + 1}/{self.players}"


def describe(task: Task, **facts: Any) -> Description:
    """Return the description of a session on a task; `facts` are the fields that do not follow from the task."""
    boards = {item.name: item for item in task.boards}
    own: dict[str, Any] = {
        "task": task.spec,
        "outcomes": tuple((outcome.name, outcome.tone) for outcome in task.outcomes),
        "info": tuple(item.name for item in task.info if not item.shape),
        "panels": tuple(ShapedPanel.of(panel, boards[panel.field]) for panel in task.panels),
        "action": next(item for item in task.fields if item.name == "action"),
        "slices": tuple((name, first, last) for name, (first, last) in task.slices.items()),
        "state_files": bool(task.state_files),
        **facts,
    }
    same = {item.name for item in fields(Description)} & {item.name for item in fields(Task)} - own.keys()
    return Description(**{name: getattr(task, name) for name in same}, **own)
