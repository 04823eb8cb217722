"""Is run as python -m, with the interpreter's options in the environment: -O and unbuffered."""
# module: train
# arguments: --lr 3e-4
# environment: PYTHONOPTIMIZE=1 PYTHONUNBUFFERED=1
import sys
import gymnasium as gym

env = gym.make("CartPole-v1")
env.reset(seed=0)
assert False, "assertions are off"
print(sys.argv[1:], __name__, __spec__.name, __debug__, __package__, sys.flags.optimize, sys.path[0] == "")
print(sum(env.step(step % 2)[1] for step in range(50)), sys.stdout.line_buffering or sys.stdout.write_through)
