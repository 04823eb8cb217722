"""The list of scripts of other projects: what is downloaded is what was tried, and the page has the same list."""

from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from .external_scripts import EXTERNAL, ExternalScript, WrongScript

PAGE = "# Examples\n```python\nfirst()\n```\n```sh\nls\n```\n```python\nsecond()\nthird()\n```\n"
DOCUMENTED = Path(__file__).parents[3] / "docs" / "watch.md"


@pytest.fixture
def downloaded(tmp_path):
    """The URL of a server with a page, and the second block of it."""
    page = tmp_path / "who" / "what" / "abc" / "page.md"
    page.parent.mkdir(parents=True)
    page.write_text(PAGE)
    digest = sha256(b"second()\nthird()\n").hexdigest()
    return f"file://{tmp_path}", ExternalScript("script", ("who/what", "abc"), "page.md", digest, block=2)


def test_a_block_of_a_page_is_downloaded(downloaded):
    """The one with that number, of those in Python."""
    base, script = downloaded
    assert script.download(base) == "second()\nthird()\n"


@pytest.mark.parametrize("block", [0, 1, 3])
def test_another_text_is_refused(downloaded, block):
    """It has another hash."""
    base, script = downloaded
    with pytest.raises(WrongScript, match="script of who/what has another hash"):
        replace(script, block=block).download(base)


def test_the_page_lists_every_script():
    """With its repository and commit, its file, its block and its hash."""
    text = DOCUMENTED.read_text()
    for script in EXTERNAL:
        assert len(script.source[1]) == 40
        assert " at ".join(script.source) in text.replace("`", "")
        assert f"| `{script.name}` | `{script.path}` | {script.block or 'whole file'} | {script.sha256[:16]} |" in text
