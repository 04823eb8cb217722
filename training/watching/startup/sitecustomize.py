"""Starts watching in the interpreter of a script, before the script; see `pac.training.watching.launching`.

Python imports this module when it starts, because its folder is on PYTHONPATH. The script then finds its environment
variables, its `sys.path` and its own `sitecustomize` as without watching.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
from importlib.machinery import ModuleSpec

VARIABLE = "PAC_WATCH_REQUEST"


class PackageFinder:
    """Finds our packages and no others, in an interpreter that does not have them.

    Args:
        folders: The folder of each package, by its full name.
    """

    def __init__(self, folders: dict[str, str]) -> None:
        self._folders = folders

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        """Return where a package is; None if it is not one of ours."""
        if name == "pac":
            spec = ModuleSpec(name, None, is_package=True)
            spec.submodule_search_locations = []
            return spec
        folder = self._folders.get(name)
        if folder is None:
            return None
        file = os.path.join(folder, "__init__.py")  # noqa: PTH118 - pathlib would be imported before the script
        return importlib.util.spec_from_file_location(name, file, submodule_search_locations=[folder])


def restore_environment(request: dict[str, object]) -> None:
    """Take back what the command changed for this process, so that the script and its child processes do not see it."""
    before = request.get("pythonpath")
    if isinstance(before, str):
        os.environ["PYTHONPATH"] = before
    else:
        os.environ.pop("PYTHONPATH", None)
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - as above
    sys.path[:] = [entry for entry in sys.path if entry != here]


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


def main() -> None:
    """Install the hooks in this process."""
    request = json.loads(os.environ.pop(VARIABLE))
    restore_environment(request)
    folders = request.get("packages")
    if folders:
        sys.meta_path.insert(0, PackageFinder(folders))
    try:
        module = importlib.import_module("pac.training.watching.start")
    except Exception as error:
        sys.stderr.write(f"pac-tui: cannot watch with {sys.executable}: {type(error).__name__}: {error}\n")
    else:
        module.start(request)
    import_other_sitecustomize()


if VARIABLE in os.environ:
    main()
