"""Backends of installed packages."""

import pytest

from pac.backends import BACKENDS, backend_names

from ..packages import install, install_page
from ..programs import python

pytestmark = pytest.mark.session


def run(folder, code: str) -> str:
    result = python("-c", code, cwd=folder, environ={"PYTHONPATH": str(folder)})
    return result.stdout + result.stderr


def test_what_is_said_of_installed_backends(tmp_path):
    """An unknown name suggests one, an entry point must name a backend, and built-in ones cannot be replaced."""
    install_page(tmp_path, "backends.md")
    points = {"other": "pool_backend:PoolBackend", "odd": "pool_backend:time", "inline": "no_such_module:Inline"}
    install(tmp_path, "unfit", {}, {"pac.backends": points})
    code = """
import pac.backends as b
for name in ("poool", "other", "odd", "inline"):
    try:
        print(b.make("noop", 1, name).name)
    except Exception as error:
        print(error)
"""
    unknown, *unfit, built_in = run(tmp_path, code).splitlines()
    assert "Did you mean pool?" in unknown
    must = "the entry point {0} of pac.backends must be a subclass of Backend with the name '{0}'"
    assert all(must.format(name) in said for name, said in zip(("other", "odd"), unfit, strict=True))
    assert built_in == "inline"


def test_a_backend_that_cannot_run_here_falls_back(tmp_path):
    """The session uses inline instead, with the reason; strict, it fails."""
    install_page(tmp_path, "backends.md")
    code = (tmp_path / "pool_backend.py").read_text()
    refusal = "    @classmethod\n    def unavailable(cls, layout):\n        return 'no pool'\n"
    (tmp_path / "pool_backend.py").write_text(f"{code}\n{refusal}")
    made = (
        "import pac.backends as b; [print(b.make('noop', 1, 'pool', strict=strict).name) for strict in (False, True)]"
    )
    *said, refusal = run(tmp_path, made).splitlines()
    assert {"inline", "pool cannot run noop here (no pool), using inline"} <= {*said}
    assert "the pool backend cannot run noop here: no pool" in refusal


def test_the_names_begin_with_the_built_in_ones():
    """Installed backends follow the built-in ones."""
    assert backend_names()[: len(BACKENDS)] == tuple(BACKENDS)
