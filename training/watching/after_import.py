"""Calls functions after modules are imported, so that the script decides what is imported and when."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, TypeAlias

from .startup import sitecustomize

Hook: TypeAlias = Callable[[ModuleType], None]


class ImportHooks:
    """A finder that finds modules like the others, and calls a function after a module was executed.

    Args:
        hooks: The function of each module, by its full name.
    """

    def __init__(self, hooks: Mapping[str, Hook]) -> None:
        self._hooks = dict(hooks)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return how the other finders load a module, plus the call of its function; None if it has no function."""
        sitecustomize.forget()
        hook = self._hooks.pop(name, None)
        if hook is None:
            return None
        spec = next((spec for finder in sys.meta_path if (spec := _found(finder, name, path, target))), None)
        if spec is not None and spec.loader is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = _HookedLoader(spec.loader, hook)
        return spec


class _HookedLoader(Loader):
    """Loads a module with another loader, and then calls a function."""

    def __init__(self, loader: Any, hook: Hook) -> None:
        self._loader, self._hook = loader, hook

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Create the module."""
        return self._loader.create_module(spec)  # type: ignore[no-any-return]

    def exec_module(self, module: ModuleType) -> None:
        """Execute the module, restore its loader, and call the function."""
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._hook(module)


def _found(finder: Any, name: str, path: Any, target: Any) -> ModuleSpec | None:
    find = getattr(finder, "find_spec", None)
    return None if find is None or isinstance(finder, ImportHooks) else find(name, path, target)


def call_after_import(hooks: Mapping[str, Hook]) -> None:
    """Call each function after its module is imported, or at once if it already has been."""
    later = {name: hook for name, hook in hooks.items() if name not in sys.modules}
    sys.meta_path.insert(0, ImportHooks(later))
    for name, hook in hooks.items():
        if name not in later:
            hook(sys.modules[name])
