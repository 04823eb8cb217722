"""The arrays of the buffers as the kernels see them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..fields import Array, Buffers
from ..kernel_tables import Address, CommonViews, FieldArrays, common_views, table_of
from ..packed import byte_distances
from ..task import Task
from .games import FORMATS
from .layout import FARTHEST, FRAME_BYTES, block_bytes
from .looks import Looks, looks
from .operations import TABLES
from .starts import VARIATIONS, Played, played

NAME = "gameboy"


class GameNumbers(NamedTuple):
    """The numbers of a task that kernels use; addresses are those of this process's memory.

    Attributes:
        rom: Address of the ROM.
        tables: Address of the processor's tables.
        states: Address of the first environment's state.
        observations: Address of the first slot's first observation.
        envs: Environments in the buffers.
        size: Bytes of a state.
        mapper: Kind of the cartridge.
        rom_mask: Number of ROM banks - 1.
        ram_bytes: Bytes of the cartridge's RAM.
        frames: Frames of a step.
        press: Frames for which a step's buttons are held.
        steps: Steps after which an episode is truncated.
        starts: Number of start states.
        goals: Number of goal pictures.
        reach: The largest distance at which a goal picture is reached.
        page: The page of memory that is shown.
    """

    rom: int
    tables: int
    states: int
    observations: int
    envs: int
    size: int
    mapper: int
    rom_mask: int
    ram_bytes: int
    frames: int
    press: int
    steps: int
    actions: int
    starts: int
    goals: int
    reach: int
    page: int


class GameBoards(NamedTuple):
    """Boards `(environments, ...)`."""

    frame: Array
    goal: Array
    progress: Array
    values: Array
    registers: Array
    code: Array
    sprites: Array
    memory: Array
    memory_end: Array


class GameViews(NamedTuple):
    """What kernels read and write, `(slots, environments, ...)`; what has no slot has no first axis.

    `buttons` are those of each action. `values` has a row per number in memory (address, bytes, format), `weights` its
    rewards, and `ends` a row per outcome (address, low, high, value, floor). `looks`
    is for boards of text.
    """

    numbers: GameNumbers
    common: CommonViews
    observation: Array
    final: Array
    score: Array
    stage: Array
    distance: Array
    clock: Array
    boards: GameBoards
    last: GameBoards
    last_drawn: Array
    ints: Array
    reals: Array
    buttons: Array
    values: Array
    weights: Array
    ends: Array
    starts: Array
    goals: Array
    distances: Array
    looks: Looks


def _boards(fields: FieldArrays, prefix: str = "") -> GameBoards:
    return GameBoards(
        fields.flat(f"{prefix}frame"),
        fields.flat(f"{prefix}goal"),
        *(fields[f"{prefix}{name}"] for name in GameBoards._fields[2:]),
    )


def _numbers(task: Task, buffers: Buffers, found: Played) -> GameNumbers:
    game, cartridge = found.game, found.cartridge
    return GameNumbers(
        rom=Address.of(cartridge.rom),
        tables=Address.of(TABLES),
        states=Address.of(buffers["state"]),
        observations=Address.of(buffers["observation"]),
        envs=buffers["episode"].shape[1],
        size=block_bytes(cartridge.ram_bytes),
        mapper=cartridge.mapper,
        rom_mask=len(cartridge.rom) // 0x4000 - 1,
        ram_bytes=cartridge.ram_bytes,
        frames=game.frames,
        press=game.press,
        steps=game.steps,
        actions=len(game.actions),
        starts=VARIATIONS,
        goals=len(game.goals),
        reach=int(task.values["tau"] * FARTHEST),
        page=task.values["page"],
    )


def views_of(task: Task, buffers: Buffers) -> GameViews:
    """Return the views of a task's `buffers`.

    Raises:
        ValueError: A field is not what the kernels expect, or not one contiguous block.
    """
    fields, found = FieldArrays(task, buffers), played(task.values["rom"], task.values["game"])
    values = [(value.address, value.size, FORMATS.index(value.format)) for value in found.game.values]
    ends = [(end.address, end.low, end.high, end.value, end.floor) for end in found.game.ends]
    return fields.views(
        GameViews,
        numbers=_numbers(task, buffers, found),
        common=common_views(fields),
        observation=fields.flat("observation"),
        final=fields.last_observations(np.uint8),
        clock=fields["cycles"],
        boards=_boards(fields),
        last=_boards(fields, "final_"),
        last_drawn=fields["final_drawn"],
        ints=fields["state"],
        reals=fields.flat("state", np.float64),
        buttons=np.array(found.game.actions, np.int64),
        values=np.array(values, np.int64).reshape(-1, 3),
        weights=np.array([value.reward for value in found.game.values], np.float64),
        ends=np.array(ends, np.int64).reshape(-1, 5),
        starts=found.starts,
        goals=found.goals.reshape(-1, FRAME_BYTES),
        distances=byte_distances(),
        looks=looks(),
    )


TABLE = table_of(views_of, NAME)
views = TABLE.unpack
