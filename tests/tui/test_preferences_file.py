"""Changes in the preferences file leave everything else in it as it is."""

import pytest

from pac.envs import PacError
from pac.tui.preferences import Preferences, Rates, read
from pac.tui.preferences_file import changes_between, save

TEXT = """\
#:schema config.schema.json
theme = "dark"   # at night

# Boards are expensive over SSH.
[rates]
grid = 5 # Hz

[keys]
"view.timing" = 'T'  # t is taken
pause = "p,space"
play = "P"
"""


@pytest.fixture
def file(tmp_path):
    """A file with comments."""
    found = tmp_path / "config.toml"
    found.write_text(TEXT)
    return found


@pytest.mark.parametrize(
    ("changes", "old", "new"),
    [
        ({("", "theme"): "light"}, 'theme = "dark"   # at', 'theme = "light"   # at'),
        ({("", "color"): False}, 'theme = "dark"', 'color = false\ntheme = "dark"'),
        ({("rates", "grid"): 2.0}, "grid = 5 # Hz", "grid = 2 # Hz"),
        ({("rates", "system"): 0.5}, "grid = 5 # Hz\n", "grid = 5 # Hz\nsystem = 0.5\n"),
        ({("keys", "view.timing"): "ctrl+t"}, "'T'  #", '"ctrl+t"  #'),
        ({("keys", "view.logs"): "O"}, 'play = "P"\n', 'play = "P"\n"view.logs" = "O"\n'),
        ({("keys", "play"): None}, 'play = "P"\n', ""),
        ({("keys", "help"): None}, "", ""),
    ],
)
def test_only_the_changed_values_differ(file, changes, old, new):
    """Comments, order and spaces stay."""
    save(file, changes)
    assert file.read_text() == TEXT.replace(old, new, 1)


def test_all_changes_at_once_can_be_read_back(file):
    """Those of a value, of a rate and of keys."""
    before = read(file)
    keys = {"view.timing": "ctrl+t", "record": "P"}
    after = before.model_copy(update={"theme": "colorblind", "rates": Rates(grid=5, figures=2), "keys": keys})
    save(file, changes_between(before, after))
    assert read(file) == after


def test_a_missing_file_is_made(tmp_path):
    """With its folder, and only with what differs from the defaults."""
    file = tmp_path / "pac-tui" / "config.toml"
    after = Preferences(theme="light", keys={"pause": "f9"})
    save(file, changes_between(Preferences(), after))
    assert file.read_text() == 'theme = "light"\n\n[keys]\npause = "f9"\n'


@pytest.mark.parametrize(
    "text",
    [
        "theme = 'pink'\n",
        "theme =\n",
        "tehme = 'dark'\n",
    ],
)
def test_a_file_with_an_error_stays(tmp_path, text):
    """The reason is given."""
    file = tmp_path / "config.toml"
    file.write_text(text)
    with pytest.raises(PacError, match=r"config\.toml"):
        save(file, {("rates", "grid"): 2.0})
    assert file.read_text() == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rates = {grid = 5}  # a table in a line\n", "rates = {grid = 2}  # a table in a line\n"),
        ("rates.grid = 5\n", "rates.grid = 2\n"),
        (
            '[keys]\npause = """\n[rates]\ngrid = 5"""\n',
            '[keys]\npause = """\n[rates]\ngrid = 5"""\n\n[rates]\ngrid = 2\n',
        ),
    ],
)
def test_any_form_of_the_file_can_be_edited(tmp_path, text, expected):
    """Also where a text looks like a section."""
    file = tmp_path / "config.toml"
    file.write_text(text)
    save(file, {("rates", "grid"): 2.0})
    assert file.read_text() == expected


def test_a_link_stays_a_link(file, tmp_path):
    """The file that it points to is changed, and keeps its permissions."""
    file.chmod(0o600)
    link = tmp_path / "link.toml"
    link.symlink_to(file)
    save(link, {("", "theme"): "light"})
    assert link.is_symlink()
    assert read(file).theme == "light"
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_file_that_cannot_be_written_is_reported(tmp_path):
    """With the reason of the system."""
    (tmp_path / "pac-tui").write_text("a file in place of the folder")
    with pytest.raises(PacError, match="cannot be"):
        save(tmp_path / "pac-tui" / "config.toml", {("", "theme"): "light"})
