"""What a player has: code as text, the last instructions, the memory search, and the files of a task."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pac.envs import find
from pac.envs.errors import PacError
from pac.envs.gameboy.assembler import ENCODINGS, cartridge_bytes
from pac.envs.gameboy.cartridge import own_bytes, own_cartridge
from pac.envs.gameboy.console import Console
from pac.envs.gameboy.games import FOLDER, find_game, known_games
from pac.envs.gameboy.handheld import Handheld
from pac.envs.gameboy.inspector import draw_instruction
from pac.envs.gameboy.layout import HALF, RUN_SEED
from pac.envs.gameboy.looks import AT_CODE_TEXT, COLUMNS, looks
from pac.envs.gameboy.search import MemorySearch
from pac.envs.gameboy.snapshots import picture_bytes, read_picture, read_snapshot, snapshot_bytes

from ..begun import begun
from .programs import HEAD, cartridge, ran

RIGHT, DOWN = ("right",), ("down",)


def words(board) -> str:
    """Return a board of text."""
    return "\n".join("".join(map(chr, row)).rstrip() for row in board)


@pytest.mark.thorough
def test_disassembled_code_assembles_to_the_same_bytes():
    """Every operation's text is what the assembler accepts, with bytes, words and targets of jumps."""
    codes = b"".join(
        code + bytes([0x12, 0x34][: 2 * ("n16" in text) or int("n8" in text or "e8" in text)])
        for text, code in ENCODINGS.items()
    )
    first = cartridge_bytes(f"{HEAD}db {', '.join(map(str, codes))}", "CODE")
    console = ran(f"db {', '.join(map(str, codes))}", 0)
    line, place, source = np.zeros(COLUMNS, np.uint8), 0x150, [HEAD]
    while place < 0x150 + len(codes):
        place = draw_instruction(console.machine, looks(), place, line)
        source.append("".join(map(chr, line[AT_CODE_TEXT:])).strip())
    assert cartridge_bytes("\n".join(source), "CODE") == first


def played(tmp_path: Path, name: str = "walk") -> Handheld:
    """Return a console with a file of a built-in cartridge, past its start."""
    rom = tmp_path / f"{name}.gb"
    rom.write_bytes(own_bytes(name))
    game = Handheld(str(rom), "")
    for _ in range(30):
        game.frame(())
    return game


def move(game: Handheld, button: tuple[str, ...], steps: int = 1) -> None:
    """Make moves of the grid walk."""
    for _ in range(steps):
        for buttons in (button, button, button, button):
            game.frame(buttons)


def test_the_last_instructions_are_those_that_ran(tmp_path: Path):
    """After a frame: the end of the loop, back to HALT; after an instruction: its address."""
    game = played(tmp_path)
    game.trace()
    game.draw()
    text = words(game.boards["code"])
    assert "halt\n01A6> 00        nop" in text
    assert "jr $01A5" in text.split("halt")[0]
    game.instruction()
    game.draw()
    assert "0040  D9        reti\n01A6>" in words(game.boards["code"])


def test_boards_show_registers_memory_and_sprites(tmp_path: Path):
    """The numbers are those of the console."""
    game = played(tmp_path)
    game.draw()
    assert words(game.boards["registers"]).startswith(f"PC {game.console.registers['pc']:04X}")
    assert f"T {game.console.clock} " in words(game.boards["registers"])
    assert f"C000 50 {game.console.peek(0xC001):02X}" in words(game.boards["memory"])
    assert "26 00 00 00 00   27 00 00 00 00" in words(game.boards["sprites"])


def test_a_search_finds_the_columns_address(tmp_path: Path):
    """What grew with each move to the right, and did not change without one, is the walker's column."""
    game = played(tmp_path)
    game.search.begin()
    for expected in (1, 2):
        move(game, RIGHT)
        game.search.keep("increased")
        game.frame(())
        game.search.keep("unchanged")
        game.search.keep("equals", expected)
    assert [(found.address, found.now) for found in game.search.candidates(9)] == [(0xC006, 2)]
    game.search.keep("decreased")
    assert not game.search.candidates(9)
    game.search.begin()
    assert len(game.search.addresses) == 0x2000 + 0x7F
    game.search.keep("changed")
    assert len(game.search.addresses) == 0


def test_a_search_knows_decimal_digits():
    """The number 42 is found as a byte and as two digits."""
    console = ran("ld a, 42\n ld ($c000), a\n ld a, $42\n ld ($c100), a\nend:\n jr end", 1)
    search = MemorySearch(console)
    search.keep("equals", 42)
    assert [found.address for found in search.candidates(9)] == [0xC000, 0xC100]


def test_a_task_is_made_by_playing(tmp_path: Path):
    """A snapshot, a goal picture and a value become a task that begins there and whose goal is reached."""
    game = played(tmp_path)
    move(game, RIGHT, 2)
    game.save_snapshot()
    move(game, DOWN, 3)
    game.save_goal()
    assert game.keep_value(0xC007)
    assert not game.keep_value(0xC007)
    game.save_game()
    assert game.files.game == tmp_path / "walk-1.yaml"
    task = find(game.files.spec)
    assert (task.action_names, len(task.panels)) == (("nothing", "right", "down"), 9)
    _, buffers, environments = begun(task, 1, 2)
    assert buffers["values"][0, 0, 0] == 0
    buffers["action"][0] = 2
    environments.step(0)
    assert buffers["values"][0, 0, 0] == 2  # two moves in the eight frames of a press
    environments.step(0)
    assert buffers["reward"][1, 0] > 0


def test_files_are_numbered(tmp_path: Path):
    """A file that exists is never replaced."""
    game = played(tmp_path)
    assert [game.save_snapshot().name, game.save_snapshot().name] == ["walk-1.snapshot", "walk-2.snapshot"]


def test_a_picture_is_read_as_it_was_written(tmp_path: Path):
    """Packed frame, file, packed frame; an image with 256 grey levels is rounded to four."""
    frame = np.random.default_rng(0).integers(256, size=72 * 20).astype(np.uint8)
    path = tmp_path / "goal.pgm"
    path.write_bytes(picture_bytes(frame))
    assert np.array_equal(read_picture(path), frame)
    head, pixels = path.read_bytes()[:11], path.read_bytes()[11:]
    path.write_bytes(head.replace(b"\n3\n", b"\n255\n") + bytes(value * 84 for value in pixels))
    assert np.array_equal(read_picture(path), frame)


def test_a_goal_picture_is_what_environments_observe(tmp_path: Path):
    """Every second pixel of a whole frame equals the frame that is drawn at half size."""
    game, half = played(tmp_path), Console(own_cartridge("walk"), HALF)
    half.run_frames(30)
    assert np.array_equal(game.observation(), half.frame_data)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda data: b"hello" + data, "is not a snapshot of a Game Boy"),
        (lambda data: data[:-9], "is truncated: expected"),
        (lambda data: data[:200] + b"\xff" + data[201:], "was changed"),
        (lambda data: snapshot_bytes(own_cartridge("walk"), np.zeros(len(data) // 8, np.int64)), "of another ROM"),
        (lambda _: b"", "is not a snapshot"),
    ],
)
def test_bad_snapshots_are_explained(tmp_path: Path, change, complaint: str):
    """A file of something else, a truncated and a changed one, and a snapshot of another ROM are errors of the task."""
    (tmp_path / "catch.gb").write_bytes(own_bytes("catch"))
    (tmp_path / "catch.yaml").write_text("title: A\nactions: [a]\nsnapshot: my.snapshot\n")
    data = snapshot_bytes(own_cartridge("catch"), Console(own_cartridge("catch")).words)
    (tmp_path / "my.snapshot").write_bytes(change(data))
    with pytest.raises(PacError, match=complaint):
        find(f"gameboy:rom={tmp_path / 'catch.gb'}")


def test_an_impossible_state_in_a_snapshot_is_refused(tmp_path: Path):
    """A state that kernels could not run is an error even with a right checksum."""
    state = Console(own_cartridge("catch")).words.copy()
    state[1] = 1 << 40
    (tmp_path / "my.snapshot").write_bytes(snapshot_bytes(own_cartridge("catch"), state))
    with pytest.raises(PacError, match="was changed"):
        read_snapshot(tmp_path / "my.snapshot", own_cartridge("catch"))


def test_snapshots_have_nothing_of_an_episode(tmp_path: Path):
    """The run's seed is not part of the file."""
    state = Console(own_cartridge("catch")).words.copy()
    state[RUN_SEED] = 5
    (tmp_path / "my.snapshot").write_bytes(snapshot_bytes(own_cartridge("catch"), state))
    assert read_snapshot(tmp_path / "my.snapshot", own_cartridge("catch"))[RUN_SEED] == 0


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"P6\n80 72\n3\n", "is not a picture: expected a PGM file"),
        (b"P5\n80 72\n3\nabc", "expected 80 x 72 pixels of a byte each, got 80 x 72 and 3 bytes"),
        (b"P5\n160 144\n3\n" + bytes(160 * 144), "got 160 x 144"),
    ],
)
def test_bad_pictures_are_explained(tmp_path: Path, data: bytes, complaint: str):
    """Another format, a truncated picture and one of another size are errors of the task."""
    (tmp_path / "catch.gb").write_bytes(own_bytes("catch"))
    (tmp_path / "catch.yaml").write_text("title: A\nactions: [a]\ngoals: [my.pgm]\n")
    (tmp_path / "my.pgm").write_bytes(data)
    with pytest.raises(PacError, match=complaint):
        find(f"gameboy:rom={tmp_path / 'catch.gb'}")


@pytest.mark.parametrize("name", known_games())
def test_every_built_in_file_of_a_game_is_read(name: str):
    """The files for games that users supply have values or goals, and outcomes with the tones of the interface."""
    game = find_game(name, "")
    assert (FOLDER / f"{name}.yaml").is_file()
    assert game.values or game.goals
    assert all(0x8000 <= value.address < 0xFFFF for value in game.values)
    task = find(f"gameboy:game={name}") if name in {"catch", "walk"} else None
    assert task is None or task.num_actions == len(game.actions)


def test_a_locked_processor_is_known():
    """After an illegal instruction, a player sees that the processor is locked."""
    console = Console(cartridge("db $d3"))
    console.run_frames(2)
    game = Handheld("", "catch")
    game.console = console
    assert game.locked
