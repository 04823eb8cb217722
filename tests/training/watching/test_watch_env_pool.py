"""EnvPool's vector environments under `pac-tui watch`, and with one line. Needs EnvPool: pip install envpool."""

import subprocess

import numpy as np
import pytest

from pac.training import watch
from pac.training.runs.sessions import sessions
from pac.training.watching.launching import watched_environment

from ...programs import talking
from ...waiting import LIMIT
from .scripted import counted_by, named, session_of

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


class Parts:
    """A pool whose environments are stepped in parts, and what its user counts."""

    def __init__(self, batch_size):
        made = envpool.make_gymnasium("CartPole-v1", num_envs=4, batch_size=batch_size, seed=1, max_episode_steps=15)
        self.envs, self.steps, self.lengths, self.running = watch(made, name="parts"), 0, [], {}

    def count(self, _observations, _rewards, terminated, truncated, infos):
        for row, over in zip(infos["env_id"].tolist(), terminated | truncated, strict=True):
            if row in self.running:
                self.steps, self.running[row] = self.steps + 1, self.running[row] + 1
            self.running.setdefault(row, 0)
            if over:
                self.lengths.append(self.running.pop(row))
        return infos["env_id"]

    def send_and_receive(self):
        self.envs.async_reset()
        for _ in range(200):
            ids = self.count(*self.envs.recv())
            self.envs.send(np.ones(len(ids), np.int32), ids)

    def step_some(self):
        self.envs.reset()
        self.running = dict.fromkeys(range(4), 0)
        for turn in range(200):
            self.count(*self.envs.step(np.ones(2, np.int32), np.arange(4)[turn % 3 :][:2]))


@pytest.mark.parametrize(
    ("use", "batch_size"), [(Parts.send_and_receive, 2), (Parts.send_and_receive, 4), (Parts.step_some, 4)]
)
def test_environments_that_are_stepped_in_parts_are_counted_as_their_user_does(use, batch_size):
    """Steps and lengths of episodes; what a reset returns is no step."""
    parts = Parts(batch_size)
    use(parts)
    counts = counted_by(parts.envs).counter.counts
    assert (counts.steps, counts.episodes) == (parts.steps, len(parts.lengths))
    assert sorted(counts.table._records["length"][: counts.episodes].tolist()) == sorted(parts.lengths)


def test_single_steps_after_steps_of_all_end_watching():
    """One line gives the reason, and the script continues."""
    arguments = f"*({ACTIONS},) if _ < 9 else ({ACTIONS}[:2], np.array([0, 2]))"
    process, printed = start("", arguments, watched=True)
    assert printed.endswith("CartPoleGymnasiumEnvPool\n")
    _, err = process.communicate(timeout=LIMIT)
    assert "pac-tui: CartPoleGymnasiumEnvPool is not watched: the script steps only some of its environments" in err


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
