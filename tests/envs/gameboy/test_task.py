"""The task: resets, rewards, goal pictures, states, errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pac.envs import find
from pac.envs.errors import PacError
from pac.envs.gameboy import games
from pac.envs.gameboy.cartridge import own_bytes
from pac.envs.gameboy.games import GameReader
from pac.envs.gameboy.layout import FRAME, FRAME_BYTES, WORDS
from pac.envs.gameboy.starts import played
from pac.envs.gameboy.views import views_of

from ..begun import begun
from .programs import cartridge, with_checksum

COUNT = 6
RIGHT, DOWN = 1, 4


def made(spec: str, count: int = COUNT, seed: int = 3):
    """Return task, buffers of two slots and environments that have begun."""
    return begun(spec, count, 2, seed=seed)


def test_masked_resets_give_the_frames_of_start_states():
    """After random masks, what was reset shows a start state's frame, and nothing else changed."""
    _, buffers, environments = made("gameboy")
    frames = played("", "").starts.view(np.uint8)[:, 8 * WORDS + FRAME :][:, :FRAME_BYTES]
    known = {frame.tobytes() for frame in frames}
    generator = np.random.default_rng(5)
    for _ in range(8):
        buffers["action"][0] = generator.integers(3, size=COUNT)
        environments.step(0)
        before = buffers["observation"][1].copy()
        mask = generator.random(COUNT) < 0.5
        environments.reset(mask, 1)
        after = buffers["observation"][1]
        assert np.array_equal(after[~mask], before[~mask])
        assert all(frame.tobytes() in known for frame in after[mask])
        buffers["observation"][0] = after


def test_frames_are_drawn_into_the_slot():
    """The renderer's address is that of the buffer's observations."""
    task, buffers, _ = made("gameboy")
    assert views_of(task, buffers).numbers.observations == buffers["observation"].ctypes.data


def test_catching_is_rewarded():
    """The score in memory grows by what the reward says."""
    _, buffers, environments = made("gameboy")
    total = np.zeros(COUNT)
    for step in range(60):
        buffers["action"][0] = step // 7 % 3
        environments.step(0)
        total += buffers["reward"][1]
        assert np.array_equal(buffers["score"][1], total)
    assert total.sum() > 0


def test_goal_pictures_are_reached_by_their_moves():
    """The moves of the game's file lead through all stages, from every start state."""
    task, buffers, environments = made("gameboy:game=walk")
    moves = [1] * 7 + [4] * 6 + [0] * 8 + [2] * 5 + [3] * 4 + [0] * 8 + [1] * 3 + [4] * 5
    stages = []
    for move in moves:
        buffers["action"][0] = move
        environments.step(0)
        stages.append(int(buffers["stage"][1].min()))
    assert max(stages) == len(played("", "walk").goals)
    assert (buffers["outcome"][1] == 1 + [outcome.name for outcome in task.outcomes].index("all goals")).all()


def played_until_locked(folder: Path):
    """Play a program that locks the processor to the end of its episode; return task and buffers."""
    rom = cartridge("ld d, 4\nwait:\n dec bc\n ld a, b\n or c\n jr nz, wait\n dec d\n jr nz, wait\n db $d3").rom
    (folder / "lock.gb").write_bytes(rom.tobytes())
    (folder / "lock.yaml").write_text("title: Lock\nactions: ['']\n")
    task, buffers, environments = made(f"gameboy:rom={folder / 'lock.gb'}", 1)
    for _ in range(40):
        buffers["observation"][1] = 0xE4
        environments.step(0)
        if buffers["terminated"][1, 0]:
            break
    return task, buffers


def test_a_program_that_locks_the_processor_ends_the_episode(tmp_path: Path):
    """The outcome of an illegal code is `locked`."""
    task, buffers = played_until_locked(tmp_path)
    assert task.outcomes[buffers["outcome"][1, 0] - 1].name == "locked"


def test_a_frame_that_is_not_reached_is_white(tmp_path: Path):
    """If the processor locks before the drawn frame, the last observation is not what its slot contained before."""
    _, buffers = played_until_locked(tmp_path)
    assert buffers["terminated"][1, 0]
    assert not buffers["final_observation"].any()


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda data: data[:100], "expected at least 336 bytes, got 100"),
        (lambda _: b"\x01" * 32768, "expected the header's checksum"),
        (lambda data: with_checksum(bytearray(data[:0x143] + b"\xc0" + data[0x144:])), "only on a Game Boy Color"),
        (lambda data: with_checksum(bytearray(data[:0x147] + b"\x05" + data[0x148:])), r"type 05 \(MBC2\)"),
        (lambda data: with_checksum(bytearray(data[:0x147] + b"\x01\x05" + data[0x149:])), "is truncated"),
    ],
)
def test_bad_cartridges_are_explained(tmp_path: Path, change, complaint: str):
    """A file that is not a ROM, one for the Game Boy Color, an unknown mapper and a truncated file are errors."""
    path = tmp_path / "catch.gb"
    path.write_bytes(change(own_bytes("catch")))
    with pytest.raises(PacError, match=complaint):
        find(f"gameboy:rom={path},game=catch")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("title: A", "actions expects a list"),
        ("title: A\nactions: [jump]", "actions expects one of right, left, up"),
        ("title: A\nactions: [a]\nvalues: [{name: x, address: 3}]", "values.address expects a whole number"),
        ("title: A\nactions: [a]\nspeed: 3", "the file expects the keys"),
        (
            "title: A\nactions: [a]\nends: [{outcome: x, address: 49152, when: y}]",
            "ends.when expects nothing",
        ),
    ],
)
def test_bad_games_are_explained(tmp_path: Path, text: str, complaint: str):
    """An error of a game's file names the file and the key."""
    (tmp_path / "my.gb").write_bytes(own_bytes("catch"))
    (tmp_path / "my.yaml").write_text(text)
    with pytest.raises(PacError, match=complaint):
        find(f"gameboy:rom={tmp_path / 'my.gb'}")


GAME = {
    "title": "A",
    "snapshot": "a.snapshot",
    "start": [{"hold": "a", "frames": 3}],
    "actions": ["", "a right"],
    "frames": 24,
    "press": 8,
    "steps": 100,
    "values": [{"name": "x", "address": 0xC000, "bytes": 2, "format": "bcd", "reward": 1.5}],
    "ends": [{"outcome": "won", "tone": "good", "address": 0xC000, "least": 1, "most": 9, "when": "x"}],
    "goals": [[{"hold": "b", "steps": 2}], "a.pgm"],
}
"""A game with every key."""
STRANGE: tuple[object, ...] = (
    None,
    True,
    -1,
    0.5,
    1e999,
    float("nan"),
    10**30,
    "",
    "x" * 99,
    "../x",
    [],
    [[]],
    [None],
    {},
    {"x": 1},
    "\0",
)


def changed(value: Any) -> Iterator[Any]:
    """Yield a value with each of its parts left out, or replaced by something strange."""
    yield from STRANGE
    for key in range(len(value)) if isinstance(value, list) else value if isinstance(value, dict) else ():
        left = copy(value)
        del left[key]
        yield left
        for part in changed(value[key]):
            yield {**value, key: part} if isinstance(value, dict) else [*value[:key], part, *value[key + 1 :]]


def test_no_part_of_a_game_is_a_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Whatever it is replaced by, or if it is missing, the game is read or an error explains it."""
    reader = GameReader(tmp_path / "a.yaml")
    read = 0
    for content in (GAME, *changed(GAME)):
        monkeypatch.setattr(games, "read_yaml", lambda *_, content=content: content)
        with suppress(PacError):
            reader.read()
            read += 1
    assert read > 10
