"""How environments of a script are drawn: as they render themselves, also where the script renders nothing.

Drawing leaves no trace that the script can find: attributes of the environment, random states, output, signals and the
state of pygame are as before.
"""

from __future__ import annotations

import os
import random
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import numpy as np

from ...envs.signals import NO_DEVICES, WithoutSdlHandlers, kept_signals
from .boards import MODES, Render
from .facts import chain as chain_of
from .facts import own as own_of
from .facts import stored

HARMLESS = (
    *("gymnasium.envs.classic_control.", "gymnasium.envs.box2d.", "gymnasium.envs.toy_text."),
    *("gym.envs.classic_control.", "gym.envs.box2d.", "gym.envs.toy_text.", "minigrid."),
)
"""Modules of environments that can be drawn although the script asked for no pictures: drawing one changes nothing that
its next step depends on, and needs no display."""
QUIET = {**NO_DEVICES, "PYGAME_HIDE_SUPPORT_PROMPT": "1"}
PICTURE = 3  # axes
_drawing = threading.Lock()  # libraries such as pygame are not made for several threads


def render_of_env(env: Any, *, borrow: bool) -> Callable[[], Any] | None:
    """Return what draws an environment of this process as a picture or as text; None if it cannot be drawn.

    The innermost environment is drawn, so that wrappers which collect or record pictures notice nothing. The result
    does not keep it alive.

    Args:
        env: The environment, with its wrappers.
        borrow: Whether one that was made without a render mode may be drawn, if that is harmless.
    """
    chain = chain_of(env)
    base = chain[-1]
    mode = stored(base, "render_mode")
    if mode not in MODES:
        if not borrow or mode is not None or not type(base).__module__.startswith(HARMLESS):
            return None
        modes = (stored(base, "metadata") or {}).get("render_modes", ())
        mode = next((mode for mode in ("rgb_array", "ansi") if mode in modes), None)
    try:
        return None if mode is None else BorrowedRendering(chain, mode)
    except TypeError:  # its class allows no weak references
        return None


def render_of_several(envs: Sequence[Any], *, borrow: bool) -> Render | None:
    """Return what draws one of the environments of this process, by its index; None if they cannot be drawn."""
    renders = [render_of_env(env, borrow=borrow) for env in envs]
    if any(render is None for render in renders):
        return None
    return lambda index: renders[index]()  # type: ignore[misc]


def render_of_rows(env: Any, *, borrow: bool) -> Render | None:
    """Return what draws a row of a vector environment, of any library; None if it cannot be drawn.

    Environments in this process are drawn themselves. Others draw if the script has made them with a render mode.

    Args:
        env: The vector environment, with its wrappers.
        borrow: As for a single environment.
    """
    chain = chain_of(env)
    base = chain[-1]
    kind, envs, mode = type(base), stored(base, "envs"), stored(base, "render_mode")
    if isinstance(envs, list | tuple) and envs:
        return render_of_several(envs, borrow=borrow)
    if kind.__name__ == "CartPoleVectorEnv" and borrow and kind.__module__.startswith(HARMLESS):
        return _render_of_cart_poles(base)
    pool = "envpool" in sys.modules and hasattr(base, "all_env_ids")
    if (base.render_mode if pool else mode) not in MODES:
        return None
    known = weakref.ref(base)
    if pool:
        return lambda index: None if (rows := known()) is None else rows.render(index)[0]
    if kind.__name__ in {"AsyncVectorEnv", "SubprocVecEnv"}:
        return _render_of_workers(known)
    draw = BorrowedRendering(chain, mode)

    def render(index: int) -> Any:
        drawn = draw()
        whole = isinstance(drawn, str) or np.ndim(drawn) == PICTURE
        return drawn if drawn is None or whole else drawn[index]

    return render


def _render_of_workers(known: Callable[[], Any]) -> Render:
    """Return what draws one of the environments of worker processes, in which SDL must leave signals alone."""
    prepared: list[bool] = []

    def render(index: int) -> Any:
        rows = known()
        if rows is None:
            return None
        call = getattr(rows, "env_method", None) or rows.call
        if not prepared:
            prepared.append(True)
            call("has_wrapper_attr", WithoutSdlHandlers("render"))
        return call("render", indices=[index])[0] if hasattr(rows, "env_method") else call("render")[index]

    return render


def _render_of_cart_poles(base: Any) -> Render | None:
    """Return what draws a row of Gymnasium's vector of CartPoles: the single environment, which gets its state."""
    single = getattr(sys.modules.get(type(base).__module__), "CartPoleEnv", None)
    if single is None:
        return None
    known = weakref.ref(base)
    shown = object.__new__(single)
    vars(shown).update({"screen": None, "clock": None, "isopen": True, "render_mode": "rgb_array"})
    draw = BorrowedRendering([shown], "rgb_array")

    def render(index: int) -> Any:
        rows = known()
        if rows is None:
            return None
        fixed = {name: vars(rows)[name] for name in ("screen_width", "screen_height", "x_threshold", "length")}
        vars(shown).update(fixed, state=rows.state[:, index])
        return draw()

    return render


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
        own = own_of(base)
        with _drawing, ExitStack() as stack:
            stack.enter_context(kept_signals())
            stack.enter_context(_quiet())
            stack.enter_context(_same_random([env for ref in self._chain if (env := ref()) is not None]))
            stack.enter_context(_same_pygame())
            before = dict(own)
            stack.callback(self._take_back, own, before)
            own["render_mode"] = self._mode
            for name, (unset, value) in self._kept.items():
                if own.get(name) is unset:
                    own[name] = value
            try:
                return base.render()
            except Exception:
                if not self._kept:
                    raise
                own.update({name: before[name] for name in self._kept if name in before})
                for name in self._kept:
                    if name not in before:
                        own.pop(name, None)
                return base.render()  # what was kept may depend on parts of pygame that were stopped

    def _take_back(self, own: dict[str, Any], before: dict[str, Any]) -> None:
        """Give the environment its attributes back, and keep what the drawing has made of them."""
        changed = {name: value for name, value in own.items() if before.get(name) is not value}
        if "render_mode" not in before or before["render_mode"] != self._mode:
            changed.pop("render_mode", None)
        self._kept = {name: (before.get(name), value) for name, value in changed.items()}
        if list(before) == list(own)[: len(before)]:
            own.update(before)
            for name in list(own)[len(before) :]:
                del own[name]
        else:  # an attribute was deleted, and their order is to be as before
            own.clear()
            own.update(before)


@contextmanager
def _same_random(envs: Sequence[Any]) -> Iterator[None]:
    """Give the generators of random numbers that drawing may use their states back."""
    plain, numpys = random.getstate(), np.random.get_state(legacy=False)  # noqa: NPY002 - the one that scripts share
    torch = sys.modules.get("torch")
    tensors = None if torch is None or not hasattr(torch, "get_rng_state") else torch.get_rng_state()
    own: list[tuple[Any, Any]] = []
    for env in envs:
        for value in list(own_of(env).values()):
            if isinstance(value, np.random.Generator):
                own.append((value.bit_generator, value.bit_generator.state))
            elif isinstance(value, np.random.RandomState):
                own.append((value, value.get_state(legacy=False)))
            elif isinstance(value, random.Random):
                own.append((value, value.getstate()))
    try:
        yield
    finally:
        random.setstate(plain)
        np.random.set_state(numpys)  # noqa: NPY002 - as above
        if torch is not None and tensors is not None:
            torch.set_rng_state(tensors)
        for generator, state in own:
            if isinstance(generator, random.Random):
                generator.setstate(state)
            elif isinstance(generator, np.random.RandomState):
                generator.set_state(state)
            else:
                generator.state = state


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
    set_here = [name for name in QUIET if name not in os.environ]
    streams = {name: getattr(sys, name) for name in ("stdout", "stderr")}
    for name in set_here:
        os.putenv(name, QUIET[name])
    pygame = "pygame" not in sys.modules and "PYGAME_HIDE_SUPPORT_PROMPT" in set_here
    if pygame:
        os.environ["PYGAME_HIDE_SUPPORT_PROMPT"] = "1"  # which Python reads when pygame is imported
    proxies = {name: _OtherThreads(stream) for name, stream in streams.items() if stream is not None}
    for name, proxy in proxies.items():
        setattr(sys, name, proxy)
    try:
        yield
    finally:
        for name, proxy in proxies.items():
            if getattr(sys, name) is proxy:
                setattr(sys, name, streams[name])
        if pygame:
            os.environ.pop("PYGAME_HIDE_SUPPORT_PROMPT", None)
        for name in set_here:
            os.unsetenv(name)


PARTS = ("display", "font", "mixer", "joystick")
"""The parts of pygame that can be running."""


@contextmanager
def _same_pygame() -> Iterator[None]:
    """Stop the parts of pygame that drawing has started, so that the script can start them in its own way."""
    before = _running()
    try:
        yield
    finally:
        with suppress(Exception):
            pygame = sys.modules.get("pygame")
            if pygame is not None and not before:
                pygame.quit()
            else:
                for name in _running() - before - {"pygame"}:
                    getattr(pygame, name).quit()


def _running() -> set[str]:
    """Return which parts of pygame run."""
    pygame = sys.modules.get("pygame")
    if pygame is None or not hasattr(pygame, "get_init"):
        return set()
    parts = {name: getattr(pygame, name, None) for name in PARTS}
    found = {name for name, part in parts.items() if part is not None and hasattr(part, "get_init") and part.get_init()}
    return found | ({"pygame"} if pygame.get_init() else set())
