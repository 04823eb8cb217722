"""Steps environments by CUDA kernels in Numba's simulator, and compares them with steps of `inline`.

Run as a program with a file of steps, in a process in which Numba compiles nothing.
"""

from __future__ import annotations

import pickle
import sys
import warnings
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pac.backends import make
from pac.envs import find
from pac.envs.errors import IllegalAction
from pac.envs.fields import Array

NUM_ENVS, SLOTS, SEED = 3, 3, 5
GAMES = dict.fromkeys(("drmario:level=2", "drmario-frames", "autochess", "autochess:players=8", "frames", "leduc"), 4)
GAMES |= {"gameboy": 1, "kuhn": 4, "holdem:betting=fcpa,stack=8": 4, "treasure:turns=10": 11, "staghunt:turns=10": 11}
GAMES |= dict.fromkeys(("autochess:players=8,turn_actions=1", "autochess:players=8,turn_actions=1,combat=device"), 3)
"""Numbers of steps."""


def recorded(spec: str, steps: int) -> list[dict[str, Any]]:
    """Return the fields after each step of `inline` with random legal actions; the first are those of the reset."""
    from pac.training.bench.backends.rates import RandomLegal

    found: list[dict[str, Any]] = []
    with closing(make(spec, NUM_ENVS, "inline", slots=1, seed=SEED)) as envs:
        choose = RandomLegal(envs.task, envs.num_envs)
        envs.start()
        for step in range(steps + 1):
            if step:
                choose(envs, 0)
                actions = envs.buffer["action"][0].copy()
                envs.advance(0)
                envs.buffer["action"][0] = actions
            found.append({name: np.array(array[0]) for name, array in envs.buffer.items()})
    return found


def compare(spec: str, expected: list[dict[str, Any]]) -> None:
    """Make the same steps, and check every byte after each of them."""
    with closing(make(spec, NUM_ENVS, "device", slots=SLOTS, seed=SEED, device="apart", strict=True)) as envs:
        envs.start()
        for step, fields in enumerate(expected):
            if step:
                if envs.order.full:
                    envs.carry()
                envs.buffer["action"][envs.order.newest] = fields["action"]
                envs.advance(envs.order.newest)
            for item in envs.task.fields:
                got, wanted = envs.buffer[item.name][envs.order.newest if item.timed else 0], fields[item.name]
                if item.name == "final_observation":  # each slot has those of the episodes that ended at its step
                    ended = (fields["terminated"] | fields["truncated"]) > 0
                    got, wanted = got[ended], wanted[ended]
                if item.name != "action" and got.tobytes() != wanted.tobytes():
                    check_nearly(got, wanted, f"{spec}, step {step}, {item.name}")


def check_nearly(got: Array, wanted: Array, where: str) -> None:
    """Check numbers in which a product of a float32 and a constant is rounded: Python does so once, Numba twice."""
    kind = "f4" if wanted.dtype.kind != "f" else wanted.dtype
    np.testing.assert_allclose(got.view(kind), wanted.view(kind), rtol=1e-6, atol=0, err_msg=where)


def reset_and_restore() -> None:
    """Reset by mask, continue from states, and take an illegal action, with kernels."""
    task = find("drmario:level=2")
    with (
        closing(make(task, NUM_ENVS, "device", slots=SLOTS, seed=SEED, device="apart", strict=True)) as envs,
        closing(make(task, NUM_ENVS, "inline", slots=SLOTS, seed=SEED)) as inline,
    ):
        for each in (envs, inline):
            each.reset()
            states = np.array(each.buffer["state"][0])
            each.reset(options={"reset_mask": np.array([False, True, True])})
            assert each.buffer["episode"][0].tolist() == [0, 1, 1]
            each.restore(states)
            assert each.buffer["episode"][0].tolist() == [0, 0, 0]
        for name in ("observation", "action_mask", "state"):
            assert np.array_equal(envs.buffer[name][0], inline.buffer[name][0]), name
        envs.buffer["action"][0] = np.unpackbits(envs.buffer["action_mask"][0], axis=-1, bitorder="little").argmax(-1)
        envs.buffer["action"][0, 1] = task.num_actions
        envs.advance(0)
        envs.buffer["action"][1] = envs.action_masks().argmax(axis=1)
        with pytest.raises(
            IllegalAction, match="environment 1 expects an action from 0 to 511, got 512; this was step 1"
        ):
            envs.advance(1)


if __name__ == "__main__":
    from pac.backends.device import gpu

    gpu.THREADS = 2  # so that three environments need two blocks
    warnings.simplefilter("ignore")  # of integers that wrap around, as they do in compiled code
    for spec, fields in pickle.loads(Path(sys.argv[1]).read_bytes()).items():
        compare(spec, fields)
        sys.stdout.write(f"equal: {spec}\n")
    reset_and_restore()
    sys.stdout.write("reset, restored, refused\n")
