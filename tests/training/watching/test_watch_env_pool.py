"""EnvPool's vector environments under `pac-tui watch`, and with one line. Needs EnvPool: pip install envpool."""

import subprocess

import numpy as np
import pytest

from pac.training import watch
from pac.training.runs.sessions import sessions
from pac.training.watching.launching import watched_environment

from ...programs import talking
from ...waiting import LIMIT
from .scripted import named, session_of

envpool = pytest.importorskip("envpool")
pytestmark = [pytest.mark.session, pytest.mark.filterwarnings("ignore:.*precision lowered by casting")]
SCRIPT = """
import hashlib, sys
import envpool
import numpy as np
envs = envpool.make("CartPole-v1", env_type="gymnasium", num_envs=3, seed=1, {options})
envs.reset()
hashed, generator = hashlib.sha256(), np.random.default_rng(0)
for _ in range(200):
    result = envs.step({arguments})
    hashed.update(result[0].tobytes() + result[1].tobytes())
print(hashed.hexdigest(), type(envs).__name__, flush=True)
if sys.stdin.read() == "more":
    envs.close()
"""
ACTIONS = "generator.integers(2, size=3)"


def start(options, arguments, *, watched):
    """Start the script, and return its process and the line that it prints after its steps."""
    env = watched_environment(quiet=True) if watched else None
    process = talking("-c", SCRIPT.format(options=options, arguments=arguments), env=env, stderr=subprocess.PIPE)
    assert process.stdout
    return process, process.stdout.readline()


@pytest.mark.parametrize("arguments", [ACTIONS, ACTIONS + ", np.arange(3)"])
def test_environments_of_an_unchanged_script_are_shown(arguments):
    """By the name of the task, with boards, and with the results that they have without watching."""
    options = "render_mode='rgb_array'"
    plain, expected = start(options, arguments, watched=False)
    plain.communicate(timeout=LIMIT)
    process, printed = start(options, arguments, watched=True)
    (found,) = [session for session in sessions() if session.pid == process.pid]
    assert (found.snapshot.num_envs, found.snapshot.description.task) == (3, "CartPole")
    process.communicate("more", timeout=LIMIT)
    assert (process.returncode, printed) == (0, expected)


@pytest.mark.parametrize(
    ("options", "arguments", "reason"),
    [
        ("", ACTIONS + "[:2], np.array([0, 2])", "the script resets or steps only some of its environments at a time"),
        ("batch_size=2", ACTIONS + "[:2], np.arange(2)", "batch_size is less than num_envs"),
    ],
)
def test_parts_of_the_environments_are_not_watched(options, arguments, reason):
    """One line gives the reason, and the script continues."""
    process, printed = start(options, arguments, watched=True)
    assert printed.endswith("CartPoleGymnasiumEnvPool\n")
    assert not [session for session in sessions() if session.pid == process.pid]
    _, err = process.communicate(timeout=LIMIT)
    assert f"pac-tui: CartPoleGymnasiumEnvPool is not watched: {reason}" in err


def test_one_line_shows_them():
    """By the name of the task, with a picture of each environment."""
    envs = watch(envpool.make_gymnasium("CartPole-v1", num_envs=2, seed=1, render_mode="rgb_array"), name="pool")
    envs.reset()
    envs.step(np.zeros(2, np.int32))
    (found,) = named("pool")
    assert (found.snapshot.num_envs, found.snapshot.description.task) == (2, "CartPole")
    draw = session_of(envs)._boards._render
    assert draw(0).shape == (400, 600, 3)
    assert not np.array_equal(draw(0), draw(1))
