"""Calls functions after modules are imported, so that the script decides what is imported and when."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, TypeAlias

from .hidden import hidden
from .startup import sitecustomize

Hook: TypeAlias = Callable[[ModuleType], None]


class ImportHooks:
    """A finder that finds modules as the others do, and has a function called after a module was executed.

    Args:
        hooks: The function of each module, by its full name.
    """

    def __init__(self, hooks: Mapping[str, Hook]) -> None:
        self._hooks = dict(hooks)

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> ModuleSpec | None:
        """Return how the other finders load a module, plus the call of its function; None if it has no function."""
        sitecustomize.forget()
        hook = self._hooks.pop(name, None)
        spec = None if hook is None else importlib.util.find_spec(name)
        if hook is not None and spec is not None:
            with suppress(AttributeError):  # a loader of the script may do it in another way
                _call_after(spec.loader, hook)
        return spec


def _call_after(loader: Any, hook: Hook) -> None:
    """Call a function after a loader has executed a module."""
    execute = loader.exec_module

    @hidden
    def exec_module(module: ModuleType) -> None:
        del loader.exec_module
        execute(module)
        with suppress(Exception):  # of another version of a library
            hook(module)

    loader.exec_module = exec_module


def call_after_import(hooks: Mapping[str, Hook]) -> None:
    """Call each function after its module is imported, or at once if it already has been."""
    later = {name: hook for name, hook in hooks.items() if name not in sys.modules}
    sys.meta_path.insert(0, ImportHooks(later))
    for name in hooks.keys() - later.keys():
        hooks[name](sys.modules[name])
