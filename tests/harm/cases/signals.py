"""Handlers of signals, an interval timer during the steps, a wakeup descriptor, masks."""
import os
import signal
import gymnasium as gym

before = {name: str(signal.getsignal(name)) for name in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGHUP, signal.SIGCHLD, signal.SIGPIPE, signal.SIGALRM)}
got = []
signal.signal(signal.SIGUSR1, lambda number, frame: got.append(("usr1", frame.f_code.co_name)))
signal.signal(signal.SIGTERM, lambda number, frame: got.append("term"))
ticks = 0


def tick(number, frame):
    global ticks
    ticks += 1


signal.signal(signal.SIGALRM, tick)
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
env = gym.make("CartPole-v1")
env.action_space.seed(0)
env.reset(seed=0)
total = 0.0
for step in range(3000):
    observation, _, terminated, truncated, _ = env.step(env.action_space.sample())
    total += float(observation[0])
    if terminated or truncated:
        env.reset()
    if step in {10, 500}:
        os.kill(os.getpid(), signal.SIGUSR1)
        os.kill(os.getpid(), signal.SIGTERM)
signal.setitimer(signal.ITIMER_REAL, 0)
env.close()
print(before, got, total, ticks > 0, signal.pthread_sigmask(signal.SIG_BLOCK, []), signal.set_wakeup_fd(-1), signal.getitimer(signal.ITIMER_REAL))
