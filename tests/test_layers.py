"""What may be imported by what, seen from fresh interpreters; and the names that each room offers."""

import ast
import json
import re
import subprocess
import sys
from collections import Counter
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[1]
HEAVY = ("torch", "numba", "gymnasium", "textual", "pac.tui", "pac.training", "pac.backends")
CHAINS: list[dict[str, tuple[str, ...]]] = [
    {"pac.tui.cli.commands": ("torch", "numba", "gymnasium", "textual", "numpy")},
    {
        "pac.envs": HEAVY,
        "pac.envs.drmario.task": HEAVY,
        "pac.backends": ("torch", "numba", "gymnasium", "textual", "pac.tui", "pac.training"),
        "pac.training": ("torch", "numba", "gymnasium", "textual", "pac.tui"),
        "pac.training.trainers": ("torch", "numba", "gymnasium", "textual", "pac.tui"),
        "pac.training.session.host": ("torch", "numba", "gymnasium", "textual", "pac.tui"),
        "pac.tui.starting.launch": ("torch", "numba", "gymnasium", "textual"),
        "pac.tui.app.app": ("torch", "numba", "gymnasium"),
        "pac.tui.play.play": ("torch", "numba", "gymnasium"),
        "pac.tui.play.poker": ("torch", "numba", "gymnasium"),
    },
    {
        "pac.training.session.session": ("torch", "textual", "pac.tui"),
        "pac.training.random_policy": ("torch", "textual", "pac.tui"),
        "pac.training.ppo.trainer": ("textual", "pac.tui"),
    },
    {"pac.training.watching.script": ("setproctitle", "textual", "pac.tui")},
]
"""Modules imported one after the other in one fresh interpreter, and what must not have come along by then."""


@pytest.fixture(scope="module")
def imported():
    """Return, for each module, what stands in `sys.modules` once it and those before it are imported."""
    code = (
        "import importlib, json, sys\n"
        "for name in sys.argv[1:]:\n"
        "    importlib.import_module(name)\n"
        "    print(json.dumps([name, sorted(sys.modules)]))\n"
    )
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code, *chain], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for chain in CHAINS
    ]
    found = {}
    for process in started:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        found.update({name: set(modules) for name, modules in map(json.loads, out.splitlines())})
    return found


@pytest.mark.session
@pytest.mark.parametrize(("name", "banned"), [item for chain in CHAINS for item in chain.items()])
def test_an_import_brings_nothing_heavy(imported, name, banned):
    """Importing a room brings along only what it needs."""
    assert not imported[name] & set(banned)


def test_no_module_imports_itself_through_others():
    """Not even for types or within a function, nor through the `__init__` of a package."""
    graph = grimp.build_graph("pac.envs", "pac.backends", "pac.training", "pac.tui", cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert len(imports) > 100
    TopologicalSorter(imports).prepare()  # raises a CycleError that names the modules


def test_no_process_imports_modules_of_the_working_directory():
    """Every interpreter that starts a module gets -P."""
    files = [path for room in ("envs", "backends", "training", "tui") for path in (ROOT / room).rglob("*.py")]
    started = [line for path in files for line in path.read_text().splitlines() if re.search(r'executable.*"-m"', line)]
    assert len(started) > 10
    assert [line for line in started if '"-P"' not in line] == []


@pytest.mark.parametrize("room", ["pac.envs", "pac.backends"])
def test_what_is_offered_exists(room):
    """Every name that a room exports is there."""
    module = import_module(room)
    assert [name for name in module.__all__ if not hasattr(module, name)] == []
    assert len(set(module.__all__)) == len(module.__all__)


def test_a_game_is_one_folder():
    """Every named task comes from a folder of its own under `envs`, and is found by its name."""
    from pac.envs import families, find

    assert {"drmario", "drmario-frames"} <= set(families())
    assert all(find(name).name == name for name in families())


@pytest.mark.thorough
def test_class_names_are_unique():
    """A search for a class finds one."""
    sources = [path for room in ("envs", "backends", "training", "tui") for path in (ROOT / room).rglob("*.py")]
    nodes = (node for path in sources for node in ast.parse(path.read_text()).body)
    names = Counter(node.name for node in nodes if isinstance(node, ast.ClassDef))
    assert len(names) > 500
    assert [name for name, count in names.items() if count > 1] == []
