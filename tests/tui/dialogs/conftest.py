"""The user's preferences, as the test leaves them to the app."""

import pytest

from pac.tui.drawing.styles import restyle
from pac.tui.preferences import InUse, Preferences, path


@pytest.fixture
def config_file(tmp_path, monkeypatch):
    """The preferences file, which does not exist yet; afterwards, the preferences are those before the test."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(InUse, "now", Preferences())
    monkeypatch.setattr(InUse, "kept", Preferences())
    yield path()
    monkeypatch.undo()
    restyle()
