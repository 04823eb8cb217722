"""Output without a newline, by os.write, logging, the C library, children; reads stdin; leaves text unfinished."""
import ctypes
import logging
import os
import subprocess
import sys
import gymnasium as gym

logging.basicConfig(level=logging.INFO, format="%(name)s %(levelname)s %(message)s")
env = gym.make("CartPole-v1")
env.reset(seed=0)
print("unfinished", end=" ", flush=True)
for step in range(40):
    env.step(step % 2)
    if step % 10 == 0:
        logging.info("step %d", step)
        os.write(1, b"by descriptor \xff\xfe\n")
libc = ctypes.CDLL(None)
libc.printf(b"from C %d\n", 3)
libc.fflush(None)
sys.stdout.flush()
subprocess.run(["echo", "from a child"], check=True)
print("encoding", sys.stdout.encoding, sys.stdout.errors, sys.stderr.encoding, sys.stdin.encoding)
for percent in range(0, 101, 25):
    print(f"\r{percent} %", end="", file=sys.stderr, flush=True)
print("\n日本語 é", file=sys.stderr)
print([logging.getLogger().handlers[0].stream is sys.stderr, len(logging.getLogger().handlers), logging.root.level])
print("line " * 200)
sys.stdout.write("the end, without a newline")
