"""Starts watching in the interpreter of a script, before the script; see `pac.training.watching.launching`.

Python imports this module when it starts, because its folder is on PYTHONPATH. The script then finds its environment
variables, its `sys.path`, its own `sitecustomize` and its own modules as without watching, whatever their names: ours
get a private name, under which they are found only here.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
from importlib.machinery import ModuleSpec

VARIABLE = "PAC_WATCH_REQUEST"
ROOT = "_pac_tui"
"""Our packages in the process of a script. By this name it imports none of its own."""
PACKAGES = ("envs", "backends", "training")


class PackageFinder:
    """Finds our packages by their private name, and no others.

    Args:
        folder: The folder that contains them.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        """Return where a package is; None if it is not one of ours."""
        if name == ROOT:
            spec = ModuleSpec(name, None, is_package=True)
            spec.submodule_search_locations = []
            return spec
        root, _, package = name.partition(".")
        if root != ROOT or package not in PACKAGES:
            return None
        own = os.path.join(self._folder, package)  # noqa: PTH118 - pathlib would be imported before the script
        file = os.path.join(own, "__init__.py")  # noqa: PTH118 - as above
        return importlib.util.spec_from_file_location(name, file, submodule_search_locations=[own])


def import_privately(folder: str, module: str) -> object:
    """Import one of our modules, such as `training.watching.start`, by its private name."""
    if not any(isinstance(finder, PackageFinder) for finder in sys.meta_path):
        sys.meta_path.append(PackageFinder(folder))
    return importlib.import_module(f"{ROOT}.{module}")


def path_with_startup(before: str | None) -> str:
    """Return the PYTHONPATH with which Python imports this module when it starts."""
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - as above
    return os.pathsep.join([here, *([before] if before else [])])


def restore_environment(request: dict[str, object]) -> None:
    """Take back what the command changed for this process, so that the script and its child processes do not see it."""
    before = request.get("pythonpath")
    if isinstance(before, str):
        os.environ["PYTHONPATH"] = before
    else:
        os.environ.pop("PYTHONPATH", None)
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - as above
    sys.path[:] = [entry for entry in sys.path if entry != here]
    sys.path_importer_cache.pop(here, None)


def import_other_sitecustomize() -> None:
    """Import the `sitecustomize` that Python would have imported, if there is one."""
    own = sys.modules.pop("sitecustomize", None)
    try:
        importlib.import_module("sitecustomize")
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
        if own is not None:  # Python expects to find the module that it is importing
            sys.modules["sitecustomize"] = own


def forget() -> None:
    """Remove this module where a script would find none, once Python has imported it."""
    found = sys.modules.get("sitecustomize")
    spec = getattr(found, "__spec__", None)
    if getattr(found, "__file__", None) == __file__ and not getattr(spec, "_initializing", False):
        del sys.modules["sitecustomize"]


def main() -> None:
    """Install the hooks in this process."""
    request = json.loads(os.environ.pop(VARIABLE))
    restore_environment(request)
    try:
        import_privately(request["folder"], "training.watching.start").start(request)  # type: ignore[attr-defined]
    except Exception as error:
        sys.stderr.write(f"pac-tui: cannot watch with {sys.executable}: {type(error).__name__}: {error}\n")
    import_other_sitecustomize()


if VARIABLE in os.environ:
    main()
