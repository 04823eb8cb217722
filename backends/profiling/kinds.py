"""What a sampled stack is for: environment, policy, learner, or something else.

A stack is judged by the functions in it, from the outermost to the innermost. The innermost sign counts, except that
what a learner calls belongs to the learner: it computes the policy's networks, too. A stack without a sign is `other`.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path
from types import CodeType

ENVIRONMENT, POLICY, LEARNER, OTHER = "environment", "policy", "learner", "other"
WAITING, IDLE = "waiting", "idle"
"""A thread of `other` that waits: waiting if it is the main thread of a training, idle if it has nothing to do."""
PACKAGE = str(Path(__file__).parents[2])
FOLDERS = ("/envs/", "/backends/", "/training/", "/tui/")
TRAINERS = tuple(f"/training/{name}/" for name in ("ppo", "dqn", "sac", "mccfr", "independent", "nets"))
LEARNS = frozenset({"update", "_update", "learn", "_learn", "_learn_all", "optimize", "train_step"})
ACTS = frozenset({"act", "decide", "_decide", "predict", "choose", "select_action", "get_action", "sample_action"})
GRADIENTS = "/training/nets/gradient_step.py"
"""The file of pac-tui whose functions learn, also in threads of their own."""
SERVED = frozenset({"learn"})
"""Names of what learns in pac-tui's trainers, and is the whole training in other libraries."""
LEARNING_FILES = ("/torch/autograd/", "/torch/optim/", "/torch/_tensor.py", "/optax/")
ACTING_FILES = ("/torch/nn/modules/", "/torch/distributions/", "/flax/")
STEPPING_FILES = ("/gymnasium/", "/gym/", "/pettingzoo/")
PASSING_FILES = ("/gymnasium/vector/async_vector_env.py", "/gym/vector/async_vector_env.py", "/subproc_vec_env.py")
"""Files that pass steps to other processes: these step, and who calls them waits."""
STEPS = frozenset({"step", "reset", "step_async", "step_wait", "render"})
WAITS = (
    *("/backends/system/futex.py", "/backends/workers/control.py", "/backends/workers/shm.py"),
    "/training/session/gate.py",
)
"""Files of pac-tui in which a thread waits for other threads or processes, partly by polling."""
STANDARD_WAITS = frozenset(
    {"connection.py", "queue.py", "selectors.py", "socket.py", "ssl.py", "subprocess.py", "threading.py"}
)
STANDARD = str(Path(os.__file__).parent)


def own_file(file: str) -> str:
    """Return the path of a file of pac-tui below its package; an empty text for another file."""
    inner = file.removeprefix(PACKAGE)
    return inner if inner != file and inner.startswith(FOLDERS) else ""


def sign_of(code: CodeType, steps: Collection[tuple[str, int]]) -> str:
    """Return what a function is a sign of, or an empty text.

    Args:
        code: The function.
        steps: Files and first lines of functions that are known to step or reset environments.
    """
    if (code.co_filename, code.co_firstlineno) in steps and not code.co_filename.endswith(PASSING_FILES):
        return ENVIRONMENT
    return sign_of_name(code.co_filename, code.co_name)


def sign_of_name(file: str, name: str) -> str:
    """Return what a function is a sign of by its file and name, or an empty text."""
    if file.endswith(PASSING_FILES):
        return OTHER
    if own := own_file(file):
        if own.startswith(("/envs/", "/backends/device/")):
            return ENVIRONMENT
        if own == GRADIENTS or (own.startswith(TRAINERS) and name in LEARNS):
            return LEARNER
        return POLICY if own.startswith(TRAINERS) and name in ACTS else ""
    if any(part in file for part in STEPPING_FILES) and name in STEPS:
        return ENVIRONMENT
    if any(part in file for part in LEARNING_FILES) or (name in LEARNS - SERVED) or _trains(file, name):
        return LEARNER
    if any(part in file for part in ACTING_FILES) or name in ACTS:
        return POLICY
    return ""


def _trains(file: str, name: str) -> bool:
    """Whether a function is the update of Stable-Baselines3."""
    return name == "train" and "/stable_baselines3/" in file


def kind_of(signs: Sequence[str]) -> str:
    """Return the kind of a stack from the signs of its functions, the outermost first."""
    kind = OTHER
    for sign in signs:
        if sign and not (kind == LEARNER and sign == POLICY):
            kind = sign
    return kind


def waits(code: CodeType) -> bool:
    """Whether a function does nothing but wait; others wait, too, which only the system knows."""
    return waits_in(code.co_filename)


def waits_in(file: str) -> bool:
    """Whether the functions of a file do nothing but wait."""
    if own := own_file(file):
        return own in WAITS
    return file.startswith(STANDARD) and Path(file).name in STANDARD_WAITS
