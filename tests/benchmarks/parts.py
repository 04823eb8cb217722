"""All benchmarks, each in full or quick: those of this folder, and those of `pac-tui bench`."""

from __future__ import annotations

from pac.training.bench.parts import PARTS as OWN
from pac.training.bench.parts import Benchmark

COMPARISONS = {
    "gameboy": Benchmark("tests.benchmarks.gameboy:measure_gameboy", {"repeat": 1, "seconds": 0.5, "frames": 300}),
    "matrix": Benchmark("tests.benchmarks.matrix:matrix", {"steps": 8192}),
    "peers": Benchmark("tests.benchmarks.peers:measure_peers", {"rounds": 5, "async_rounds": 3}),
    "sb3": Benchmark(
        "tests.benchmarks.sb3:compare",
        {"seconds": 4.0, "pairs": 1},
        "Compare PPO with SB3-contrib's MaskablePPO: the same game, network and settings.",
    ),
    "overlap": Benchmark(
        "tests.benchmarks.overlap:measure_overlap",
        {"seconds": 2.0, "rounds": 3},
        "Compare PPO with and without --ppo.overlap, which collects and learns at the same time.",
    ),
    "dqn": Benchmark(
        "tests.benchmarks.dqn:measure_dqn",
        {"seconds": 1.0, "rounds": 3},
        "Compare gradient steps per second with Stable-Baselines3's DQN, and measure a replay of a million images.",
    ),
    "sac": Benchmark(
        "tests.benchmarks.sac:measure_sac",
        {"seconds": 1.0, "rounds": 3},
        "Compare gradient steps per second with Stable-Baselines3's SAC.",
    ),
    "packed": Benchmark(
        "tests.benchmarks.packed:measure_packed",
        {"rounds": 5, "num_envs": (256,)},
        "Measure packed pixels: decoding, distances, memory, and the parts of PPO at N = 256 and 8,192.",
    ),
    "ray": Benchmark(
        "tests.benchmarks.ray_nodes:measure_ray",
        {"seconds": 1.0, "rounds": 1},
        "Compare the backend ray with inline and with RLlib's environment runners, on two nodes of one CPU.",
    ),
    "ranks": Benchmark(
        "tests.benchmarks.ranks:measure_ranks",
        {"seconds": 5.0, "rounds": 1},
        "Compare training in two processes with one process on one core and on two cores.",
    ),
    "relay": Benchmark(
        "tests.benchmarks.relay:measure_relay",
        {"seconds": 3.0, "rounds": 2, "presses": 10},
        "Measure a session shown through a relay: bandwidth, time from a key press to the screen, training speed.",
    ),
    "pictures": Benchmark(
        "tests.benchmarks.pictures:measure_pictures",
        {"seconds": 3.0, "presses": 5, "steps": 2_000, "rounds": 1},
        "Show Breakout in real pictures: how many, what they cost, and how soon keys are answered on a slow line.",
    ),
    "looking": Benchmark(
        "tests.benchmarks.looking:looking_cost",
        {"seconds": 2.0, "rounds": 1},
        "Measure what a training loses while somebody looks at its timeline, or at its hot lines.",
    ),
    "openings": Benchmark(
        "tests.benchmarks.openings:measure_openings",
        {"rounds": 10},
        "Open and close every dialog and view many times, and measure the memory that the app keeps.",
    ),
    "kernels": Benchmark(
        "tests.benchmarks.kernels:measure_kernels",
        {"targets": (90,)},
        "Compile the GPU kernels without a GPU, and report registers, stack, spills and occupancy.",
    ),
    "fights": Benchmark(
        "tests.benchmarks.fights:measure_fights",
        {"seconds": 2.0},
        "Measure the fights of autochess: their duration and their share of a step.",
    ),
    "evaluation": Benchmark(
        "tests.benchmarks.evaluation:evaluation_cost",
        {"seconds": 6.0, "pairs": 1},
        "Measure how much background evaluation slows down training.",
    ),
    "diagnosis": Benchmark(
        "tests.benchmarks.diagnosis:diagnosis_cost",
        {"seconds": 10.0, "rounds": 1},
        "Measure the CPU time of the diagnosis, in a session and in a watched script.",
    ),
    "independent": Benchmark(
        "tests.benchmarks.independent:compare",
        {"seconds": 5.0, "rounds": 1},
        "Compare two independent learners in parallel processes with the same learners in one process.",
    ),
    "poker": Benchmark(
        "tests.benchmarks.poker:compare_solvers",
        {"seconds": 0.5, "rounds": 1, "long": 1.0, "seeds": 1},
        "Compare iterations per second and NashConv with OpenSpiel and donksolver, and two workers with one.",
    ),
    "checkpoints": Benchmark(
        "tests.benchmarks.checkpoints:saving_cost",
        {"every": 4.0, "times": 1},
        "Measure how long a checkpoint pauses training, and how much checkpoints every 30 s slow it down.",
    ),
}
PARTS = {**OWN, **COMPARISONS}
