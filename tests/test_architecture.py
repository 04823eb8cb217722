"""ARCHITECTURE.md and the page of decisions name things that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = "\n".join((ROOT / page).read_text() for page in ("ARCHITECTURE.md", "docs/decisions.md"))
TEXT = re.sub(r"```.*?```", "", PAGES, flags=re.DOTALL)
QUOTED = sorted(set(re.findall(r"`([^`\n]+)`", TEXT)))
PATHS = [
    text for text in QUOTED if re.fullmatch(r"(envs|backends|training|tui|tests|docs)(/\w+)*/?(\.(py|md|c|txt))?", text)
]
NAMES = [text for text in QUOTED if re.fullmatch(r"[A-Z]\w*[a-z]\w*(\.\w+)*", text)]
FILES = [text for text in QUOTED if re.fullmatch(r"\w+\.py", text)]
SOURCES = {
    path: path.read_text() for room in ("envs", "backends", "training", "tui") for path in (ROOT / room).rglob("*.py")
}


@pytest.mark.parametrize("path", PATHS)
def test_paths_exist(path):
    """Each path is a file or a folder of the repository."""
    assert (ROOT / path).exists()


@pytest.mark.parametrize("name", FILES)
def test_files_without_a_folder_exist(name):
    """The sentence says in which folder."""
    assert (ROOT / name).exists() or any(path.name == name for path in SOURCES)


@pytest.mark.parametrize("name", NAMES)
def test_classes_and_methods_exist(name):
    """The class of a method is in a file that contains the method."""
    owner, *rest = name.split(".")
    naming = [text for text in SOURCES.values() if owner in text]
    defining = [text for text in naming if re.search(rf"\b(class {owner}\b|{owner} *[:=])", text)]
    assert any(all(re.search(rf"\b{part}\b", text) for part in rest) for text in defining)


def test_something_is_checked():
    """The expressions still match."""
    assert len(PATHS) > 60
    assert len(NAMES) > 20
