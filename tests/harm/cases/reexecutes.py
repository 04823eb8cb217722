"""Starts itself again by os.execv, as scripts do that set variables for OpenGL; then starts itself as a subprocess."""
import os
import subprocess
import sys
import gymnasium as gym

if "GL" not in os.environ:
    os.environ["GL"] = "egl"
    print("again", flush=True)
    os.execv(sys.executable, [sys.executable, *sys.argv])
env = gym.make("CartPole-v1")
env.reset(seed=0)
print(sys.argv, sum(env.step(step % 2)[1] for step in range(30)), flush=True)
if len(sys.argv) == 1:
    done = subprocess.run([sys.executable, __file__, "child"], capture_output=True, text=True)
    print(done, sorted(name for name in os.environ if "PAC" in name or "PYTHON" in name))
    sys.exit(5)
