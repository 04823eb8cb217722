"""The glossary names things that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
IDENTIFIERS = re.findall(r"`pac\.([\w.]+)` \|$", (ROOT / "docs" / "glossary.md").read_text(), flags=re.MULTILINE)


def test_the_glossary_is_short():
    """It has at most forty words, and each has an identifier."""
    assert 30 <= len(IDENTIFIERS) <= 40


@pytest.mark.parametrize("identifier", sorted(set(IDENTIFIERS)))
def test_identifiers_of_the_glossary_exist(identifier):
    """The module of each identifier exists, and its source contains the names in it."""
    parts = identifier.split(".")
    module = next(
        ROOT.joinpath(*parts[:length]).with_suffix(".py")
        for length in range(len(parts), 0, -1)
        if ROOT.joinpath(*parts[:length]).with_suffix(".py").is_file()
    )
    names = parts[len(module.relative_to(ROOT).parts) :]
    source = module.read_text()
    assert all(re.search(rf"\b{name}\b", source) for name in names)
