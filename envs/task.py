"""What a task is: a game or environment that can be trained on, described as data.

A `Task` describes the arrays of the buffer (its fields), what can be drawn (its panels) and which module steps it.
Nothing here imports torch, numba or gymnasium. The rules load in `Task.make`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from operator import attrgetter
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .fields import FINAL_OBSERVATION, STANDARD_FIELDS, Array, Buffers, Field
from .panels import Panel

Tone: TypeAlias = Literal["good", "bad", "neutral"]

TaskTransform: TypeAlias = tuple[str, Mapping[str, Any]]
"""`module:callable`, called as `(task, settings)`, and its settings, which are plain data."""

MASK_64 = (1 << 64) - 1
GOLDEN, MIX_1, MIX_2 = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
"""The constants of SplitMix64 (Steele, Lea, Flood, 2014)."""

LAST, LAST_DRAWN, LOOKED_AT = "final_", "final_drawn", "looked_at"
"""The prefix of the names of last boards; the field that requests them; the field that requests boards."""
LIMITED, LIMITED_LARGE = 2, 3
"""In the field `looked_at`: a board is requested, but drawing may be put off to limit its share of the time; or so,
together with the picture in the field `large`."""
LARGE, LARGE_OF = "large", "large_of"
"""The picture of one environment in large; 1 + the number of the environment that has drawn it there, 0 for none.
Servers and nodes send neither."""
ASKED = -1
"""In `final_drawn`: last boards are requested, and there are none yet."""


@dataclass(frozen=True)
class Outcome:
    """A reason for which an episode ends, and whether that is good."""

    name: str
    tone: Tone


class Environments(Protocol):
    """Environments `lo..hi` of the buffers, stepped together in place."""

    def reset(self, mask: NDArray[np.bool_], slot: int) -> None:
        """Begin the next episode of the masked environments and write their first observations into `slot`.

        The next episode follows the one whose number is in the field `episode`, so any episode can be restarted.

        Args:
            mask: Which environments, `(hi - lo,)`.
        """

    def step(self, slot: int) -> None:
        """Read the actions of `slot`, write all other fields into the next slot, and reset ended environments."""

    def close(self) -> None:
        """Release what the environments hold."""


class Restorable(Environments, Protocol):
    """Environments of a task whose whole state is in the field `state` of the buffer."""

    def restore(self, slot: int) -> None:
        """Continue from states that were written into the buffer, and write their observations into `slot`.

        Raises:
            ImpossibleState: The task cannot be in one of the states.
        """


class Savable(Environments, Protocol):
    """Environments of a task that `saves` its state on request."""

    def save(self, slot: int) -> None:
        """Write the state of every environment into the buffer, zeros if it is not available; `slot` is the newest."""

    def load(self, slot: int) -> None:
        """Continue from the states in the buffer that are not zeros, and write their observations into `slot`."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """A frozen description of a task with its parameters set.

    Attributes:
        spec: The text that names it, such as `drmario:level=5`; `find(spec)` returns an equal task in any process.
        title: Its name on screen.
        factory: `module:callable`, called as `(task, lo, hi, buffers, seed)`, returns `Environments`.
        kernels: `module:callable` that compiles every kernel of a native task, or loads it from the cache on disk.
        num_actions: Number of actions. If an action has several components, the sum of their choices; if it is
            continuous, the number of its components.
        choices: Number of choices of each component of a multi-discrete action; its mask is their concatenation.
        bounds: Lowest and highest value of each component of a continuous action; infinite if there is no bound.
        component_names: Names of the components of an action, if they have names.
        action_shape: Shape of the actions as a grid, if they are one; its product is `num_actions`.
        action_planes: Names of the indices of the first axis of that grid.
        masked: Whether the task publishes which actions are legal.
        players: Seats per environment.
        agents: Names of the seats, if they have names; of a watched script, of the environments.
        native: Whether stepping releases the GIL, so that the `threads` backend is useful.
        frame_rate: Frames per second of the real game, in Hz; 0 if a step is a frame.
        reward_terms: Names of the terms whose sum is the reward.
        outcomes: Reasons for which an episode ends. In the field `outcome`, 0 means that it has not ended.
        info: The task's own scalars, per environment or per seat.
        late: Fields with room for scalars that become known later, see `spaces/infos.py`.
        headline: What the summary shows: names of info fields, and of panels whose longest bars it shows.
        panels: What can be drawn; their fields are in `boards`.
        boards: The untimed fields that panels draw.
        large: A picture of one environment in all its pixels, whose board is reduced; it is drawn on request.
        state: The whole state of one environment with its random generator, if the task has one.
        saves: Whether the state is in the buffer only after a call of `Savable.save`.
        trace: `module:callable` that shows how a step led to its state, for inspectors; a step does not call it. It
            is called as `(task, before, actions, boards)`, with the state before the step and the actions of all seats,
            and writes into the boards of the state after it, by name.
        state_files: `module:callable` that makes files of a state for users to keep, such as a start state. It is
            called as `(task, state)` and returns their bytes by suffix.
        slices: Named ranges of the observation's first axis.
        action_names: Names of the actions, if they have names.
        values: The values of the parameters.
        wrappers: Gymnasium wrappers around each environment, innermost first, with presets resolved.
        value_ends: The name of an info field that is true at steps after which nothing of value follows for a learner,
            although the episode continues: a lost life. Empty if there is none.
        own_score: Whether the returns of episodes are not the sums of the rewards, which wrappers have changed.
        settings: Recommended settings per trainer.
        settings_for: What they are recommended for per trainer, as part of a sentence; if it is missing, this task.
        trainer: The default trainer.
        num_envs: Default number of environments; 0 derives it from the number of cores.
        shared: Fields of memory that environments and a trainer share, such as tables of all environments, or what the
            trainer passes to the environments besides the action.
        transform: What made this task from the one that `spec` names, see `transformed`.
        version: Incremented when the meaning of observations or actions changes; policies of other versions are
            refused.
        note: A sentence for the user, which a session shows at its start.
        gpu_only: A parameter that only has an effect where a GPU steps the environments; elsewhere, a backend warns.
        begins_at_once: Whether the step that ends an episode also begins the next one, and so leads to two states.
        watched: Whether a script steps the environments. Then nothing can be replayed, and a slot may contain several
            steps of an environment, as many as its `frames`.
    """

    spec: str
    name: str
    title: str
    factory: str
    observation: Field
    num_actions: int
    choices: tuple[int, ...] = ()
    bounds: tuple[tuple[float, float], ...] = ()
    component_names: tuple[str, ...] = ()
    action_shape: tuple[int, ...] = ()
    action_planes: tuple[str, ...] = ()
    masked: bool = False
    players: int = 1
    agents: tuple[str, ...] = ()
    native: bool = False
    kernels: str = ""
    frame_rate: float = 0.0
    reward_terms: tuple[str, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    info: tuple[Field, ...] = ()
    late: tuple[Field, ...] = ()
    headline: tuple[str, ...] = ()
    panels: tuple[Panel, ...] = ()
    boards: tuple[Field, ...] = ()
    large: Field | None = None
    state: Field | None = None
    saves: bool = False
    trace: str = ""
    state_files: str = ""
    slices: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    action_names: tuple[str, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    wrappers: tuple[str, ...] = ()
    value_ends: str = ""
    own_score: bool = False
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    settings_for: Mapping[str, str] = field(default_factory=dict)
    trainer: str = "ppo"
    num_envs: int = 0
    shared: tuple[Field, ...] = ()
    transform: TaskTransform | None = None
    note: str = ""
    gpu_only: str = ""
    version: int = 1
    begins_at_once: bool = True
    watched: bool = False

    @property
    def last_boards(self) -> tuple[Field, ...]:
        """The boards at the end of the last episode, and `final_drawn`.

        While `final_drawn` is 0, the end of an episode need not write them. `ASKED` requests them. From then on, a step
        that ends an episode writes them, and 1 + the number of the episode into `final_drawn`.
        """
        if self.shared or not self.begins_at_once:
            return ()
        boards = tuple(replace(item, name=LAST + item.name) for item in self.boards if item.name != LOOKED_AT)
        return (*boards, Field(LAST_DRAWN, "int64", timed=False)) if boards else ()

    @property
    def large_fields(self) -> tuple[Field, ...]:
        """The picture of one environment in large, and whose it is."""
        return (self.large, Field(LARGE_OF, "int64", per="all", timed=False)) if self.large else ()

    @property
    def state_at_hand(self) -> bool:
        """Whether the whole state is in the buffer after every step."""
        return self.state is not None and not self.saves

    @property
    def action(self) -> Field:
        """The action of one seat: an integer, an integer per component, or float32 numbers."""
        if self.bounds:
            lows, highs = zip(*self.bounds, strict=True)
            return Field("action", "float32", (len(self.bounds),), per="seat", low=min(lows), high=max(highs))
        most = max(self.choices, default=self.num_actions) - 1
        return Field("action", "int64", (len(self.choices),) if self.choices else (), per="seat", low=0, high=most)

    @property
    def fields(self) -> tuple[Field, ...]:
        """Every field of the task's buffer, the standard ones first."""
        final = replace(self.observation, name=FINAL_OBSERVATION)
        terms = (Field("reward_terms", "float32", (len(self.reward_terms),), per="seat"),) if self.reward_terms else ()
        mask = (Field("action_mask", "uint8", (self.num_actions,), encoding="bits", per="seat"),) if self.masked else ()
        state = (self.state,) if self.state else ()
        drawn = *self.boards, *self.last_boards, *self.large_fields
        own = (*self.info, *self.late, *drawn, *self.shared, *state)
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
        """Compile the kernels, so that the first step does not wait for the compiler."""
        if self.kernels:
            load(self.kernels)()


def load(path: str, package: str | None = None) -> Any:
    """Return the object that `module:attribute` names; a module that begins with a dot is one of `package`.

    The attribute may be one of an attribute: `module:GAME.compile_all`.
    """
    module, _, attribute = path.partition(":")
    return attrgetter(attribute)(import_module(module, package))


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
    """Return a slot's rows per environment, `(num_envs, ...)`; for a field per seat, the rows of the first seats."""
    found: Array = buffers[item.name][slot if item.timed else 0]
    return found[:: task.players] if item.per == "seat" else found


def allocate(task: Task, num_envs: int, slots: int = 1) -> dict[str, Array]:
    """Return zeroed arrays of every field of `task`, `(slots, rows, *stored_shape)`, before the first episode."""
    buffers = {
        item.name: np.zeros(item.block_shape(slots, num_envs, task.players), np.dtype(item.dtype))
        for item in task.fields
    }
    buffers["episode"].fill(-1)
    return buffers


def episode_seed(seed: int, env: int, episode: int) -> int:
    """Return the 64-bit seed of an environment's episode, which does not depend on worker or slice.

    The finalizer of SplitMix64 is applied to each argument in turn.
    """
    state = 0
    for part in (seed, env, episode):
        state = _mixed((state + part + GOLDEN) & MASK_64)
    return state


def seed_from(seed: int, first_env: int) -> int:
    """Return the seed with which environment i is environment `first_env + i` of `seed`, in all its episodes.

    The number of an environment is added to the mixed seed, so the sum of both is the mixed form of another seed.
    """
    return (_unmixed((_mixed((seed + GOLDEN) & MASK_64) + first_env) & MASK_64) - GOLDEN) & MASK_64


def _mixed(word: int) -> int:
    word = ((word ^ (word >> 30)) * MIX_1) & MASK_64
    word = ((word ^ (word >> 27)) * MIX_2) & MASK_64
    return word ^ (word >> 31)


def _unmixed(word: int) -> int:
    word ^= word >> 31 ^ word >> 62
    word = (word * pow(MIX_2, -1, 1 << 64)) & MASK_64
    word ^= word >> 27 ^ word >> 54
    word = (word * pow(MIX_1, -1, 1 << 64)) & MASK_64
    return word ^ word >> 30 ^ word >> 60
