"""Scripts that are watched without being changed: they do exactly what they do without."""

import os
import signal
import subprocess

import pytest

from pac.training.runs.sessions import sessions
from pac.training.watching.launching import watched_environment

from ...programs import talking
from ...waiting import LIMIT, until

pytestmark = pytest.mark.session


def start(arguments, folder, *, watched, **request):
    environment = watched_environment(**{"quiet": True, **request}) if watched else os.environ
    return talking(*arguments, cwd=folder, env=environment, stderr=subprocess.PIPE)


def both_ways(arguments, folder):
    """Run a command with and without watching; return exit code, stdout and stderr of each."""
    processes = [start(arguments, folder, watched=watched) for watched in (False, True)]
    said = [process.communicate(timeout=LIMIT) for process in processes]
    return [(process.returncode, out, without_ours(err)) for process, (out, err) in zip(processes, said, strict=True)]


def without_ours(text):
    """Return what a script said itself."""
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith("pac-tui: "))


def write(folder, name, text):
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


SURROUNDINGS = """
import argparse, os, sys
import sitecustomize
print(__name__, __file__, sys.argv, sys.path, sorted(os.environ.items()), sitecustomize.__file__)
parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, required=True)
parser.parse_args()
"""


def test_a_script_finds_the_same_surroundings(tmp_path, monkeypatch):
    """Its name, arguments, path, environment variables, its own sitecustomize, its usage line and its exit code."""
    write(tmp_path, "own/sitecustomize.py", "")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "own"))
    write(tmp_path, "train.py", SURROUNDINGS)
    plain, watched = both_ways(["train.py", "--seed", "1"], tmp_path)
    assert plain == watched
    assert plain[0] == 2
    assert "usage: train.py [-h] --steps STEPS" in plain[2]


TRAINING = """
import hashlib, sys
import gymnasium
import numpy as np
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv
from .task import MAKE

def follow(envs, hashed, steps, single):
    envs.action_space.seed(1)
    observation, _ = envs.reset(seed=1)
    for _ in range(steps):
        observation, reward, terminated, truncated, _ = envs.step(envs.action_space.sample())
        hashed.update(np.asarray(observation).tobytes() + np.asarray(reward).tobytes())
        if single and (terminated or truncated):
            observation, _ = envs.reset()
    envs.close()

if __name__ == "__main__":
    hashed = hashlib.sha256()
    for envs in (SyncVectorEnv(MAKE), AsyncVectorEnv(MAKE, context=sys.argv[1]), gymnasium.make("CartPole-v1")):
        print(type(envs), repr(envs))
        follow(envs, hashed, 50, isinstance(envs, gymnasium.Env))
    print(hashed.hexdigest())
"""
TASK = """
import gymnasium
ENV = gymnasium.make("CartPole-v1")
class Make:
    def __init__(self, env):
        self.env = env
    def __call__(self):
        return self.env
MAKE = [Make(ENV)] + [Make(gymnasium.make("CartPole-v1"))]
"""


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_a_module_steps_to_the_same_bytes(tmp_path, context):
    """With relative imports, and environments that are pickled for other processes."""
    write(tmp_path, "project/train.py", TRAINING)
    write(tmp_path, "project/task.py", TASK)
    (code, out, _), watched = both_ways(["-m", "project.train", context], tmp_path)
    assert code == 0
    assert watched[:2] == (code, out)


ENDLESS = """
import gymnasium
env = gymnasium.make("CartPole-v1")
env.reset(seed=1)
while True:
    if any(env.step(env.action_space.sample())[2:4]):
        env.reset()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_a_script(tmp_path, number):
    """SIGINT raises KeyboardInterrupt, and SIGTERM ends the process; no session remains."""
    write(tmp_path, "endless.py", ENDLESS)
    process = start(["endless.py"], tmp_path, watched=True)
    (found,) = until(lambda: [found for found in sessions() if found.pid == process.pid and found.snapshot.num_envs])
    assert (found.name, found.snapshot.num_envs) == ("endless", 1)
    process.send_signal(number)
    _, err = process.communicate(timeout=LIMIT)
    assert process.returncode == -number
    assert ("KeyboardInterrupt" in err) == (number == signal.SIGINT)


ROLES = """
import sys
import gymnasium
envs = gymnasium.make_vec("CartPole-v1", num_envs=2, vectorization_mode="sync")
eval_env = gymnasium.make("CartPole-v1")
def evaluate():
    env = gymnasium.make("Acrobot-v1")
    env.reset(seed=1)
    env.step(0)
    return env
for env, action in ((envs, [0, 0]), (eval_env, 0)):
    env.reset(seed=1)
    env.step(action)
kept = evaluate()
print("ready", flush=True)
sys.stdin.read()
"""


def test_training_and_evaluation_are_told_apart(tmp_path):
    """By the variable or the function in which an environment is made; one that another contains has no session."""
    write(tmp_path, "train.py", ROLES)
    process = start(["train.py"], tmp_path, watched=True)
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    found = {session.name: session for session in sessions() if session.pid == process.pid}
    tasks = {name: session.snapshot.description.task for name, session in found.items()}
    assert tasks == {"train": "CartPole-v1", "train-eval": "CartPole-v1", "train-eval-2": "Acrobot-v1"}
    process.communicate(timeout=LIMIT)
    assert process.returncode == 0


DIRECT = """
import copy, hashlib, sys
import gymnasium
import numpy as np
from gymnasium.vector import SyncVectorEnv
from gymnasium.wrappers import RecordEpisodeStatistics, TimeLimit

class Walk(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-100, 100, (1,))
    action_space = gymnasium.spaces.Discrete(2)
    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.at = 0.0
        return np.array([self.at], np.float32), {}
    def step(self, action):
        self.at += 2 * action - 1 + self.np_random.normal()
        return np.array([self.at], np.float32), self.at, False, False, {}

class Run(Walk):
    pass

hashed = hashlib.sha256()
env, other = RecordEpisodeStatistics(TimeLimit(Walk(), 5)), copy.deepcopy(Walk())
envs = SyncVectorEnv([lambda: TimeLimit(Run(), 5)] * 2)
print(type(env.unwrapped), type(other), type(envs), env)
for each in (env, envs):
    each.reset(seed=1)
steps = 0
while steps < 20 or sys.argv[1:]:
    steps += 1
    for each, action in ((env, 1), (envs, [1, 0])):
        observation, reward, terminated, truncated, _ = each.step(action)
        hashed.update(np.asarray(observation).tobytes() + np.asarray(reward).tobytes())
        if each is env and truncated:
            each.reset()
print(hashed.hexdigest())
"""


def test_environments_made_by_their_class_are_shown(tmp_path):
    """With the time limit around them, which ends their episodes, and with the same results."""
    write(tmp_path, "direct.py", DIRECT)
    plain, watched = both_ways(["direct.py"], tmp_path)
    assert (plain[0], plain[1]) == (0, watched[1])
    assert not watched[2]
    process = start(["direct.py", "forever"], tmp_path, watched=True)

    def shown():
        own = [session.snapshot for session in sessions() if session.pid == process.pid]
        return {seen.description.task: seen.num_envs for seen in own if seen.state["episodes"]}

    try:
        until(lambda: len(shown()) == 2)
        assert shown() == {"Walk": 1, "Run": 2}
    finally:
        process.kill()
        process.communicate(timeout=LIMIT)


LOOP = """
import numpy as np
from pac.training import watch
for step in range(20):
    watch.step(np.zeros((2, 3)), np.ones(2), np.ones(2), np.zeros(2, bool), np.zeros(2, bool))
print("done")
"""
AGAIN = """
import os, sys
import gymnasium
if len(sys.argv) == 1:
    os.execv(sys.executable, [sys.executable, *sys.argv, "again"])
env = gymnasium.make("CartPole-v1")
env.reset(seed=1)
env.step(0)
print(sys.argv[1:], [name for name in sys.modules if name.partition(".")[0] == "pac"])
"""
NONE = "pac-tui: no environment was recognized in this script; for a loop of its own, call watch.step (docs/watch.md)\n"


@pytest.mark.parametrize(
    ("script", "printed", "said"),
    [
        (LOOP, "done\n", "pac-tui: watching train: pac-tui attach train\n"),
        (AGAIN, "['again'] []\n", "pac-tui: watching train: pac-tui attach train\n"),
        ("print(1)", "1\n", NONE),
        ("import os; os._exit(0)", "", ""),
        ("import gymnasium; gymnasium.make('CartPole-v1').reset()", "", NONE),
    ],
    ids=["a loop of its own", "itself again", "nothing", "an early end", "only a reset"],
)
def test_what_is_watched_is_said(tmp_path, script, printed, said):
    """Also if it is a loop, or the script starts itself again; and if there is nothing, what to do."""
    write(tmp_path, "train.py", script)
    process = start(["train.py"], tmp_path, watched=True, quiet=False)
    assert process.communicate(timeout=LIMIT) == (printed, said)
    assert process.returncode == 0
