"""Backends of installed packages."""

import pytest

from pac.backends import BACKENDS, backend_names

from ..packages import install, install_page
from ..programs import python

pytestmark = pytest.mark.session


def run(folder, code: str) -> str:
    result = python("-c", code, cwd=folder, environ={"PYTHONPATH": str(folder)})
    return result.stdout + result.stderr


def test_an_unknown_name_lists_it(tmp_path):
    """The message about an unknown backend suggests the installed one."""
    install_page(tmp_path, "backends.md")
    assert "Did you mean pool?" in run(tmp_path, "import pac.backends as b; b.make('noop', 1, 'poool')")


@pytest.mark.parametrize("point", ["other = pool_backend:PoolBackend", "pool = pool_backend:time"])
def test_an_entry_point_that_does_not_fit(tmp_path, point):
    """An entry point must name a subclass of Backend with its own name."""
    install_page(tmp_path, "backends.md")
    name, _, value = point.partition(" = ")
    install(tmp_path, "unfit", {}, {"pac.backends": {name: value}})
    (tmp_path / "from_backends-1.0.dist-info" / "entry_points.txt").unlink()
    said = run(tmp_path, f"import pac.backends as b; b.make('noop', 1, {name!r})")
    assert f"the entry point {name} of pac.backends must be a subclass of Backend with the name {name!r}" in said


def test_a_built_in_backend_cannot_be_replaced(tmp_path):
    """An entry point with the name of a built-in backend has no effect."""
    install(tmp_path, "thief", {}, {"pac.backends": {"inline": "no_such_module:Inline"}})
    assert run(tmp_path, "import pac.backends as b; print(b.make('noop', 1, 'inline').name)") == "inline\n"


def test_a_backend_that_cannot_run_here_falls_back(tmp_path):
    """The session uses inline instead, with the reason; strict, it fails."""
    install_page(tmp_path, "backends.md")
    code = (tmp_path / "pool_backend.py").read_text()
    refusal = "    @classmethod\n    def unavailable(cls, layout):\n        return 'no pool'\n"
    (tmp_path / "pool_backend.py").write_text(f"{code}\n{refusal}")
    made = "import pac.backends as b; print(b.make('noop', 1, 'pool', strict={}).name)"
    said = run(tmp_path, made.format(False)).splitlines()
    assert sorted(said) == ["inline", "pool cannot run noop here (no pool), using inline"]
    assert "the pool backend cannot run noop here: no pool" in run(tmp_path, made.format(True))


def test_the_names_begin_with_the_built_in_ones():
    """Installed backends follow the built-in ones."""
    assert backend_names()[: len(BACKENDS)] == tuple(BACKENDS)
