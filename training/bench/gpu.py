"""Measures environments on a GPU: steps with random actions, and whole PPO, for several N.

pac-tui bench gpu --json
"""

from __future__ import annotations

import time
from contextlib import closing
from functools import partial
from typing import cast

import torch

from ...backends import make
from ...backends.core.layout import Layout
from ...backends.device.budget import budget_of
from ...backends.device.memory import DeviceMemory
from ...envs import PacError, Task, find
from .alone import started
from .facts import Progress, Results
from .turns import rate_of, timed

SLOTS = 33
KEYS = 16
"""Sets of random keys, from which actions are chosen."""
LONG = 5.0
"""Seconds of the environments in one rollout above which PPO is not measured."""
EPOCHS = 1
"""Passes of PPO over a rollout."""
GRADIENT_STEPS = 32
"""Gradient steps of a pass, as many as PPO advises for a GPU; fewer if minibatches would be below `SMALLEST`."""
SMALLEST = 16_384
TASKS = ("drmario", "gameboy")


def measure_gpu(
    *,
    device: str = "cuda",
    tasks: tuple[str, ...] = TASKS,
    envs: tuple[int, ...] = (256, 8_192, 65_536),
    seconds: float = 3.0,
    progress: Progress,
) -> Results:
    """Measure environments in the memory of a device.

    Args:
        device: `cuda` or `cuda:K`; `apart` runs the same program on the CPU, for tests.
        envs: Numbers of environments N.
        progress: Called with the current measurement.

    Returns:
        The name of the GPU, and `rows`: for each task and N the bytes needed, the steps per second with random legal
        actions, those of PPO without and with CUDA graphs, and the seconds until the first step is done. PPO is left
        out where the environments of a rollout take over `LONG`.

    Raises:
        PacError: There is no GPU.
    """
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise PacError(f"PyTorch {torch.__version__} finds no GPU; this benchmark needs one.")
    rows: list[Results] = []
    cases = [(find(name), count) for name in tasks for count in envs]
    for number, (task, count) in enumerate(cases):
        progress(f"{task.name}, N = {count:,}", number / len(cases))
        try:
            rows.append({"task": task.name, "num_envs": count} | _measured(task, count, device, seconds))
        except PacError as error:
            rows.append({"task": task.name, "num_envs": count, "error": str(error)})
    name = torch.cuda.get_device_name() if device.startswith("cuda") else device
    return {"device": name, "rows": rows}


def _measured(task: Task, num_envs: int, device: str, seconds: float) -> Results:
    with closing(make(task, num_envs, "device", slots=SLOTS, device=device, strict=True)) as envs:
        actions = RandomLegalOnDevice(task, cast("DeviceMemory", envs.buffer))

        def step(times: int) -> int:
            """Step so many times, and wait for the device; return the number of environment steps."""
            for _ in range(times):
                if envs.order.full:
                    envs.carry()
                actions.draw(envs.order.newest)
                envs.advance(envs.order.newest)
            _wait(device)
            return times * num_envs

        begun = time.perf_counter()
        envs.start()
        step(1)
        found: Results = {"first_step_seconds": time.perf_counter() - begun}
        one, _ = timed(partial(step, 1))
        several = max(1, min(SLOTS - 1, round(seconds / one)))
        found["steps_per_second"] = rate_of(partial(step, several), seconds)
    if one * SLOTS < LONG:
        for graph in (False, True):
            found |= _ppo(task, num_envs, device, seconds, graph=graph)
    return found | {"memory": budget_of(Layout(task, num_envs, SLOTS, device)).text}


class RandomLegalOnDevice:
    """Draws random legal actions on the device.

    Each action has a random key; the legal action with the highest one is taken. The keys are drawn once, in `KEYS`
    sets that are used in turn, because drawing 512 keys per environment takes longer than a step of `drmario`.
    """

    def __init__(self, task: Task, memory: DeviceMemory) -> None:
        rows = memory.tensors["action"].shape[1]
        sets = (KEYS, rows, task.num_actions)
        self._task, self._memory, self._turn = task, memory, 0
        self._keys = torch.randint(1, 256, sets, dtype=torch.uint8, device=memory.where)
        self._places = torch.arange(8, dtype=torch.uint8, device=memory.where)

    def draw(self, slot: int) -> None:
        """Write one action per row into a slot."""
        self._turn = (self._turn + 1) % KEYS
        keys, fields = self._keys[self._turn], self._memory.tensors
        if self._task.masked:
            bits = fields["action_mask"][slot][..., None] >> self._places & 1
            keys = keys * bits.flatten(1)[:, : self._task.num_actions]
        fields["action"][slot] = keys.argmax(dim=1)


def _ppo(task: Task, num_envs: int, device: str, seconds: float, *, graph: bool) -> Results:
    """Return the steps per second of whole PPO, after two iterations, and the peak GPU memory in bytes so far."""
    steps = SLOTS - 1
    decisions = steps * num_envs
    chosen = {
        "batch": decisions,
        "minibatch": min(decisions, max(SMALLEST, decisions // GRADIENT_STEPS)),
        "epochs": EPOCHS,
        "cuda_graph": graph,
    }
    policy = "cpu" if device == "apart" else device
    with started("ppo", task, chosen, num_envs, "device", device=policy, envs_device=device) as (trainer, _):
        for _ in range(2):  # compiles, captures
            trainer.iterate()
        _wait(device)
        begun, iterations = time.perf_counter(), 0
        while time.perf_counter() - begun < seconds:
            trainer.iterate()
            iterations += 1
        _wait(device)
        rate = iterations * decisions / (time.perf_counter() - begun)
        found: Results = {"ppo_graph_steps_per_second" if graph else "ppo_steps_per_second": rate}
        if device != "apart":
            found["peak_gpu_bytes"] = torch.cuda.max_memory_allocated()
    return found


def _wait(device: str) -> None:
    if device.startswith("cuda"):
        torch.cuda.synchronize()
