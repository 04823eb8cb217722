"""Files that a player makes for a game: a snapshot is a start state, and a picture is a goal.

A snapshot is a line of text, the SHA-256 of the ROM, the SHA-256 of the state, and the state. A picture is a PGM image
of 80 x 72 pixels with the values 0 (black) to 3 (white), which most image viewers show.
"""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..driver import Limits, are_within
from ..errors import PacError
from ..files import KIB, read_bytes
from ..packed import BRIGHTEST, pack_pixels, unpack_pixels
from ..task import Task
from . import layout as at
from .cartridge import Cartridge, cartridge_for
from .games import Game
from .layout import block_bytes

LATEST = 1 << 56
"""The latest time; a console reaches it after centuries."""
TIMES = (at.CLOCK, at.NEXT, at.TIMER_AT, at.RELOADED, at.DMA_END, at.LCD_BEGIN, at.LCD_FIRST, at.DMA_BEGIN)
FUTURE = (at.RELOAD, at.SERIAL_END, at.LCD_NEXT, at.TIMER_NEXT, at.STOP, at.DMA_AT, at.DRAW_AT, at.OPEN_UNTIL)
SWITCHES = (at.INTERRUPTS_ON, at.HALTED, at.REPEATS, at.LOCKED, at.STAT_LEVEL, at.WINDOW_MET, at.RAM_ON, at.BANK_MODE)
BYTES = (at.BUTTONS, at.WINDOW_LINE, at.LATCH)


def possible(stages: int, steps: int, states: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which of `(environments, words)` states are possible.

    The banks that are mapped follow from the cartridge's registers, and are found again when a state is restored.
    """
    limits: Limits = {
        **{(word, 1): (-LATEST, LATEST) for word in (*TIMES, at.DIVIDER, at.CLOCK_ZERO, at.CLOCK_HELD)},
        **{(word, 1): (-LATEST, at.FAR) for word in FUTURE},
        **{(word, 1): (0, 1) for word in SWITCHES},
        **{(word, 1): (0, 0xFF) for word in BYTES},
        **{(word, 1): (0, 0xFFFF) for word in (at.PC, at.SP, at.BANK_LOW, at.BANK_HIGH)},
        **{(word, 1): (0, 1 << 62) for word in (at.EPISODES, at.FRAMES, at.SENT)},
        (at.ENABLING, 1): (0, 2),
        (at.DMA_COPIED, 1): (0, 160),
        (at.STEPS, 1): (0, steps),
        (at.STAGE, 1): (0, max(stages - 1, 0)),
        (at.DISTANCE, 2): (0, at.FARTHEST),
    }
    clock = states[:, at.CLOCK]
    behind = np.abs(states[:, [at.TIMER_AT, at.LCD_NEXT]].clip(-LATEST, LATEST) - clock[:, None]).max(axis=1)
    on_time: NDArray[np.bool_] = (behind < at.FRAME_CYCLES * 4) | (states[:, at.LCD_NEXT] >= LATEST)
    return are_within(limits, states) & on_time


MAGIC = b"pac-tui Game Boy snapshot 1\n"
DIGEST_BYTES = 32
HEAD_BYTES = len(MAGIC) + 2 * DIGEST_BYTES
HEIGHT, WIDTH = 72, 80
PICTURE_HEAD = re.compile(rb"P5\s+(\d{1,6})\s+(\d{1,6})\s+(\d{1,6})\s")
LIMIT = 256 * KIB
OF_EPISODES = (at.RUN_SEED, at.EPISODES, at.STEPS, at.RETURN, at.STAGE, at.DISTANCE, at.FIRST_DISTANCE)
HOW_TO = "take one with the key s in pac-tui play, or g in a paused training"


class BadSnapshot(PacError):
    """A file is not a snapshot of the ROM, or not a picture."""

    title = "Bad snapshot"


def snapshot_bytes(cartridge: Cartridge, state: NDArray[np.int64]) -> bytes:
    """Return the file of a state, without what belongs to its episode."""
    words = state.copy()
    words[list(OF_EPISODES)] = 0
    data = words.astype("<i8").tobytes()
    return MAGIC + bytes.fromhex(cartridge.digest) + sha256(data).digest() + data


def read_snapshot(path: Path, cartridge: Cartridge) -> NDArray[np.int64]:
    """Return the state in a file.

    Raises:
        UnreadableFile: The file cannot be read.
        BadSnapshot: It is not a snapshot, is truncated or changed, or belongs to another ROM.
    """
    data = read_bytes(path, LIMIT)
    if not data.startswith(MAGIC):
        raise BadSnapshot(f"{path} is not a snapshot of a Game Boy: expected a file of pac-tui; {HOW_TO}")
    rom, check, state = (data[len(MAGIC) :][first : first + size] for first, size in ((0, 32), (32, 32), (64, LIMIT)))
    if rom != bytes.fromhex(cartridge.digest):
        raise BadSnapshot(
            f"{path} is a snapshot of another ROM: expected the SHA-256 {cartridge.digest[:12]}…, "
            f"got {rom.hex()[:12]}…; {HOW_TO} with this ROM"
        )
    size = block_bytes(cartridge.ram_bytes)
    if len(state) != size:
        raise BadSnapshot(f"{path} is truncated: expected {HEAD_BYTES + size:,} bytes, got {len(data):,}; {HOW_TO}")
    words = np.frombuffer(state, "<i8").astype(np.int64)
    if sha256(state).digest() != check or not possible(0, 0, words[None])[0]:
        raise BadSnapshot(f"{path} was changed: its state does not have the checksum that it names; {HOW_TO}")
    return words


def picture_bytes(frame: NDArray[np.uint8]) -> bytes:
    """Return the file of a packed frame; shade 0 is white."""
    pixels = unpack_pixels(frame.reshape(HEIGHT, -1), WIDTH)
    return f"P5\n{WIDTH} {HEIGHT}\n{BRIGHTEST}\n".encode() + (BRIGHTEST - pixels).astype(np.uint8).tobytes()


def read_picture(path: Path) -> NDArray[np.uint8]:
    """Return the packed frame in a PGM file, `(72 * 20,)`; grey levels are rounded to the four shades.

    Raises:
        UnreadableFile: The file cannot be read.
        BadSnapshot: It is not a picture of the right size.
    """
    data = read_bytes(path, LIMIT)
    head = PICTURE_HEAD.match(data)
    if head is None:
        raise BadSnapshot(f"{path} is not a picture: expected a PGM file that begins with P5, got {data[:8]!r}")
    width, height, most = (int(number) for number in head.groups())
    pixels = np.frombuffer(data[head.end() :], np.uint8)
    if (width, height) != (WIDTH, HEIGHT) or len(pixels) != HEIGHT * WIDTH or not 0 < most < 256:
        raise BadSnapshot(
            f"{path} is not a goal picture: expected {WIDTH} x {HEIGHT} pixels of a byte each, "
            f"got {width} x {height} and {len(pixels):,} bytes"
        )
    shades = BRIGHTEST - np.rint(np.minimum(pixels, most) * (BRIGHTEST / most)).astype(np.uint8)
    return pack_pixels(shades.reshape(HEIGHT, WIDTH)).reshape(-1)


def state_files(task: Task, state: NDArray[np.int64]) -> dict[str, bytes]:
    """Return the files of an environment's state, see `Task.state_files`: a start state, and its frame as a goal."""
    frame = state.view(np.uint8)[8 * at.WORDS + at.FRAME :][: at.FRAME_BYTES]
    cartridge = cartridge_for(task.values["rom"], task.values["game"])
    return {".snapshot": snapshot_bytes(cartridge, state), ".pgm": picture_bytes(frame)}


def check_files(game: Game, cartridge: Cartridge) -> None:
    """Read the snapshot and the pictures that a game names.

    Raises:
        UnreadableFile: A file cannot be read.
        BadSnapshot: A file is not what it should be.
    """
    if game.snapshot:
        read_snapshot(game.snapshot, cartridge)
    for goal in game.goals:
        if isinstance(goal, Path):
            read_picture(goal)
