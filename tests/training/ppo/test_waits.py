"""No hidden waits: while PPO collects, it does nothing that would wait for a device."""

import ast
import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from pac.envs import find
from pac.training.nets import decoding, device_buffer, distribution, line_convolution, running_moments, torsos
from pac.training.nets.wait_guard import Wait, WaitGuard
from pac.training.ppo import policy, rollout, storage
from pac.training.ppo.trainer import PPO

from .test_overlap import training

LOOP = (rollout, storage, policy, device_buffer, distribution, decoding, torsos, line_convolution)
"""The modules whose code runs at every step; `running_moments` runs there, too."""
WAITS = {"item", "tolist", "numpy", "cpu"}
CASES = [("CartPole-v1", False), ("Pendulum-v1", True), ("drmario", True), ("staghunt", False)]


def calls(module: ModuleType) -> Iterator[tuple[str, int]]:
    """The names and lines of all methods that a module calls, except in functions that only the CPU has."""
    inner: list[ast.AST] = [ast.parse(inspect.getsource(module))]
    while inner:
        node = inner.pop()
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield node.func.attr, node.lineno
        if not (isinstance(node, ast.FunctionDef) and node.name == "_on_cpu"):
            inner += ast.iter_child_nodes(node)


@pytest.mark.parametrize("module", [*LOOP, running_moments], ids=lambda module: module.__name__)
def test_no_file_of_the_loop_reads_a_tensor_on_the_host(module: ModuleType) -> None:
    """On the CPU, PyTorch does nothing for these methods, so the guard cannot see them."""
    assert [f"{module.__file__}:{line} {name}()" for name, line in calls(module) if name in WAITS] == []


@pytest.mark.session
@pytest.mark.parametrize(("spec", "overlap"), CASES)
def test_collecting_waits_for_nothing(spec: str, overlap: bool) -> None:
    """From the first to the last step of whole iterations, with ends of episodes."""
    waits: list[Wait] = []

    class Steps:
        """Environments that note the steps."""

        def __getattr__(self, name: str) -> object:
            return getattr(envs, name)

        def advance(self, slot: int) -> None:
            guard.__exit__(None, None, None)
            envs.advance(slot)
            guard.__enter__()

    with training(PPO, find(spec), num_envs=4, batch=256, threads=1, overlap=overlap) as trainer:
        envs: Any = trainer._envs
        trainer._envs = Steps()
        guard = WaitGuard(waits.append)
        collect = trainer._collect

        def guarded() -> object:
            with guard:
                return collect()

        trainer._collect = guarded
        for _ in range(3):
            trainer.iterate()
        trainer._envs = envs
    assert waits == []
