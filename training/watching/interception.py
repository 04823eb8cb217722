"""Watches the environments of a script that does not call `watch`.

An environment object gets a subclass of its own class, with the same name, in which `reset` and `step` also notify a
session. So it keeps its identity, its attributes and its type. A copy of it, also a pickled one, has the plain class.

Environments may contain others: a vector environment has its own, and a wrapper around a parallel environment is a
vector environment. The outermost object that the script itself resets and steps is watched, and none within it.
"""

from __future__ import annotations

import copyreg
import functools
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from .env_watch import EnvWatch
from .naming import creation_label

MakeWatch: TypeAlias = Callable[..., EnvWatch]
Methods: TypeAlias = Callable[[Any], dict[str, Any]]
"""Returns the methods of the watched subclass of a class."""
KEY = "_pac_watch"
"""The attribute of a watched object that contains what follows it."""
WRAPPERS = frozenset({"Wrapper", "VectorWrapper", "VecEnvWrapper", "BaseParallelWrapper"})
"""Classes whose instances pass their steps to another environment, which is watched instead."""
ENDS_EPISODES = frozenset({"TimeLimit"})
"""Wrappers that end episodes, of which the environment within does not know; they are watched themselves."""


class _Depth(threading.local):
    """Where a thread is: inside the constructor or a reset of an environment that may contain others."""

    making = 0
    resetting = 0


class CannotWatch(Exception):
    """Why an environment cannot be watched, in a sentence for the user."""


class _State:
    """Whether environments are watched in this process: not in its forks."""

    active = True
    failed = False


depth = _Depth()


@contextmanager
def making() -> Iterator[None]:
    """Do not watch environments that are made in the block, since another one contains them."""
    depth.making += 1
    try:
        yield
    finally:
        depth.making -= 1


def may_watch() -> bool:
    """Whether an environment that is made now is to be watched."""
    return _State.active and not depth.making


def stop_intercepting() -> None:
    """Stop watching environments in this process."""
    _State.active = False


def common_methods(plain: Any, make_watch: MakeWatch) -> dict[str, Any]:
    """Return the methods that the watched subclass of a class has, whatever library it belongs to."""

    def initialize(self: Any, *args: Any, **kwargs: Any) -> None:
        with making():
            plain.__init__(self, *args, **kwargs)
        follow(self)

    def reduce(self: Any, protocol: Any) -> Any:
        """Copy and pickle as an object of the plain class."""
        reduced = plain.__reduce_ex__(self, protocol)
        if isinstance(reduced, str):
            return reduced
        make, arguments, *rest = reduced
        own = type(self)
        if rest and isinstance(rest[0], dict):
            rest[0] = {name: value for name, value in rest[0].items() if name != KEY}
        if (
            arguments[:1] == (own,) and getattr(make, "__name__", "") == "__newobj__"
        ):  # pickle refuses it with another class
            make, arguments = copyreg._reconstructor, (plain, object, None)  # type: ignore[attr-defined]  # noqa: SLF001
        arguments = tuple(plain if argument is own else argument for argument in arguments)
        return (plain if make is own else make, arguments, *rest)

    def reset(self: Any, *args: Any, **kwargs: Any) -> Any:
        return reset_and_note(self, lambda watch, result: watch.begin(self, *result), *args, **kwargs)

    def close(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self._pac_watch is not None:
            self._pac_watch.close()
        return plain.close(self, *args, **kwargs)

    return {
        "__init__": functools.wraps(plain.__init__)(initialize),
        "__reduce_ex__": reduce,
        "reset": functools.wraps(plain.reset)(reset),
        "close": functools.wraps(plain.close)(close),
        "_pac_plain": plain,
        "_pac_make_watch": staticmethod(make_watch),
        KEY: None,
    }


def reset_and_note(env: Any, note: Callable[[EnvWatch, Any], None], *args: Any, **kwargs: Any) -> Any:
    """Reset an environment, and note the result; inside the reset of another one, release it first."""
    if depth.resetting:
        release(env)
        return env.reset(*args, **kwargs)
    watch = env._pac_watch  # noqa: SLF001 - that is where it is
    depth.resetting += 1
    try:
        result = type(env)._pac_plain.reset(env, *args, **kwargs)  # noqa: SLF001 - as above
    finally:
        depth.resetting -= 1
    if watch is not None and _State.active:
        try:
            note(watch, result)
        except Exception as error:
            fail(env, error)
    return result


def open_session(env: Any) -> Any:
    """Open the session at the first step; return where to note steps, None if that is impossible."""
    watch = env._pac_watch  # noqa: SLF001 - as above
    if watch is None or not _State.active:
        return None
    try:
        return watch.open(env)
    except Exception as error:
        fail(env, error)
        return None


_classes: dict[type, type] = {}


def watched_class(plain: type, methods: Methods) -> type:
    """Return a subclass of `plain` with other methods and the same name.

    It has one base, as otherwise an object of `plain` could not become one of it.
    """
    made = _classes.get(plain)
    if made is None:
        names = {"__module__": plain.__module__, "__qualname__": plain.__qualname__, "__doc__": plain.__doc__}
        made = _classes[plain] = type(plain)(plain.__name__, (plain,), {**names, **methods(plain)})
    return made


def is_watched(env: Any) -> bool:
    """Whether an object is of a class that `watched_class` has made."""
    return "_pac_plain" in vars(type(env))


def follow(env: Any) -> None:
    """Follow a new object of a watched class from now on, if it can be followed.

    Its `__dict__` is not touched: Python would then look up every attribute of the environment in a dictionary.
    """
    try:
        object.__setattr__(env, KEY, type(env)._pac_make_watch(label=creation_label(), unchanged=True))  # noqa: SLF001
    except Exception as error:
        report(env, error)


def adopt(env: Any, methods: Methods) -> None:
    """Watch an object that was made before."""
    if is_watched(env):
        return
    try:
        env.__class__ = watched_class(type(env), methods)
        follow(env)
    except Exception as error:
        report(env, error)


def watch_object(env: Any, methods: Methods, name: str | None) -> None:
    """Watch an object from its next reset on, because the script asks for it.

    Raises:
        TypeError: Objects of its class cannot get another one.
    """
    if not is_watched(env):
        env.__class__ = watched_class(type(env), methods)
    if env._pac_watch is not None:  # noqa: SLF001 - as above
        env._pac_watch.close()  # noqa: SLF001 - as above
    object.__setattr__(env, KEY, type(env)._pac_make_watch(name))  # noqa: SLF001 - as above


def release(env: Any) -> None:
    """Stop watching an object, and give it its plain class back."""
    if is_watched(env):
        watch = vars(env).pop(KEY, None)
        env.__class__ = type(env)._pac_plain  # noqa: SLF001 - as above
        if watch is not None:
            watch.close()


def fail(env: Any, error: Exception) -> None:
    """Stop watching an object after an error of ours, and let the script continue."""
    report(env, error)
    try:
        release(env)
    except Exception as another:
        report(env, another)


def report(env: Any, error: Exception) -> None:
    """Print, once per process, why an object is not watched."""
    if not _State.failed:
        _State.failed = True
        reason = str(error) if isinstance(error, ImportError | CannotWatch) else f"{type(error).__name__}: {error}"
        print(f"pac-tui: {type(env).__name__} is not watched: {reason}", file=sys.stderr)  # noqa: T201


def intercept_instances(base: type, methods: Methods) -> None:
    """Watch the instances of `base` and its subclasses that are made from now on, except wrappers."""
    original: Any = base.__new__

    def new(cls: type, *args: Any, **kwargs: Any) -> Any:
        if may_watch() and "_pac_plain" not in vars(cls) and _acts_itself(cls):
            cls = watched_class(cls, methods)
        return object.__new__(cls) if original is object.__new__ else original(cls, *args, **kwargs)

    type.__setattr__(base, "__new__", new)


def _acts_itself(cls: type) -> bool:
    """Whether an environment of a class is one to watch, and not a wrapper around one."""
    names = {base.__name__ for base in cls.__mro__}
    return WRAPPERS.isdisjoint(names) or not ENDS_EPISODES.isdisjoint(names)
