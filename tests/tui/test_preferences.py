"""Preferences are read from a file, and errors in it are reported."""

import json
import sys
from dataclasses import asdict

import pytest
from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.color import Color as Background

from pac.envs import PacError
from pac.tui.drawing.chart import TINT
from pac.tui.drawing.nearest import LegibleFilter, NearestFilter, nearest_color
from pac.tui.drawing.palettes import PALETTES, PALETTES_16
from pac.tui.drawing.styles import GREEN, TerminalColors, hex_of, mixed, restyle
from pac.tui.drawing.theme import FilteredApp, apply_theme, in_ascii, match_terminal
from pac.tui.preferences import Preferences, path, read, schema

from ..programs import pac_tui, python


def test_without_a_file_preferences_have_their_defaults(tmp_path):
    """A missing file is no error."""
    assert read(tmp_path / "config.toml") == Preferences()


def test_preferences_are_read(tmp_path):
    """Theme, characters, rates and keys."""
    file = tmp_path / "config.toml"
    file.write_text('theme = "light"\ncharacters = "ascii"\ncolor = false\n[rates]\ngrid = 5\n[keys]\npause = "z"\n')
    found = read(file)
    assert (found.theme, found.characters, found.color, found.rates.grid) == ("light", "ascii", False, 5)
    assert found.keys == {"pause": "z"}


@pytest.mark.parametrize(
    ("text", "announced"),
    [
        ("theme = 'pink'", "theme in .*: input should be 'dark', 'light' or 'colorblind', got 'pink'"),
        ("tehme = 'dark'", "did you mean theme|theme"),
        ("[rates]\ngird = 3", "grid"),
        ("[rates]\ngrid = 0", "rates.grid in .*: input should be greater than 0, got 0"),
        ("theme =", "is not valid TOML"),
        ("theme = " + "[" * 100_000, "is nested too deeply"),
        ("[rates]\ngrid = 0x" + "f" * 9000, "an integer of more than 100 digits"),
    ],
)
def test_errors_are_reported_in_a_sentence(tmp_path, text, announced):
    """It names the file, what was expected and what was given."""
    file = tmp_path / "config.toml"
    file.write_text(text)
    with pytest.raises(PacError, match=announced) as caught:
        read(file)
    assert str(file) in str(caught.value)


def test_a_folder_in_place_of_the_file_is_reported(tmp_path):
    """By its name."""
    with pytest.raises(PacError, match="cannot be read"):
        read(tmp_path)


def test_the_file_is_in_the_users_configuration_folder(monkeypatch, tmp_path):
    """On Linux, in the folder of XDG."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    if sys.platform == "linux":
        assert path() == tmp_path / "pac-tui" / "config.toml"


def test_every_preference_is_described():
    """The schema of the file describes each key."""
    described = schema()["properties"]
    assert set(described) == set(Preferences.model_fields)
    assert all(item.get("description") for item in described.values())


def test_every_palette_has_enough_contrast():
    """At least 4.5 to 1, the minimum of WCAG 2."""

    def light(color):
        parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for name, palette in PALETTES.items():
        for color in (palette.text, palette.soft, palette.bright, palette.accent, palette.green, palette.red):
            low, high = sorted((light(color), light(palette.ground)))
            assert (high + 0.05) / (low + 0.05) >= 4.5, (name, color)


def test_cards_and_dice_differ_in_ascii():
    """They are not replaced by question marks."""
    assert in_ascii("K♠ Q♥ J♦ T♣ ⚀⚅") == "Ks Qh Jd Tc 16"


@pytest.mark.parametrize("text", ["╭─ Env 3 ─╮", "✓ cleared …", "⠿ é 漢", "▏█░"])
def test_ascii_has_the_width_of_the_text_that_it_replaces(text):
    """Only ASCII is left, and columns keep their places."""
    from rich.cells import cell_len

    assert in_ascii(text).isascii()
    assert len(in_ascii(text)) == cell_len(text)


@pytest.mark.session
def test_the_app_uses_the_file(tmp_path):
    """Palette, signs and keys are those of the file when the app is imported; the command shows them."""
    folder = tmp_path / "pac-tui"
    folder.mkdir()
    (folder / "config.toml").write_text('theme = "light"\n[keys]\npause = "k"\n')
    environ = {"XDG_CONFIG_HOME": str(tmp_path)}
    code = """from pac.tui import keys
from pac.tui.drawing.styles import hex_of
print(hex_of("ground"), keys.shown("pause"))"""
    done = python("-c", code, environ=environ, check=True)
    assert done.stdout.split() == [PALETTES["light"].ground, "k"]
    shown = json.loads(pac_tui("preferences", "--json", environ=environ, check=True).stdout)
    assert shown["theme"] == "light"
    assert shown["keys"]["pause"] == "k"


@pytest.mark.session
def test_bad_preferences_stop_the_app_before_anything_starts(tmp_path):
    """With one sentence and the exit code of invalid usage."""
    folder = tmp_path / "pac-tui"
    folder.mkdir()
    (folder / "config.toml").write_text('[keys]\npuase = "p"\n')
    environ = {"XDG_CONFIG_HOME": str(tmp_path)}
    done = pac_tui("preferences", environ=environ)
    assert done.returncode == 2
    assert "puase" in done.stderr
    assert "pause" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_palettes_of_sixteen_colors_contain_no_others():
    """The terminal shows exactly these, and good, bad and neutral differ."""
    standard = {f"#{red}{green}{blue}" for red in ("00", "aa") for green in ("00", "aa") for blue in ("00", "aa")}
    standard |= {f"#{red}{green}{blue}" for red in ("55", "ff") for green in ("55", "ff") for blue in ("55", "ff")}
    standard |= {"#aa5500"}
    assert PALETTES_16.keys() == PALETTES.keys()
    for palette in PALETTES_16.values():
        colors = {name: color for name, color in asdict(palette).items() if name != "dark"}
        assert set(colors.values()) <= standard
        assert len({palette.green, palette.red, palette.yellow, palette.ground}) == 4


@pytest.mark.parametrize(
    ("term", "sixteen"), [("xterm", True), ("screen", True), ("xterm-256color", False), ("tmux-256color", False)]
)
def test_a_terminal_of_sixteen_colors_gets_a_palette_of_its_own(monkeypatch, term, sixteen):
    """Its kind is known from TERM."""
    in_terminal(monkeypatch, TERM=term)
    assert (TerminalColors.sixteen, TerminalColors.nearest) == (sixteen, not sixteen)
    assert hex_of(GREEN) == (PALETTES_16 if sixteen else PALETTES)["dark"].green
    monkeypatch.undo()
    restyle()


@pytest.mark.parametrize(("features", "passed_on"), [("256,RGB,title", True), ("256,title", False)])
def test_all_colors_are_used_in_a_tmux_that_passes_them_on(tmp_path, monkeypatch, features, passed_on):
    """TERM says 256 there; tmux says more."""
    program = tmp_path / "tmux"
    program.write_text(f"#!/bin/sh\necho {features}\n")
    program.chmod(0o755)
    in_terminal(monkeypatch, TERM="screen-256color", TMUX="/tmp/tmux,1,0", PATH=str(tmp_path))
    assert (TerminalColors.passed_on, TerminalColors.nearest) == (passed_on, not passed_on)
    app = FilteredApp()
    apply_theme(app)
    assert app.console.color_system == ("truecolor" if passed_on else "256")
    monkeypatch.undo()
    restyle()


def in_terminal(monkeypatch, **environment):
    """Take the colors of a terminal with these variables."""
    for name in ("sixteen", "nearest", "passed_on"):
        monkeypatch.setattr(TerminalColors, name, False)
    for name in ("COLORTERM", "STY", "TMUX"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    match_terminal()


@pytest.mark.parametrize("palette", [PALETTES["dark"], PALETTES["light"]])
def test_muted_colors_stay_muted_with_256_colors(palette):
    """Grays become grays, the ground is not black, and what was darker is not lighter."""
    shades = [getattr(palette, name) for name in ("ground", "raised", "line", "faint", "soft", "text", "bright")]
    fill = mixed(palette.accent, palette.ground, TINT)
    found = [nearest_color(Color.parse(shade)).get_truecolor() for shade in (*shades, fill)]
    assert all(red == green == blue for red, green, blue in found)
    light = [red for red, _, _ in found[:-1]]
    assert light == sorted(light, reverse=not palette.dark)
    assert len(set(light)) >= len(light) - 1
    assert found[-1] != found[0]


def test_everything_passes_the_filter_of_256_colors():
    """Text, attributes and what moves the cursor stay as they are."""
    segments = [Segment("a", Style(color="#10141b", bgcolor="#2c3644", bold=True)), Segment("b")]
    first, second = NearestFilter().apply(segments, Background(0, 0, 0))
    assert (first.text, first.style) == ("a", Style(color="color(233)", bgcolor="color(237)", bold=True))
    assert second == segments[1]


@pytest.mark.parametrize(
    ("color", "ground", "written"),
    [("#555555", "#ff5555", "color(0)"), ("#aa5500", "#aaaaaa", "color(0)"), ("#0000aa", "#000000", "color(15)")],
)
def test_letters_can_be_read_in_sixteen_colors(color, ground, written):
    """A gray letter on red is black; pictures, and letters with enough contrast, keep their colors."""
    style, enough = Style(color=color, bgcolor=ground, bold=True), Style(color="#ffffff", bgcolor="#000000")
    segments = [Segment("rr", style), Segment("▀", style), Segment("a", enough), Segment("b")]
    first, *others = LegibleFilter().apply(segments, Background(0, 0, 0))
    assert first == Segment("rr", Style(color=written, bgcolor=ground, bold=True))
    assert others == segments[1:]
