"""Replaces, redirects and closes its streams, by Python and by descriptor, and changes its directory and environment."""
import contextlib
import io
import os
import sys
import gymnasium as gym

env = gym.make("CartPole-v1")
env.reset(seed=0)
print("one", sum(env.step(0)[1] for _ in range(5)))
buffer = io.StringIO()
with contextlib.redirect_stdout(buffer), contextlib.redirect_stderr(buffer):
    env.reset()
    print("two", sum(env.step(1)[1] for _ in range(5)))
    gym.make("CartPole-v1").reset()
print(repr(buffer.getvalue()), flush=True)
saved = os.dup(1)
os.dup2(os.open("out.txt", os.O_WRONLY | os.O_CREAT), 1)
print("in the file", env.step(0)[1], flush=True)
os.dup2(saved, 1)
os.mkdir("elsewhere")
os.chdir("elsewhere")
os.environ.clear()
other = gym.make("CartPole-v1")
other.reset(seed=4)
print("three", other.step(1)[0].tolist(), os.listdir("."), dict(os.environ), flush=True)
os.chdir("..")
os.rmdir("elsewhere")
sys.stdout.close()
sys.stdout = open("late.txt", "w")
print("late", env.step(0)[1])
sys.stderr.write("last\n")
sys.stderr.close()
sys.stderr = None
env.step(0)
env.close()
