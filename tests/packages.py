"""Packages with entry points, installed into a folder as an installer leaves them."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def blocks(page: str, language: str) -> list[str]:
    """Return the code blocks of a page of docs/."""
    return re.findall(rf"^```{language}\n(.*?)^```", (DOCS / page).read_text(), flags=re.DOTALL | re.MULTILINE)


def files_of(page: str) -> dict[str, str]:
    """Return the Python files of a page by name: the blocks that begin with `# name.py`."""
    named = ((re.match(r"# (\w+\.py)\n", code), code) for code in blocks(page, "python"))
    return {found[1]: code for found, code in named if found}


def install(folder: Path, name: str, files: Mapping[str, str], points: Mapping[str, Mapping[str, str]]) -> None:
    """Write a package's modules and its entry points by group."""
    for file, code in files.items():
        (folder / file).write_text(code)
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    texts = [
        f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in named.items())
        for group, named in points.items()
    ]
    (info / "entry_points.txt").write_text("".join(texts))


def install_page(folder: Path, page: str) -> None:
    """Install the package that a page of docs/ describes."""
    (toml,) = blocks(page, "toml")
    install(folder, f"from-{Path(page).stem}", files_of(page), tomllib.loads(toml)["project"]["entry-points"])
