"""Measures environments on a GPU: steps with random actions, with inference, and whole PPO, in several variants.

pac-tui bench gpu --json
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from functools import partial
from typing import Any, cast

import torch

from ...backends import make
from ...backends.core.layout import Layout
from ...backends.device.budget import budget_of
from ...backends.device.memory import DeviceMemory
from ...envs import PacError, Task, find
from ..device import TrainingPlace
from ..nets.line_convolution import VARIANT
from ..trainers import device_settings, trainer_settings
from .alone import started
from .clearing import seconds_to_clear
from .facts import Progress, Results
from .turns import rate_of, timed

SLOTS = 33
KEYS = 16
"""Sets of random keys, from which actions are chosen."""
LONG = 5.0
"""Seconds of the environments in one rollout above which PPO is not measured."""
GRADIENT_STEPS = 32
"""Gradient steps of a pass, as many as PPO has by default on a GPU; fewer if minibatches would be below `SMALLEST`."""
SMALLEST = 16_384
TASKS = ("drmario", "gameboy")
ENVS = (65_536, 8_192, 256)
FEW = 64
"""N where there is no GPU."""
HOST = "apart"
"""The device of environments without a GPU: memory of this machine that the host reads as that of a GPU."""
VARIANTS: Mapping[str, dict[str, Any]] = {
    "float32": {"precision": "float32"},
    "bfloat16": {"precision": "bfloat16"},
    "bfloat16, graphs": {"precision": "bfloat16", "cuda_graph": True},
    "float32, graphs": {"precision": "float32", "cuda_graph": True},
    "bfloat16, two passes": {"precision": "bfloat16", "epochs": 2},
    "bfloat16, by planes": {"precision": "bfloat16", "bits": False},
    "bfloat16, halves not joined": {"precision": "bfloat16", "joined": False},
    "bfloat16, wide sums": {"precision": "bfloat16", "wide_sums": True},
    "default settings": {},
}
"""Settings of PPO, with one pass if `epochs` is not among them, and how the first layer is computed."""
LAYER = tuple(asdict(VARIANT))
BASES = ("float32", "bfloat16", "bfloat16, graphs", "default settings")
"""The variants that are measured for every task and N."""
CLEARING = 90.0
"""Seconds of each training that is to clear the bottle."""


def measure_gpu(
    *,
    device: str | None = None,
    tasks: tuple[str, ...] | None = None,
    envs: tuple[int, ...] | None = None,
    seconds: float = 3.0,
    clearing: float = CLEARING,
    limit: float = 440.0,
    variants: tuple[str, ...] = tuple(VARIANTS),
    progress: Progress,
) -> Results:
    """Measure environments in the memory of a device.

    Args:
        device: `cuda` or `cuda:K`; `apart` runs the same program on the CPU. By default `cuda` if there is a GPU.
        tasks: The tasks; all of `TASKS` by default, without a GPU the first one.
        envs: Numbers of environments N.
        seconds: Length of each measurement.
        clearing: The longest time of each training that is to clear the bottle; 0 leaves it out.
        limit: Seconds after which no further measurement begins.
        variants: The names of those to measure, of `VARIANTS`.
        progress: Called with the current measurement.

    Returns:
        The name of the GPU, and `rows`: for each task and N the bytes needed, the steps per second of the environments
        alone, with random legal actions, of those `with_inference`, the variants of PPO `with_training`, and the
        seconds until the first step is done. PPO is left out where the environments of a rollout take over `LONG`.
        `cleared` has what `seconds_to_clear` returns for each device, `left_out` what there was no time for.
    """
    begun, gpu = time.monotonic(), torch.cuda.is_available()
    device = device or ("cuda" if gpu else HOST)
    on_gpu = device.startswith("cuda")
    tasks, envs = tasks or (TASKS if on_gpu else TASKS[:1]), envs or (ENVS if on_gpu else (FEW,))
    work: list[tuple[str, Callable[[], None]]] = []
    rows: list[Results] = []
    cleared: Results = {}
    for task in map(find, tasks):
        for count in envs:
            row: Results = {"task": task.name, "num_envs": count, "with_training": {}}
            rows.append(row)
            full = task.name == TASKS[0] and count == max(envs)
            names = [name for name in variants if full or name in BASES]
            work += _work(row, task, device, seconds, names)
    for where in (("cuda", "cpu") if on_gpu else ("cpu",)) if clearing else ():
        place = len(variants) + 1  # after the first task and N
        work.insert(place, (f"the cleared bottle, {where}", partial(_clear, cleared, where, clearing)))
    left_out = []
    for number, (name, measure) in enumerate(work):
        if time.monotonic() - begun > limit:
            left_out.append(name)
            continue
        progress(name, number / len(work))
        measure()
    found: Results = {"device": torch.cuda.get_device_name() if on_gpu else "CPU", "rows": rows, "cleared": cleared}
    if not on_gpu:
        found["note"] = "There is no GPU: everything was measured on the CPU, and says nothing about a GPU."
    return found | {"left_out": left_out, "seconds": time.monotonic() - begun}


def _clear(cleared: Results, where: str, limit: float) -> None:
    try:
        cleared[where] = seconds_to_clear(where, limit)
    except PacError as error:
        cleared[where] = {"error": str(error)}


def _work(
    row: Results, task: Task, device: str, seconds: float, variants: Sequence[str]
) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield what is to be measured for a row, and functions that measure it."""
    count = row["num_envs"]
    name = f"{task.name}, N = {count:,}"

    def alone() -> None:
        row.update(_alone(task, count, device, seconds))

    def trained(variant: str) -> None:
        if row.get("seconds_per_step", LONG) * SLOTS < LONG:
            rate = row["with_training"][variant] = _ppo(task, count, device, seconds, VARIANTS[variant])
            if "inference_steps_per_second" in rate:
                row["with_inference"] = rate.pop("inference_steps_per_second")

    def tried(measure: Callable[[], None]) -> None:
        try:
            measure()
        except (PacError, RuntimeError) as error:  # such as too little memory
            row.setdefault("errors", []).append(str(error).partition("\n")[0])

    yield name, partial(tried, alone)
    for variant in variants:
        yield f"{name}, {variant}", partial(tried, partial(trained, variant))


def _alone(task: Task, num_envs: int, device: str, seconds: float) -> Results:
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
        found["seconds_per_step"], _ = timed(partial(step, 1))
        several = max(1, min(SLOTS - 1, round(seconds / found["seconds_per_step"])))
        found["steps_per_second"] = rate_of(partial(step, several), seconds)
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


@contextmanager
def _layer(chosen: Mapping[str, Any]) -> Iterator[None]:
    """Compute the first layer in another way for some time."""
    before = asdict(VARIANT)
    changed = {name: chosen[name] for name in LAYER if name in chosen}
    for name, value in (changed | {"everywhere": bool(changed)}).items():
        setattr(VARIANT, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(VARIANT, name, value)


def _ppo(task: Task, num_envs: int, device: str, seconds: float, variant: Mapping[str, Any]) -> Results:
    """Return the steps per second of whole PPO, after two iterations, and the peak GPU memory in bytes.

    Without the settings of a variant, it is measured with those that a session has.
    """
    decisions = (SLOTS - 1) * num_envs
    policy = "cpu" if device == HOST else device
    chosen = {name: value for name, value in variant.items() if name not in LAYER}
    if variant:
        minibatch = min(decisions, max(SMALLEST, decisions // GRADIENT_STEPS))
        chosen = {"batch": decisions, "minibatch": minibatch, "epochs": 1} | chosen
    else:
        place = TrainingPlace("cuda:0" if device == "cuda" else policy, num_envs * task.players, resident=True)
        chosen = device_settings("ppo", task, trainer_settings("ppo", task, {}), (), place)
    if device != HOST:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    with (
        _layer(variant),
        started("ppo", task, chosen, num_envs, "device", device=policy, envs_device=device) as (trainer, _),
    ):
        for _ in range(2):  # compiles, captures
            trainer.iterate()
        _wait(device)
        begun, first = time.perf_counter(), trainer.decisions
        while time.perf_counter() - begun < seconds:
            trainer.iterate()
        _wait(device)
        found: Results = {"steps_per_second": (trainer.decisions - first) / (time.perf_counter() - begun)}
        if device != HOST:
            found["peak_gpu_bytes"] = torch.cuda.max_memory_allocated()
        if variant.get("precision") == "bfloat16" and len(variant) == 1:
            found["inference_steps_per_second"] = _inference(trainer, num_envs, device, seconds)
        return found | {name: chosen[name] for name in ("batch", "minibatch", "epochs", "precision") if name in chosen}


def _inference(trainer: Any, num_envs: int, device: str, seconds: float) -> float:
    """Return the steps per second of rollouts that nothing is learned from."""

    def collect() -> int:
        steps: int = trainer._collect().storage.steps  # noqa: SLF001
        _wait(device)
        return steps * num_envs

    return rate_of(collect, seconds)


def _wait(device: str) -> None:
    if device.startswith("cuda"):
        torch.cuda.synchronize()
