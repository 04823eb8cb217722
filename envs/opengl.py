"""Finds how environments of MuJoCo are drawn without a window: `python -m pac.envs.opengl` tries one way of OpenGL.

A driver that is missing may end the process or hang, so each way is tried in a process of its own, which draws.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from typing import NamedTuple

from .apart import TooSlow, ask, receive

MODULE = "pac.envs.opengl"
GL = "MUJOCO_GL"
"""The variable by which MuJoCo chooses how it draws."""
PLATFORM = "PYOPENGL_PLATFORM"
"""The same of other libraries, which draw by PyOpenGL."""
WITHOUT_DISPLAY = ("egl", "osmesa")
"""Its values that need no display, fastest first."""
WINDOW = "glfw"
"""Its value that needs a display, which is its default."""
INSTALL = "install the system package libegl1 (fast, also for a GPU) or libosmesa6"
"""What to do if nothing works."""
LIMIT = 20.0
"""Seconds for one way."""
SCENE = '<mujoco><worldbody><light pos="0 0 3"/><geom size="1"/></worldbody></mujoco>'


class OpenGL(NamedTuple):
    """How pictures are drawn on this machine.

    Attributes:
        backend: The value of `MUJOCO_GL` that works, or which the user has set and does; empty if none works.
        renderer: What draws, such as `llvmpipe` or a GPU.
        failures: Why those did not work that were tried, by their names.
    """

    backend: str
    renderer: str
    failures: Mapping[str, str]

    @property
    def variables(self) -> dict[str, str]:
        """The environment variables for processes that draw, without those that the user has set."""
        return {name: self.backend for name in (GL, PLATFORM) if self.backend and name not in os.environ}


def installed() -> bool:
    """Return whether MuJoCo is installed, without importing it."""
    return find_spec("mujoco") is not None


def has_display() -> bool:
    """Return whether there seems to be a display."""
    return bool(os.environ.keys() & {"DISPLAY", "WAYLAND_DISPLAY"})


@cache
def working_opengl() -> OpenGL:
    """Return the first way that draws a picture; what the user has set is the only one that is tried.

    The result is kept for this process; those that it starts get the variables.
    """
    chosen, failures = os.environ.get(GL), {}
    for backend in (chosen,) if chosen else ((WINDOW, *WITHOUT_DISPLAY) if has_display() else WITHOUT_DISPLAY):
        try:
            answer = ask(MODULE, {}, limit=LIMIT, variables={GL: backend})
        except TooSlow as error:
            failures[backend] = f"it was {error}"
            continue
        if answer.data:
            return OpenGL(backend, json.loads(answer.data)["renderer"], failures)
        failures[backend] = answer.output.rpartition("\n")[2] or f"its process {answer.ending}"
    return OpenGL("", "", failures)


def main() -> None:
    """Draw a ball by what `MUJOCO_GL` names, and answer with what has drawn it."""
    _, answers = receive()
    import mujoco

    model = mujoco.MjModel.from_xml_string(SCENE)
    state = mujoco.MjData(model)
    mujoco.mj_forward(model, state)
    renderer = mujoco.Renderer(model, 32, 32)
    renderer.update_scene(state)
    if not renderer.render().any():
        raise SystemExit("the picture was black")
    answers.write(json.dumps({"renderer": _renderer()}).encode())
    answers.flush()
    os._exit(0)  # some drivers crash at the end


def _renderer() -> str:
    try:
        from OpenGL.GL import GL_RENDERER, glGetString  # a dependency of MuJoCo

        return (glGetString(GL_RENDERER) or b"").decode(errors="replace")
    except Exception:  # of a foreign library; the picture was drawn
        return ""


if __name__ == "__main__":
    main()
