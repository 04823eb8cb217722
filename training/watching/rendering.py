"""How environments of a script are drawn: as they render themselves, also where the script renders nothing.

Drawing leaves no trace that the script can find: attributes of the environment, random states, output, signals and the
state of pygame are as before.
"""

from __future__ import annotations

import os
import random
import re
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any

import numpy as np

from ...envs.signals import NO_DEVICES, WithoutSdlHandlers, kept_signals
from .boards import MODES, Render
from .facts import chain as chain_of
from .facts import own as own_of
from .facts import stored

HARMLESS = re.compile(r"gym(nasium)?\.envs\.(classic_control|box2d|toy_text)\.|minigrid\.")
"""Modules of environments that can be drawn although the script asked for no pictures: drawing one changes nothing that
its next step depends on, and needs no display."""
PICTURE = 3  # axes
PARTS = ("pygame", "pygame.display", "pygame.font", "pygame.mixer", "pygame.joystick")
"""Pygame and those of its parts that can be running."""
_drawing = threading.Lock()  # libraries such as pygame are not made for several threads


def render_of_env(env: Any) -> Callable[[], Any] | None:
    """Return what draws an environment of this process as a picture or as text; None if it cannot be drawn.

    The innermost environment is drawn, so that wrappers which collect or record pictures notice nothing. The result
    does not keep it alive.
    """
    chain = chain_of(env)
    base = chain[-1]
    mode = stored(base, "render_mode")
    if mode is None and HARMLESS.match(type(base).__module__):
        modes = (stored(base, "metadata") or {}).get("render_modes", ())
        mode = next((mode for mode in ("rgb_array", "ansi") if mode in modes), None)
    try:
        return BorrowedRendering(chain, mode) if mode in MODES else None
    except TypeError:  # its class allows no weak references
        return None


def render_of_rows(env: Any) -> Render | None:
    """Return what draws a row of a vector environment, of any library; None if it cannot be drawn.

    Environments in this process are drawn themselves. Others draw if the script has made them with a render mode.
    """
    chain = chain_of(env)
    base = chain[-1]
    kind, envs, pool = type(base), stored(base, "envs"), "envpool" in sys.modules and hasattr(base, "all_env_ids")
    mode = base.render_mode if pool else stored(base, "render_mode")
    if isinstance(envs, list | tuple) and envs:
        renders = [render_of_env(env) for env in envs]
        return None if None in renders else lambda index: renders[index]()  # type: ignore[misc]
    if kind.__name__ == "CartPoleVectorEnv" and HARMLESS.match(kind.__module__):
        return _render_of_cart_poles(base)
    if mode not in MODES:
        return None
    if pool:
        return _while_alive(base, lambda rows, index: rows.render(index)[0])
    if kind.__name__ in {"AsyncVectorEnv", "SubprocVecEnv"}:
        return _while_alive(base, _render_in_worker())
    draw = BorrowedRendering(chain, mode)

    def render(index: int) -> Any:
        drawn = draw()
        whole = drawn is None or isinstance(drawn, str) or np.ndim(drawn) == PICTURE
        return drawn if whole else drawn[index]

    return render


def _while_alive(base: Any, draw: Callable[[Any, int], Any]) -> Render:
    """Return what draws a row of `base`, without keeping that alive."""
    known = weakref.ref(base)
    return lambda index: None if (rows := known()) is None else draw(rows, index)


def _render_in_worker() -> Callable[[Any, int], Any]:
    """Return what draws one of the environments of worker processes, in which SDL must leave signals alone."""
    prepared: list[bool] = []

    def render(rows: Any, index: int) -> Any:
        call = getattr(rows, "env_method", None) or rows.call
        if not prepared:
            prepared.append(True)
            call("has_wrapper_attr", WithoutSdlHandlers("render"))
        return call("render", indices=[index])[0] if hasattr(rows, "env_method") else call("render")[index]

    return render


def _render_of_cart_poles(base: Any) -> Render:
    """Return what draws a row of Gymnasium's vector of CartPoles: the single environment, which gets its state."""
    shown = object.__new__(sys.modules[type(base).__module__].CartPoleEnv)
    vars(shown).update(screen=None, clock=None, isopen=True)
    draw = BorrowedRendering([shown], "rgb_array")

    def render(rows: Any, index: int) -> Any:
        fixed = {name: vars(rows)[name] for name in ("screen_width", "screen_height", "x_threshold", "length")}
        vars(shown).update(fixed, state=rows.state[:, index])
        return draw()

    return _while_alive(base, render)


class BorrowedRendering:
    """Draws an environment, and leaves it as it was.

    What `render` changes of its attributes, such as a screen, is taken back, and given again the next time.

    Args:
        chain: The environment and what it contains; the innermost is drawn.
        mode: How it renders.

    Raises:
        TypeError: Its class allows no weak references.
    """

    def __init__(self, chain: Sequence[Any], mode: str) -> None:
        self._chain, self._mode = [weakref.ref(env) for env in chain], mode
        self._kept: dict[str, tuple[Any, Any]] = {}

    def __call__(self) -> Any:
        """Return what the environment renders; None if the script has released it."""
        base = self._chain[-1]()
        if base is None:
            return None
        with _drawing, ExitStack() as stack:
            stack.enter_context(kept_signals())
            stack.enter_context(_quiet())
            stack.callback(_stop_parts_except, _running_parts())
            _restore_random(stack, [env for ref in self._chain if (env := ref()) is not None])
            own = own_of(base)
            before = dict(own)
            stack.callback(self._take_back, own, before)
            own |= {name: value for name, (unset, value) in self._kept.items() if own.get(name) is unset}
            own["render_mode"] = self._mode
            try:
                return base.render()
            except Exception:
                if not self._kept:
                    raise
                _restore(own, before)  # what was kept may depend on parts of pygame that were stopped
                own["render_mode"] = self._mode
                return base.render()

    def _take_back(self, own: dict[str, Any], before: dict[str, Any]) -> None:
        """Give the environment its attributes back, and keep what the drawing has made of them."""
        changed = {name: value for name, value in own.items() if before.get(name) is not value}
        changed.pop("render_mode", None)
        self._kept = {name: (before.get(name), value) for name, value in changed.items()}
        _restore(own, before)


def _restore(own: dict[str, Any], before: dict[str, Any]) -> None:
    own.update(before)
    for name in own.keys() - before.keys():
        del own[name]
    if list(own) != list(before):  # an attribute was deleted, and their order is to be as before
        own.clear()
        own.update(before)


def _restore_random(stack: ExitStack, envs: Sequence[Any]) -> None:
    """Let generators of random numbers that drawing may use have their states back at the end.

    Those that all threads share keep their states if another thread has run meanwhile, and may have drawn from them.
    """
    shared: list[tuple[Callable[..., Any], Any]] = [
        (random.setstate, random.getstate()),
        (np.random.set_state, np.random.get_state(legacy=False)),  # noqa: NPY002 - the one that scripts share
    ]
    torch: Any = sys.modules.get("torch")
    if hasattr(torch, "get_rng_state"):
        shared.append((torch.set_rng_state, torch.get_rng_state()))
    before = _time_of_others()
    stack.callback(lambda: [restore(state) for restore, state in shared] if _time_of_others() == before else None)
    for value in [value for env in envs for value in own_of(env).values()]:
        if isinstance(value, np.random.Generator):
            stack.callback(setattr, value.bit_generator, "state", value.bit_generator.state)
        elif isinstance(value, np.random.RandomState):
            stack.callback(value.set_state, value.get_state(legacy=False))
        elif isinstance(value, random.Random):
            stack.callback(value.setstate, value.getstate())


def _time_of_others() -> int:
    """Return for how long the script's other threads have run, in ns; 0 if the system does not say so."""
    others = {thread.native_id for thread in threading.enumerate()} - {threading.get_native_id()}
    ran = 0
    for other in others:
        with suppress(OSError, ValueError):  # it has just ended
            ran += int(Path(f"/proc/self/task/{other}/schedstat").read_text().split()[0])
    return ran


class _OtherThreads:
    """A stream of text that drops what one thread writes."""

    def __init__(self, stream: Any) -> None:
        self._stream, self._thread = stream, threading.get_ident()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write the text of other threads."""
        return len(text) if threading.get_ident() == self._thread else self._stream.write(text)


@contextmanager
def _quiet() -> Iterator[None]:
    """Drop what this thread prints, and configure SDL to need no display and no sound, unless the user has done so.

    The variables are those of the C library, which `os.environ` does not show.
    """
    with ExitStack() as stack:
        for name in NO_DEVICES.keys() - os.environ.keys():
            os.putenv(name, NO_DEVICES[name])
            stack.callback(os.unsetenv, name)
        if sys.stdout is not None:
            stack.enter_context(redirect_stdout(_OtherThreads(sys.stdout)))  # type: ignore[type-var]
        if sys.stderr is not None:
            stack.enter_context(redirect_stderr(_OtherThreads(sys.stderr)))  # type: ignore[type-var]
        yield


def _running_parts() -> list[Any]:
    """Return pygame and its parts, as far as they run."""
    parts = [sys.modules.get(name) for name in PARTS]
    return [part for part in parts if hasattr(part, "get_init") and part.get_init()]  # type: ignore[union-attr]


def _stop_parts_except(before: Sequence[Any]) -> None:
    """Stop the parts of pygame that drawing has started, so that the script can start them in its own way."""
    with suppress(Exception):
        for part in _running_parts():
            if part not in before and (not before or part.__name__ != "pygame"):  # which would stop all parts
                part.quit()
