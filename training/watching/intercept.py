"""Sees the calls that a script makes to its environments.

The code of a function such as `step` is replaced by code with the same parameters, which calls the function as it was
and notes what it returned. So objects, classes and functions stay the same ones, nothing is added to them, and the
frame in between is hidden. Environments contain each other: of nested calls, the outermost counts, which the script
made.
"""

from __future__ import annotations

import functools
import inspect
import sys
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from types import CodeType, FunctionType, SimpleNamespace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from .hidden import hidden, hidden_code
from .naming import Caller, callers

if TYPE_CHECKING:
    from ...envs.fields import Array


Noter: TypeAlias = Callable[[str, tuple[Any, ...], Mapping[str, Any], Any, float], None]
"""Notes a call: its name, its arguments, its result, and when it began."""


class Follower(Protocol):
    """What follows an environment.

    Attributes:
        env: The environment, a weak reference.
        begins: The methods of its class that begin an episode.
        attention: Not 0 if `before` is to be called before a step.
        thread: The thread that has called it last.
        noted: Called after a call within which no environment was reset; the fastest way to note a step.
    """

    env: weakref.ref[Any]
    begins: tuple[str, ...]
    attention: Sequence[int] | Array
    thread: Inside | None
    noted: Noter

    def before(self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Wait before a call."""

    def after(self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any, entered: float) -> None:
        """Note any call, see `Noter`."""


Follow: TypeAlias = Callable[[Any, tuple[Caller, ...]], Follower]
"""Returns what follows a new environment, from the environment and the calls that led to it."""
VARARGS, VARKEYWORDS = inspect.CO_VARARGS, inspect.CO_VARKEYWORDS
UNUSUAL = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
COPYING = frozenset({"__newobj__", "__newobj_ex__", "_reconstructor", "__copy__", "__deepcopy__", "__reduce_ex__"})
"""Functions that make an object as a copy of another one, which is not followed."""
LINK = 7_283_461_957
"""Stands in the code below for the object with which a function finds what it needs."""
TEMPLATE = """
def make({cells}):
    def {name}({parameters}):
        def _pac_twin({parameters}):
            {uses}
        _pac_here = ({link}).here.thread
        if _pac_here.inside:
            _pac_here.resets += {resets}
            return _pac_twin({passed})
        _pac_found = ({link}).known(id({first}))
        _pac_here.inside, _pac_here.resets, _pac_ours = True, 0, True
        try:
            if _pac_found is not None:
                _pac_found.thread = _pac_here
                if {resets} or _pac_found.attention[0]:
                    _pac_found.before("{name}", {args}, {kwargs})
            _pac_ours, _pac_entered = False, ({link}).clock()
            _pac_result = _pac_twin({passed})
            _pac_ours = True
            if _pac_found is not None:
                _pac_note = _pac_found.after if _pac_here.resets else _pac_found.noted
                _pac_note("{name}", {args}, {kwargs}, _pac_result, _pac_entered)
            return _pac_result
        except BaseException as _pac_error:
            if _pac_ours:
                raise _pac_error.with_traceback(None)
            raise
        finally:
            _pac_here.inside = False
"""
"""What a function does in place of its own code, which the twin gets. An error of the block that is not the twin's is
an interruption of the script, during a pause for instance: the script gets it from its own line.

The twin is made by each call, since code that refers to a function would never be collected with its class.
"""


class Inside:
    """Where a thread is.

    Attributes:
        inside: Whether it is within a call of an environment, or within pac-tui's own code.
        resets: How many environments within the called one were reset during the call.
    """

    __slots__ = ("inside", "resets")

    def __init__(self) -> None:
        self.inside, self.resets = False, 0


class _Here(threading.local):
    @hidden
    def __init__(self) -> None:
        self.thread = Inside()  # one look-up per call, since those of a `local` are slow


class HookLink:
    """What a replaced function finds here.

    Args:
        elsewhere: What it finds in a process that gets it by value.
        found: What it finds in this one.
    """

    def __init__(self, elsewhere: Mapping[str, Any], **found: Any) -> None:
        self._elsewhere = {"nothing": {}, **elsewhere}
        for name, value in {"nothing": {}, **found}.items():
            setattr(self, name, value)  # not in `vars(self)`, which is slower to read

    def __reduce__(self) -> Any:
        return functools.partial, (id,), (id, (), {}, self._elsewhere)  # as constants are: with attributes, and a hash


class _Process:
    """Whether new environments of this process are followed: not in its forks, unless they call `watch`."""

    follows = True
    known = 64  # environments after the last search for those that are gone


here = _Here()
objects: dict[int, Follower] = {}
"""What follows each environment, by the environment's `id`. A new one takes the place of one that is gone.

Threads that make environments set their own keys, and others read single keys, which is atomic.
"""
stepping: set[tuple[str, int]] = set()
"""Files and first lines of the functions that step or reset environments."""
_replaced: weakref.WeakSet[FunctionType] = weakref.WeakSet()
_elsewhere = SimpleNamespace(thread=SimpleNamespace(inside=True, resets=0))
_link = HookLink({"here": _elsewhere}, here=here, known=objects.get, clock=perf_counter)


def replace(cls: type, name: str) -> bool:
    """See the calls of a method of a class; return whether it is a function."""
    function = next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)
    if not isinstance(function, FunctionType) or function.__code__.co_flags & UNUSUAL:
        return False
    if function not in _replaced:
        _replaced.add(function)
        stepping.add((function.__code__.co_filename, function.__code__.co_firstlineno))
        function.__code__ = code_around(function, name, TEMPLATE, _link)
    return True


def code_around(function: FunctionType, name: str, template: str, link: HookLink) -> CodeType:
    """Return code with the parameters of a function, which calls a twin of it.

    Args:
        function: The function, which is neither a generator nor a coroutine.
        name: What its template is called.
        template: The source, as `TEMPLATE`.
        link: The object that the source calls `({link})`.
    """
    code = function.__code__
    count, only = code.co_argcount, code.co_kwonlyargcount
    names = list(code.co_varnames)
    positional, keywords, rest = names[:count], names[count : count + only], names[count + only :]
    star = f"*{rest.pop(0)}" if code.co_flags & VARARGS else ""
    double = f"**{rest[0]}" if code.co_flags & VARKEYWORDS else ""
    declared = list(positional)
    if code.co_posonlyargcount:
        declared.insert(code.co_posonlyargcount, "/")
    declared += [star or "*" * bool(keywords), *keywords, double]
    named = [f"{each}={each}" for each in keywords]
    source = template.format(
        name=name,
        link=LINK,
        cells=", ".join(code.co_freevars),
        uses=", ".join(code.co_freevars) or "pass",
        resets=int(name == "reset"),
        parameters=", ".join(filter(None, declared)),
        passed=", ".join(filter(None, [*positional, star, *named, double])),
        first=positional[0] if positional else f"next(iter({star[1:] or ()}), None)",
        args=f"({', '.join([*positional, *filter(None, [star])])},)" if positional or star else "()",
        kwargs=f"dict({', '.join(filter(None, [*named, double]))})" if keywords or double else f"({LINK}).nothing",
    )
    made: dict[str, Any] = {}
    exec(compile(source, code.co_filename, "exec"), made)  # noqa: S102 - the source is the one above
    inner = next(each for each in made["make"].__code__.co_consts if isinstance(each, CodeType))
    consts = [code if isinstance(each, CodeType) else link if each == LINK else each for each in inner.co_consts]
    return hidden_code(
        inner,
        co_consts=tuple(consts),
        co_firstlineno=code.co_firstlineno,
        co_name=code.co_name,
        co_qualname=code.co_qualname,
    )


def followed_by(env: Any) -> Follower | None:
    """Return what follows an environment; None if nothing does."""
    return objects.get(id(env))


def follow_instances(base: type, follow: Follow) -> None:
    """Follow the instances of a class and of its subclasses that are made from now on, except copies of others."""
    owner: Any = base
    original: Any = vars(base).get("__new__")

    @hidden
    def new(cls: Any, *args: Any, **kwargs: Any) -> Any:
        make: Any = super(owner, cls).__new__ if original is None else original.__func__
        if make is object.__new__:
            if (args or kwargs) and cls.__init__ is object.__init__:
                raise TypeError(f"{cls.__name__}() takes no arguments")
            made = make(cls)
        else:
            made = make(cls, *args, **kwargs)
        if type(made) is cls:
            _follow_new(made, follow)
        return made

    type.__setattr__(base, "__new__", staticmethod(new))


def _follow_new(env: Any, follow: Follow) -> None:
    try:
        calls = callers(sys._getframe(1))  # noqa: SLF001 - the only way to see who calls
        if _Process.follows and not (calls and calls[0].code.co_name in COPYING):
            follow_object(env, follow(env, calls))
        else:
            objects.pop(id(env), None)
    except Exception:  # noqa: S110 - an environment that cannot be followed is not shown
        pass


def follow_object(env: Any, followed: Follower) -> None:
    """Follow an environment from its next reset on."""
    if len(objects) > 2 * _Process.known:
        for key, other in list(objects.items()):
            if other.env() is None and objects.get(key) is other:
                objects.pop(key, None)
        _Process.known = max(64, len(objects))
    objects[id(env)] = followed
    for name in followed.begins:
        replace(type(env), name)


def stop_in_fork() -> None:
    """Follow nothing in a fork of the watched process."""
    _Process.follows = False
    objects.clear()
