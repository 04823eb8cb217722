"""Abstractions of the betting as files."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from pac.envs import BadParameter, UnknownName
from pac.envs.poker.sizes import PRESETS, sizes_of


def plain(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(dict(PRESETS[name])))
    return found


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("ending", [".yaml", ".json"])
def test_a_file_says_what_a_preset_does(tmp_path, name, ending):
    """A preset written to a file is the same abstraction."""
    path = tmp_path / f"mine{ending}"
    path.write_text(yaml.safe_dump(plain(name)) if ending == ".yaml" else json.dumps(plain(name)))
    assert sizes_of(str(path)) == sizes_of(name)


def test_the_pages_example_is_the_standard(tmp_path):
    """The file in docs/holdem.md says what `standard` does."""
    page = (Path(__file__).parents[3] / "docs" / "holdem.md").read_text()
    path = tmp_path / "mine.yaml"
    path.write_text(re.findall(r"```yaml\n(.*?)```", page, flags=re.DOTALL)[0])
    assert sizes_of(str(path)) == sizes_of("standard")


def test_sizes_have_names():
    """Numbers are blinds before the flop and shares of the pot after it; all-in comes last."""
    names = [size.name for size in sizes_of("standard").offered]
    assert names == ["min", "to 2.5bb", "to 3bb", "to 3.5bb", "to 5bb", "33%", "66%", "pot", "125%", "all-in"]


def test_an_unknown_preset():
    """The error lists the known ones, and says that a file would do."""
    with pytest.raises(UnknownName, match=r"Did you mean standard.*FILE\.yaml"):
        sizes_of("standart")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"max_raise": 3}, "max_raise"),
        ({"max_raises": 0}, "from 1 to 8"),
        ({"blinds": [2, 1]}, "the small one first"),
        ({"jam_spr_threshold": -1}, "jam_spr_threshold"),
        ({"flop_templates": {"first_aggressive": [0.5]}}, "flop_templates.facing_bet"),
        ({"preflop_templates": {**plain("standard")["preflop_templates"], "sb_first_in": ["fold", 2]}}, "both or"),
        ({"postflop_templates": {**plain("fcpa")["postflop_templates"], "facing_bet": ["half"]}}, "a size is a number"),
        ({"postflop_templates": {**plain("fcpa")["postflop_templates"], "facing_bet": [-1]}}, "above zero"),
        ({"postflop_templates": {**plain("fcpa")["postflop_templates"], "facing_bet": "jam"}}, "a list of sizes"),
    ],
)
def test_what_does_not_fit(tmp_path, change, said):
    """The error names the file, the place in it and what is expected there."""
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump({**plain("standard"), **change}))
    with pytest.raises(BadParameter, match=said) as raised:
        sizes_of(str(path))
    assert str(path) in str(raised.value)


@pytest.mark.parametrize("text", [None, "{", "- 1", ""])
def test_no_file(tmp_path, text):
    """A file that is not there, or says nothing of the kind, is the user's to mend."""
    path = tmp_path / "mine.yaml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(BadParameter, match=r"mine\.yaml"):
        sizes_of(str(path))
