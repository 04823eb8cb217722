"""Creates an environment from its name: a registered id, or a class or function in a module."""

from __future__ import annotations

import inspect
import os
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, get_origin, get_type_hints

import gymnasium
from gymnasium.error import Error as GymnasiumError

from ..errors import BadParameter, NoSuchEnvironment, PacError, UnknownName
from ..foreign import importing
from ..signals import NO_SDL_HANDLERS
from .wrapping import arguments_for, wrapped

PARALLEL_ENV = "parallel_env"
"""The name of the function that creates an environment, in every module of PettingZoo."""
WANTED = "a gymnasium.Env or a parallel environment of PettingZoo"
PARALLEL = ("reset", "step", "action_space", "observation_space")
STANDARD_LIBRARY = Path(sysconfig.get_path("stdlib")).resolve()
INSTALLED = frozenset({"site-packages", "dist-packages"})
"""Names of folders of installed packages."""


def check_factory(name: str, found: Any) -> None:
    """Check that `found` creates environments, as far as can be known without calling it.

    It must be an environment class, a function whose return annotation is one, PettingZoo's `parallel_env`, or a
    function without a return annotation that is the user's own, not one of Python or of an installed package.

    Args:
        name: The task's name, `module:attribute`.
        found: The object of that name.

    Raises:
        BadParameter: It is something else.
    """
    while isinstance(found, partial):
        found = found.func
    if not callable(found):
        raise BadParameter(
            f"{name} must be a class or a callable that returns a gymnasium.Env, got {type(found).__name__}"
        )
    if isinstance(found, type):
        if not _makes_environments(found):
            raise BadParameter(f"{name} must return {WANTED}, got the class {found.__qualname__}, which was not called")
        return
    kind = _annotated(found)
    if kind is not None:
        if not _makes_environments(kind):
            raise BadParameter(
                f"{name} must return {WANTED}, got {kind.__qualname__} by its annotation; it was not called"
            )
    elif name.rpartition(":")[2] != PARALLEL_ENV and not _is_own(found):
        raise BadParameter(
            f"{name} must return {WANTED}. It was not called because it has no return annotation: annotate it "
            "with `-> gymnasium.Env`, or name a function or class of your own"
        )


def _makes_environments(kind: type) -> bool:
    """Return whether a class is an environment; those of PettingZoo are recognized by their methods."""
    parallel = all(callable(getattr(kind, name, None)) for name in PARALLEL) and not hasattr(kind, "agent_iter")
    return issubclass(kind, gymnasium.Env) or parallel


def _annotated(function: Any) -> type | None:
    """Return the class of a function's return annotation; None if it is missing or ambiguous."""
    try:
        annotation = get_type_hints(_routine(function)).get("return", Any)
    except (NameError, TypeError, AttributeError, SyntaxError):  # a name that only a type checker imports
        return None
    kind = get_origin(annotation) or annotation
    if not isinstance(kind, type) or kind is Any or issubclass(gymnasium.Env, kind):
        return None
    return kind


def _is_own(function: Any) -> bool:
    """Return whether a function's source is a file outside of Python and of installed packages."""
    code = getattr(inspect.unwrap(_routine(function)), "__code__", None)
    if code is None:  # not written in Python
        return False
    source = Path(code.co_filename).resolve()
    installed = source.is_relative_to(STANDARD_LIBRARY) or not INSTALLED.isdisjoint(source.parts)
    return source.is_file() and not installed


def _routine(function: Any) -> Any:
    """Return the underlying function of a method or of a callable object."""
    routine = function if inspect.isroutine(function) else function.__call__
    return getattr(routine, "__func__", routine)


os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")  # its greeting would be on stdout, which is for JSON
os.environ.setdefault(NO_SDL_HANDLERS, "1")  # a process that draws must end at SIGTERM
if not os.environ.keys() & {"DISPLAY", "WAYLAND_DISPLAY"}:
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # pictures need no window

MODES = ("rgb_array", "ansi")
"""The render modes that a board can show, best first."""


def create(name: str, values: Mapping[str, Any], mode: str | None = None, wrappers: Sequence[str] = ()) -> Any:
    """Create a `gymnasium.Env` or a parallel environment of PettingZoo, in wrappers, with a render mode if given.

    Raises:
        NoSuchEnvironment: No environment has that name.
        BadParameter: The environment does not take its arguments or failed, or is not an environment.
    """
    arguments = {**({"render_mode": mode} if mode else {}), **values}
    try:
        make, kind = _maker(name)
        usual = {key: value for key, value in arguments_for(name, wrappers).items() if _takes(kind, key)}
        arguments = {**usual, **arguments}
        _print_warnings()
        env = make(**arguments)
    except PacError:
        raise
    except (Exception, SystemExit) as error:
        raise BadParameter(f"{name} could not be created with {arguments}: {type(error).__name__}: {error}") from error
    _check_made(name, env)
    _print_warnings()  # of a library that only its constructor imports
    try:
        env = wrapped(env, wrappers, _imported)
        _check_made(f"{name} in its wrappers", env)
    except BaseException:
        with closed(env):
            raise
    return env


def _print_warnings() -> None:
    """Have MuJoCo print its warnings, unless its user handles them, instead of writing them into `MUJOCO_LOG.TXT`."""
    mujoco = sys.modules.get("mujoco")
    if mujoco is not None and hasattr(mujoco, "get_mju_user_warning") and mujoco.get_mju_user_warning() is None:
        mujoco.set_mju_user_warning(_warn)


@lru_cache(maxsize=64)
def _warn(text: str) -> None:
    """Print a warning, once."""
    sys.stderr.write(f"MuJoCo: {text}\n")


def _check_made(name: str, env: Any) -> None:
    if not isinstance(env, gymnasium.Env) and not is_parallel(env):
        raise BadParameter(f"{name} must return {WANTED}, got {type(env).__name__}")


@contextmanager
def closed(env: Any) -> Iterator[Any]:
    """Close an environment at the end of the block. That it fails at its end does not matter."""
    try:
        yield env
    finally:
        with suppress(Exception):
            env.close()


def import_environment(name: str) -> None:
    """Import an environment without creating it.

    Raises:
        NoSuchEnvironment: No environment has that name.
        BadParameter: The module cannot be imported, or the object is not an environment.
    """
    _maker(name)


def is_parallel(env: Any) -> bool:
    """Return whether an environment is a parallel one of PettingZoo, in which all agents act at once."""
    return hasattr(env, "possible_agents") and not hasattr(env, "agent_iter")


def drawing_modes(name: str, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the render modes of an environment that a board can show, best first.

    They are in the metadata of a class. A function, or a class without metadata such as a wrapper, is called first.
    """
    kind = _maker(name)[1]
    if "render_mode" in values or not _takes(kind, "render_mode"):
        return ()
    metadata = getattr(kind, "metadata", None)
    if not isinstance(metadata, Mapping):
        with closed(create(name, values)) as env:
            metadata = getattr(env, "metadata", None)
    modes = (metadata or {}).get("render_modes", ())
    return tuple(mode for mode in MODES if mode in modes)


def _maker(name: str) -> tuple[Callable[..., Any], Any]:
    """Return the callable that creates the environment, and its class or function."""
    module, colon, attribute = name.partition(":")
    if colon and "/" not in attribute and "-v" not in attribute:
        made = _imported(name)
        return made, made
    _import_plugin(name, module if colon else "")
    try:
        found = gymnasium.spec(attribute if colon else name)
    except GymnasiumError as error:
        raise NoSuchEnvironment(str(error), gymnasium.registry) from error
    entry = found.entry_point
    with importing(name):
        kind = gymnasium.envs.registration.load_env_creator(entry) if isinstance(entry, str) else entry
    return lambda **kwargs: gymnasium.make(found, disable_env_checker=True, **kwargs), kind


def _takes(kind: Any, argument: str) -> bool:
    """Return whether a callable takes an argument."""
    try:
        parameters = inspect.signature(kind).parameters
    except (TypeError, ValueError):
        return True
    return argument in parameters or any(one.kind is one.VAR_KEYWORD for one in parameters.values())


def _imported(name: str) -> Callable[..., Any]:
    module, _, attribute = name.partition(":")
    if not all(part.isidentifier() for part in (*module.split("."), *attribute.split("."))):
        raise NoSuchEnvironment(f"{name!r} is not an environment's name, such as my_package.my_module:MyEnv")
    found: Any = _import_module(name, module)
    named = vars(found).items()
    try:
        for part in attribute.split("."):
            found = getattr(found, part)
    except AttributeError as error:
        own = [one for one, made in named if callable(made) and getattr(made, "__module__", "") == module]
        raise NoSuchEnvironment(f"{name}: {UnknownName(f'name in {module}', attribute, own)}") from error
    check_factory(name, found)
    made: Callable[..., Any] = found
    return made


def _import_module(name: str, module: str) -> ModuleType:
    """Import a module that a task names; modules of the working directory are found first, as by `python -m`.

    Raises:
        NoSuchEnvironment: There is no such module.
        BadParameter: It cannot be imported.
    """
    here = str(Path.cwd())
    if here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)
    try:
        with importing(name):
            return import_module(module)
    except BadParameter as error:
        missing = error.__cause__.name if isinstance(error.__cause__, ModuleNotFoundError) else None
        if missing and f"{module}.".startswith(f"{missing}."):
            raise NoSuchEnvironment(f"{name}: no module named {missing!r}; run from the folder that has it") from error
        raise


def _import_plugin(name: str, module: str) -> None:
    """Import what registers an id: the module before a colon, or the package that has an id's namespace."""
    if module:
        _import_module(name, module)
        return
    namespace = name.partition("/")[0] if "/" in name else ""
    wanted = {"ALE": "ale_py", "pac": "pac.envs.gym"}.get(namespace, "")
    if not wanted:
        return
    with importing(name):
        found = import_module(wanted)
    if wanted == "ale_py":
        gymnasium.register_envs(found)
