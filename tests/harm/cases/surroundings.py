"""Prints what surrounds it: arguments, path, modules, environment, __main__, hooks, limits, open files, encodings."""
# arguments: --seed 1 file.txt
import atexit
import gc
import os
import resource
import sys
import gymnasium as gym

before = set(sys.modules)
env = gym.make("CartPole-v1")
env.reset(seed=0)
for _ in range(20):
    env.step(1)
print(sys.argv, sys.orig_argv[1:], sys.path, sys.flags, sys.warnoptions, sys._xoptions)
print(sorted(globals()), __name__, __file__, __spec__, __builtins__ is sys.modules["builtins"])
print({name: value for name, value in sorted(os.environ.items()) if name not in {"_", "SHLVL", "OLDPWD", "PWD"}})
print([hook for hook in (sys.excepthook, sys.displayhook, sys.unraisablehook, sys.breakpointhook) if not hook.__module__ == "sys"], sys.getrecursionlimit(), sys.getswitchinterval())
print(gc.isenabled(), gc.get_threshold(), gc.get_freeze_count(), gc.callbacks, gc.get_debug())
print({name: resource.getrlimit(getattr(resource, name)) for name in dir(resource) if name.startswith("RLIMIT_")})
print("sitecustomize" in sys.modules, "usercustomize" in sys.modules, "pac" in sys.modules, sorted(name for name in sys.modules if name.split(".")[0] in {"envs", "training", "backends", "tui", "psutil", "numba"}))
print(os.getcwd(), os.umask(0o22), os.nice(0), len(os.sched_getaffinity(0)) > 0)
