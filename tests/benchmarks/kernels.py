"""Compiles the kernels for GPUs, without a GPU: registers, stack, spills and occupancy.

python -m tests.benchmarks kernels --json
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from pac.envs import PacError, find
from pac.envs.cuda import Kernel, fight_kernel, ptx_of, step_kernels, unavailable
from pac.training.bench.facts import Progress, Results

TASKS = (
    "drmario",
    "drmario-frames",
    "treasure",
    "staghunt",
    "frames",
    "kuhn",
    "leduc",
    "gameboy",
    "autochess",
    "autochess:combat=device",
)
FIGHT = "autochess fight"
TARGETS = (80, 90, 100)
LOWEST = (8, 0)
"""The compute capability that the kernels are compiled for; `ptxas` assembles the result for every target."""
PARTITIONS, PARTITION_REGISTERS, PARTITION_WARPS, LANES = 4, 16_384, 16, 32
"""Of a multiprocessor: its parts, and the registers and warps of each. Warps get registers in multiples of 256."""
TIMEOUT = 300
FOUND = {
    "registers": re.compile(r"Used (\d+) registers"),
    "stack_bytes": re.compile(r"(\d+) bytes stack frame"),
    "spill_stores": re.compile(r"(\d+) bytes spill stores"),
    "spill_loads": re.compile(r"(\d+) bytes spill loads"),
}


def measure_kernels(
    *, names: tuple[str, ...] = (*TASKS, FIGHT), targets: tuple[int, ...] = TARGETS, progress: Progress
) -> Results:
    """Compile kernels for GPUs.

    Args:
        names: Tasks whose step is compiled, and `FIGHT`.
        targets: Architectures, 90 for sm_90.
        progress: Called with the current kernel.

    Returns:
        `rows`: for each kernel and target the registers of a thread, the bytes of its stack and of spills, and the
        occupancy, which is the share of a multiprocessor's warps that its registers allow; or the assembler's `error`.

    Raises:
        PacError: The extra [cuda] is not installed.
    """
    if reason := unavailable():
        raise PacError(f"{reason}.")
    rows: list[Results] = []
    for number, name in enumerate(names):
        progress(name, number / len(names))
        for label, kernel in kernels_of(name).items():
            ptx = ptx_of(kernel, LOWEST)
            rows.extend({"kernel": label, "target": f"sm_{target}"} | assembled(ptx, target) for target in targets)
    return {"rows": rows}


def kernels_of(name: str) -> dict[str, Kernel]:
    """Return the kernels of a task's step, or that of a fight, by their names in the rows."""
    if name == FIGHT:
        return {FIGHT: fight_kernel()}
    kernels = step_kernels(find(name))
    return {name if len(kernels) == 1 else f"{name}, {part}": kernel for part, kernel in kernels.items()}


def assembled(ptx: str, target: int) -> Results:
    """Assemble PTX for an architecture; return the assembler's results, summed over its functions."""
    with TemporaryDirectory() as folder:
        source = Path(folder, "kernel.ptx")
        source.write_text(ptx)
        command = [assembler(), "-v", f"-arch=sm_{target}", str(source), "-o", os.devnull]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
        except subprocess.TimeoutExpired:
            return {"error": f"not assembled within {TIMEOUT} s"}
    if done.returncode:
        return {"error": done.stderr.partition("error")[2].strip(" :").partition("\n")[0]}
    results: Results = {name: sum(map(int, form.findall(done.stderr))) for name, form in FOUND.items()}
    results["registers"] = max(map(int, FOUND["registers"].findall(done.stderr)))
    return results | {"occupancy": occupancy(results["registers"])}


def assembler() -> str:
    """Return the path of `ptxas`.

    Raises:
        PacError: It is not installed.
    """
    for folder in sys.path:
        if found := sorted(Path(folder).glob("nvidia/*/bin/ptxas")):
            return str(found[-1])
    raise PacError("ptxas is not installed; the extra [cuda] has it.")


def occupancy(registers: int) -> float:
    """Return the share of a multiprocessor's warps that can run with so many registers per thread."""
    of_warp = -(-registers // 8) * 8 * LANES
    return min(PARTITION_WARPS, PARTITION_REGISTERS // of_warp) / PARTITION_WARPS
