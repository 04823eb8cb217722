"""What a task is: a game or environment that can be trained on, described as data.

A `Task` says what stands in the buffer (its fields), what can be drawn (its panels) and which module steps it.
Nothing here imports torch, numba or gymnasium: the rules load in `Task.make`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from types import MappingProxyType
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .fields import STANDARD_FIELDS, Array, Buffers, Field, rows
from .panels import Panel

Tone: TypeAlias = Literal["good", "bad", "neutral"]

TaskTransform: TypeAlias = tuple[str, Mapping[str, Any]]
"""`module:callable`, called as `(task, settings)`, and its settings, plain data."""

MASK_64 = (1 << 64) - 1

LAST, LAST_DRAWN, LOOKED_AT = "final_", "final_drawn", "looked_at"
"""What the names of last boards begin with; the field that asks for them; the field that asks for boards."""
ASKED = -1
"""In `final_drawn`: last boards are wanted, and none are there yet."""


@dataclass(frozen=True)
class Outcome:
    """A reason for which an episode ends, and whether that is good."""

    name: str
    tone: Tone


class Environments(Protocol):
    """Environments `lo..hi` of the buffers, stepped together in place."""

    def reset(self, mask: NDArray[np.bool_], slot: int) -> None:
        """Begin the next episode of the masked ones, `(hi - lo,)`, and write their first observations into `slot`.

        The next one is that after the one which the field `episode` names; so any episode can be begun anew.
        """

    def step(self, slot: int) -> None:
        """Read the actions of `slot`, write everything else into the next slot, auto-reset what ended."""

    def close(self) -> None:
        """Release what the environments hold."""


class Restorable(Environments, Protocol):
    """Environments of a task whose `state` stands in the buffer and nowhere else."""

    def restore(self, slot: int) -> None:
        """Go on from states that were put into the buffer from outside, and write what they show into `slot`.

        Raises:
            ImpossibleState: One of them is none that the task can be in.
        """


class Savable(Environments, Protocol):
    """Environments of a task that `saves` its state when it is asked to."""

    def save(self, slot: int) -> None:
        """Write every environment's whole state into the buffer, zeros where it cannot be had; `slot` is the newest."""

    def load(self, slot: int) -> None:
        """Go on from the states in the buffer, but for those that are zeros, and write what they show into `slot`."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """A frozen description of a task with its parameters set.

    Attributes:
        spec: The text it was found by, such as `drmario:level=5`; `find(spec)` gives an equal task anywhere.
        name: Its name.
        title: Its name for people.
        factory: `module:callable`, called as `(task, lo, hi, buffers, seed)`, returns `Environments`.
        kernels: `module:callable` that compiles every kernel of a native task, or loads it from the disk's cache.
        observation: The observation field of one seat.
        num_actions: Number of actions; of all choices together where an action has several components, and of the
            numbers of a continuous one.
        choices: How many choices each component has, where an action has several; a mask is theirs in a row.
        bounds: Lowest and highest of each number of a continuous action, infinite where there is no bound.
        action_shape: The actions as a grid, where they are one; its product is `num_actions`.
        action_planes: Names of what the first axis of that grid tells apart.
        masked: Whether the task publishes which actions are legal.
        players: Seats per environment.
        native: Whether stepping releases the GIL, so that the `threads` backend pays.
        frame_rate: Frames per second of the real game, in Hz; 0 where a step is a frame.
        reward_terms: Names of the terms that a reward is the sum of.
        outcomes: Reasons for which an episode ends; index 0 of the `outcome` field means it has not.
        info: The task's own scalars, per environment or per seat.
        headline: Names of the info fields that tell most, and of bars whose longest do: the summary shows them.
        panels: What can be drawn; their fields stand in `boards`.
        boards: The untimed fields that panels draw.
        state: The whole state of one environment, its random generator included, where the task has one.
        saves: Whether the state stands in the buffer only after the environments were asked to save it.
        slices: Named ranges of the observation's first axis.
        action_names: Names of the actions, if they are few enough to have names.
        values: The parameters' values.
        settings: Recommended settings per trainer.
        trainer: The trainer that is taken when none is asked for.
        num_envs: Number of environments when none is asked for; 0 leaves it to the number of cores.
        shared: Further fields, where environments and a trainer work on the same memory: tables of all environments,
            and what the trainer tells them besides the action.
        transform: What made this task from the one that `spec` names, see `transformed`.
        version: Incremented when what the observations or actions mean changes: what was trained before is refused.
        note: What its user should know, in a sentence that a session tells at its start.
        begins_at_once: Whether the step that ends an episode begins the next one, so that it leads to two states.
    """

    spec: str
    name: str
    title: str
    factory: str
    observation: Field
    num_actions: int
    choices: tuple[int, ...] = ()
    bounds: tuple[tuple[float, float], ...] = ()
    action_shape: tuple[int, ...] = ()
    action_planes: tuple[str, ...] = ()
    masked: bool = False
    players: int = 1
    native: bool = False
    kernels: str = ""
    frame_rate: float = 0.0
    reward_terms: tuple[str, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    info: tuple[Field, ...] = ()
    headline: tuple[str, ...] = ()
    panels: tuple[Panel, ...] = ()
    boards: tuple[Field, ...] = ()
    state: Field | None = None
    saves: bool = False
    slices: Mapping[str, tuple[int, int]] = field(default_factory=lambda: MappingProxyType({}))
    action_names: tuple[str, ...] = ()
    values: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: MappingProxyType({}))
    trainer: str = "ppo"
    num_envs: int = 0
    shared: tuple[Field, ...] = ()
    transform: TaskTransform | None = None
    note: str = ""
    version: int = 1
    begins_at_once: bool = True

    @property
    def last_boards(self) -> tuple[Field, ...]:
        """What the boards showed when the last episode ended, and `final_drawn`.

        `final_drawn` is 0 while nobody wants last boards: then an end need not write any. Who wants them sets it to
        `ASKED`; from then on a step that ends an episode writes them, and into `final_drawn` 1 + the number of the
        episode.
        """
        if self.shared or not self.begins_at_once:
            return ()
        boards = tuple(replace(item, name=LAST + item.name) for item in self.boards if item.name != LOOKED_AT)
        return (*boards, Field(LAST_DRAWN, "int64", timed=False)) if boards else ()

    @property
    def state_at_hand(self) -> bool:
        """Whether the whole state stands in the buffer after every step."""
        return self.state is not None and not self.saves

    @property
    def action(self) -> Field:
        """The action of one seat: an integer, one per component, or float32 numbers."""
        if self.bounds:
            lows, highs = zip(*self.bounds, strict=True)
            return Field("action", "float32", (len(self.bounds),), per="seat", low=min(lows), high=max(highs))
        most = max(self.choices, default=self.num_actions) - 1
        return Field("action", "int64", (len(self.choices),) if self.choices else (), per="seat", low=0, high=most)

    @property
    def fields(self) -> tuple[Field, ...]:
        """Every field of the task's buffer, the standard ones first."""
        final = replace(self.observation, name="final_observation")
        terms = (Field("reward_terms", "float32", (len(self.reward_terms),), per="seat"),) if self.reward_terms else ()
        mask = (Field("action_mask", "uint8", (self.num_actions,), encoding="bits", per="seat"),) if self.masked else ()
        state = (self.state,) if self.state else ()
        own = (*self.info, *self.boards, *self.last_boards, *self.shared, *state)
        return (self.action, *STANDARD_FIELDS, *mask, self.observation, final, *terms, *own)

    def make(self, lo: int, hi: int, buffers: Buffers, seed: int) -> Environments:
        """Return the object that steps environments `lo..hi` of `buffers`; loads the rules.

        Args:
            lo: First environment.
            hi: One past the last.
            buffers: The arrays of `fields`, `(slots, rows, ...)`, for all environments.
            seed: The run's seed; environment i's episode k is seeded by `episode_seed(seed, i, k)`.
        """
        factory: Callable[..., Environments] = load(self.factory)
        return factory(self, lo, hi, buffers, seed)

    def prepare(self) -> None:
        """Compile what needs compiling, so that nobody who steps has to wait for it."""
        if self.kernels:
            load(self.kernels)()


def load(path: str) -> Any:
    """Return what `module:attribute` names."""
    module, _, attribute = path.partition(":")
    return getattr(import_module(module), attribute)


def transformed(task: Task, transform: TaskTransform | None) -> Task:
    """Return the task that a trainer steps in place of `task`, such as a solver of its game.

    Args:
        task: The task that a spec names.
        transform: The callable that makes the other task, in any process, and its settings; None returns `task`.
    """
    if transform is None:
        return task
    path, settings = transform
    made: Task = load(path)(task, settings)
    return replace(made, transform=(path, settings))


def first_seats(task: Task, buffers: Buffers, item: Field, slot: int) -> Array:
    """Return the rows of environments `(num_envs, ...)` in a slot; of a field per seat, those of the first seats."""
    found: Array = buffers[item.name][slot if item.timed else 0]
    return found[:: task.players] if item.per == "seat" else found


def allocate(task: Task, num_envs: int, slots: int = 1) -> dict[str, Array]:
    """Return zeroed arrays for every field of `task`, `(slots, rows, *stored_shape)`, with no episode begun."""
    buffers = {
        item.name: np.zeros(
            (slots if item.timed else 1, rows(item, num_envs, task.players), *item.stored_shape), np.dtype(item.dtype)
        )
        for item in task.fields
    }
    buffers["episode"].fill(-1)
    return buffers


def episode_seed(seed: int, env: int, episode: int) -> int:
    """Seed of an environment's episode, 64 bits: it depends on nothing else, so never on worker or slice.

    The finaliser is that of SplitMix64 (Steele, Lea, Flood, 2014), applied to each argument in turn.
    """
    state = 0
    for part in (seed, env, episode):
        state = (state + (part & MASK_64) + 0x9E3779B97F4A7C15) & MASK_64
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK_64
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & MASK_64
        state ^= state >> 31
    return state
