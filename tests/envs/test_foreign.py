"""Code of users and of installed packages that fails when it is imported."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pac.envs import BadParameter, families, find
from pac.envs.registry import _installed

FAILURES = {
    "an error": ("raise RuntimeError('no licence')", "RuntimeError: no licence"),
    "its end": ("import sys; sys.exit('I quit')", "SystemExit: I quit"),
    "no Python": ("def (", "SyntaxError: invalid syntax"),
    "a missing name": ("import json; json.nothing", "AttributeError: module 'json' has no attribute 'nothing'"),
    "several lines": ("raise OSError('one\\n two')", "OSError: one two"),
    "not an exception": ("class Own(BaseException): pass\nraise Own('mine')", "Own: mine"),
    "a missing module": ("import no_such_module", "needs the module 'no_such_module', which is not installed"),
}
CODE = pytest.mark.parametrize(("code", "text"), FAILURES.values(), ids=FAILURES)


@pytest.fixture
def written(tmp_path: Path, monkeypatch) -> Iterator[Callable[[str], Path]]:
    """Write the module `misbehaving`, which can be imported during the test."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(code: str) -> Path:
        (tmp_path / "misbehaving.py").write_text(code)
        return tmp_path

    yield write
    sys.modules.pop("misbehaving", None)
    _installed.cache_clear()
    families.cache_clear()


def offer(folder: Path, name: str) -> None:
    """Install the package `misbehaving`, which offers the task `name`."""
    info = folder / "misbehaving-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: misbehaving\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[pac.tasks]\n{name} = misbehaving:FAMILY\n")
    _installed.cache_clear()
    families.cache_clear()


@CODE
@pytest.mark.parametrize("spec", ["misbehaving:Env", "misbehaving:Env-v0"])
def test_a_module_that_fails(written, spec, code, text):
    """Named as a class's module or as the one that registers an id, it is one sentence that names it."""
    written(code)
    with pytest.raises(BadParameter) as caught:
        find(spec)
    assert str(caught.value).startswith(f"{spec} ")
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("code", "text"),
    [
        *FAILURES.values(),
        ("FAMILY = {}", "the entry point misbehaving of pac.tasks must be a TaskFamily, got {}"),
        (
            "from pac.envs.family import TaskFamily\nFAMILY = TaskFamily('misbehaving', '', lambda spec: {}[spec])",
            "could not be built: KeyError",
        ),
    ],
    ids=[*FAILURES, "another object", "a task that cannot be built"],
)
def test_a_package_that_fails(written, code, text):
    """Its task is reported when it is asked for, and the built-in ones remain."""
    offer(written(code), "misbehaving")
    with pytest.raises(BadParameter, match="misbehaving") as caught:
        find("misbehaving")
    assert text in str(caught.value)
    assert find("noop").name == "noop"


def test_a_package_cannot_replace_a_built_in_task(written, caplog):
    """Its module is not imported, and a warning names the package."""
    offer(written("raise RuntimeError"), "drmario")
    assert find("drmario").factory.startswith("pac.envs.")
    assert [record.message for record in caplog.records] == [
        "the package misbehaving offers a task drmario, but drmario is built in: the built-in one is used"
    ]


def test_an_environment_that_ends_the_program(written):
    """It does not end whoever asks for it."""
    written("import gymnasium, sys\nclass Env(gymnasium.Env):\n def __init__(self):\n  sys.exit('I quit')\n")
    with pytest.raises(BadParameter, match=r"could not be created with {}: SystemExit: I quit"):
        find("misbehaving:Env")
