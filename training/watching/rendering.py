"""How environments of a script are drawn: as they render themselves, also where the script renders nothing."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from .boards import MODES, Render

HARMLESS = ("gymnasium.envs.classic_control.", "gymnasium.envs.box2d.", "gymnasium.envs.toy_text.")
"""Modules of environments that can be drawn although the script asked for no pictures: drawing one changes nothing that
its next step depends on, and needs no display."""
PROMPT = "PYGAME_HIDE_SUPPORT_PROMPT"


def render_of_single(env: Any, *, borrow: bool) -> Callable[[], Any] | None:
    """Return what draws an environment as a picture or as text; None if it cannot be drawn.

    `borrow` allows drawing an environment that was made without a render mode.
    """
    if env.render_mode in MODES:
        return lambda: env.render()  # noqa: PLW0108 - the object may be a weak proxy
    base = env.unwrapped
    if borrow and env.render_mode is None and type(base).__module__.startswith(HARMLESS):
        mode = next((mode for mode in ("rgb_array", "ansi") if mode in base.metadata.get("render_modes", ())), None)
        return None if mode is None else BorrowedRendering(base, mode)
    return None


def render_of_several(envs: Sequence[Any], *, borrow: bool) -> Render | None:
    """Return what draws one of the environments of this process, by its index; None if they cannot be drawn."""
    renders = [render_of_single(env, borrow=borrow) for env in envs]
    if any(render is None for render in renders):
        return None
    return lambda index: renders[index]()  # type: ignore[misc]


class BorrowedRendering:
    """Draws an environment that was made without a render mode, and leaves it as it was.

    What `render` adds to the environment, such as a screen, is taken out again and given back the next time.

    Args:
        base: The environment, unwrapped.
        mode: How it renders.
    """

    def __init__(self, base: Any, mode: str) -> None:
        self._base, self._mode = weakref.ref(base), mode
        self._kept: dict[str, tuple[Any, Any]] = {}

    def __call__(self) -> Any:
        """Return what the environment renders; None if the script has released it."""
        base = self._base()
        if base is None:
            return None
        own = vars(base)
        before = dict(own)
        hidden = os.environ.get(PROMPT)
        os.environ[PROMPT] = "1"
        try:
            own["render_mode"] = self._mode
            for name, (unset, value) in self._kept.items():
                if own.get(name) is unset:
                    own[name] = value
            return base.render()
        finally:
            changed = {name: value for name, value in own.items() if before.get(name) is not value}
            changed.pop("render_mode", None)
            self._kept = {name: (before.get(name), value) for name, value in changed.items()}
            own.clear()
            own.update(before)
            if hidden is None:
                del os.environ[PROMPT]
            else:
                os.environ[PROMPT] = hidden
