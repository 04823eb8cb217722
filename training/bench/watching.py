"""Measures the overhead of `watch`: the same training alternately with and without it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from .facts import Figures, Progress, summary_of
from .measured_process import MeasurementFailed
from .parts import WATCHED
from .terminal import drain, on_terminal
from .watch_startup import watch_startup

if TYPE_CHECKING:
    from ..watching.script import WatchedScript

NAME = "bench-watch"
NUM_ENVS, STEPS, REPLAY, EPOCHS = 8, 128, 10_000, 4
LIMIT = 120.0  # s in addition to the training time
Iterate = Callable[[], None]
Postpone = Callable[[float], None]
Loop = tuple[Any, Any, Callable[[Any], None]]
"""Environments without `watch`, the same with it, and a function that trains one iteration on either."""


def watch_cost(*, seconds: float = WATCHED, pairs: int = 7, progress: Progress) -> Figures:
    """Train in Gymnasium loops and with Stable-Baselines3, each without a viewer and with the app attached.

    A pair is `seconds` of training with `watch` and as many without, alternating after every iteration.

    Returns:
        By training and viewer: the ratio of steps/s with and without `watch`, per pair; and `startup`, what
        `watch_startup` returns.
    """
    ways = [(loop, attached) for loop in measurable() for attached in (False, True)]
    ratios: dict[str, dict[str, Figures]] = {}
    for number, (loop, attached) in enumerate(ways):
        who = "attached" if attached else "nobody"
        progress(f"{loop}, {who}", number / len(ways))
        ratios.setdefault(loop, {})[who] = summary_of(_measure(loop, seconds, pairs, attached=attached))
    progress("startup", 1.0)
    startup = watch_startup(pairs=pairs, progress=lambda _what, _share: None)
    return {"num_envs": NUM_ENVS, "seconds": seconds, "ratio": ratios, "startup": startup}


def measurable() -> list[str]:
    """Return the trainings that can be measured: that of Stable-Baselines3 only if it is installed."""
    return [name for name in LOOPS if name != "sb3" or find_spec("stable_baselines3") is not None]


def _measure(loop: str, seconds: float, pairs: int, *, attached: bool) -> list[float]:
    """Return the ratios of a training in its own process."""
    command = [sys.executable, "-m", __name__, loop, str(seconds), str(pairs), str(int(attached))]
    training = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    app, terminal = None, -1
    try:
        assert training.stdout
        training.stdout.readline()
        if attached:
            app, terminal = on_terminal([sys.executable, "-m", "pac.tui", "attach", str(training.pid)])
            threading.Thread(target=drain, args=(terminal,), daemon=True).start()
        out, said = training.communicate(timeout=2 * seconds * pairs + LIMIT)
        if training.returncode:
            raise MeasurementFailed(f"the training failed:\n{said.strip()}")
        return [float(ratio) for ratio in json.loads(out)]
    finally:
        training.kill()
        training.wait()
        if app is not None:
            app.wait(LIMIT)
            os.close(terminal)


def turns(iterate: dict[bool, Iterate], seconds: float, pairs: int, *, postpone: Postpone) -> Iterator[float]:
    """Iterate alternately with and without `watch`; yield the ratio of the speeds of each pair.

    They alternate after every iteration, because the speed of a core changes within tenths of a second.
    """
    for _ in range(pairs):
        spent, done = {False: 0.0, True: 0.0}, {False: 0, True: 0}
        while min(spent.values()) < seconds:
            first = spent[False] > spent[True]
            for watched in (first, not first):
                begin = time.perf_counter()
                iterate[watched]()
                took = time.perf_counter() - begin
                spent[watched] += took
                done[watched] += 1
                if not watched:
                    postpone(took)
        yield (done[True] / spent[True]) / (done[False] / spent[False])


def _postpone(script: WatchedScript, seconds: float) -> None:
    """Postpone all periodic work of `watch` by the time of a turn without it.

    Publishing may use a share of the training's time. Otherwise the turns with `watch` would also do the work that
    became due in the turns without it.
    """
    script.step_log.due += seconds
    script._iteration_due += seconds  # noqa: SLF001
    script._boards._paid += seconds  # noqa: SLF001
    script.monitor.publisher.due += seconds


def gymnasium_loop() -> Loop:
    """An actor-critic in the style of CleanRL, with environments that render."""
    import gymnasium
    import torch
    from torch import nn

    from ..watching import watch

    bare = gymnasium.make_vec("CartPole-v1", num_envs=NUM_ENVS, vectorization_mode="sync", render_mode="rgb_array")
    watched = watch(bare, name=NAME)
    actor = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2))
    optimizer = torch.optim.Adam(actor.parameters(), lr=1e-3)
    state: list[Any] = [watched.reset(seed=1)[0]]

    def iterate(envs: Any) -> None:
        log_probs, rewards = [], []
        for _ in range(STEPS):
            policy: Any = torch.distributions.Categorical(logits=actor(torch.as_tensor(state[0], dtype=torch.float32)))
            action = policy.sample()
            state[0], reward, *_ = envs.step(action.numpy())
            log_probs.append(policy.log_prob(action))
            rewards.append(torch.as_tensor(reward, dtype=torch.float32))
        returns = torch.stack(rewards).flip(0).cumsum(0).flip(0)
        loss: Any = -(torch.stack(log_probs) * (returns - returns.mean())).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if envs is watched:
            watch.log({"loss": loss})

    return bare, watched, iterate


def sb3_loop() -> Loop:
    """PPO of Stable-Baselines3 with its default settings except for the length of a rollout."""
    import gymnasium
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import DummyVecEnv

    from ..watching import watch

    bare = DummyVecEnv([lambda: gymnasium.make("CartPole-v1")] * NUM_ENVS)
    watched = watch(bare, name=NAME)
    model = PPO("MlpPolicy", watched, n_steps=STEPS, device="cpu", seed=1)
    _, callback = model._setup_learn(10**9, watch.sb3_callback())  # noqa: SLF001 - `learn` cannot be left in between
    callback.on_training_start({}, {})

    def iterate(envs: Any) -> None:
        model.collect_rollouts(envs, callback, model.rollout_buffer, STEPS)
        if envs is watched:
            model.dump_logs(1)
        model.train()

    return bare, watched, iterate


def unchanged_vector_loop() -> Loop:
    """A small PPO with a vector environment, as `pac-tui watch` finds it: the script does not call `watch`."""
    import gymnasium
    import torch
    from torch import nn

    from ..watching.hooked_envs import vector_env_methods
    from ..watching.interception import intercept_instances, making

    make = partial(gymnasium.make_vec, "CartPole-v1", num_envs=NUM_ENVS, vectorization_mode="sync")
    intercept_instances(gymnasium.vector.VectorEnv, vector_env_methods)
    with making():
        bare = make()
    watched = make()
    actor = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 2))
    critic = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 1))
    optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=2.5e-4)
    seen, actions = torch.zeros(STEPS, NUM_ENVS, 4), torch.zeros(STEPS, NUM_ENVS, dtype=torch.long)
    log_probs, rewards = torch.zeros(STEPS, NUM_ENVS), torch.zeros(STEPS, NUM_ENVS)
    newest = {False: bare.reset(seed=1)[0], True: watched.reset(seed=1)[0]}

    def iterate(envs: Any) -> None:
        way = envs is watched
        for step in range(STEPS):
            seen[step] = torch.as_tensor(newest[way])
            with torch.no_grad():
                policy: Any = torch.distributions.Categorical(logits=actor(seen[step]))
                actions[step] = policy.sample()
                log_probs[step] = policy.log_prob(actions[step])
            newest[way], reward, *_ = envs.step(actions[step].numpy())
            rewards[step] = torch.as_tensor(reward)
        returns = rewards.flip(0).cumsum(0).flip(0)
        for _ in range(EPOCHS):
            policy = torch.distributions.Categorical(logits=actor(seen))
            values = critic(seen).squeeze(-1)
            advantages = (returns - values).detach()
            ratio = (policy.log_prob(actions) - log_probs).exp()
            clipped = torch.minimum(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages)
            loss = 0.5 * (values - returns).square().mean() - clipped.mean() - 0.01 * policy.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    iterate(watched)  # opens the session
    return bare, watched, iterate


def unchanged_loop() -> Loop:
    """DQN with a single environment, as `pac-tui watch` finds it: the script does not call `watch`."""
    import gymnasium
    import torch
    from torch import nn

    from ..watching.hooked_envs import env_methods
    from ..watching.interception import intercept_instances, making

    intercept_instances(gymnasium.Env, env_methods)
    with making():
        bare = gymnasium.make("CartPole-v1")
    watched = gymnasium.make("CartPole-v1")
    network = nn.Sequential(nn.Linear(4, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 2))
    optimizer = torch.optim.Adam(network.parameters(), lr=2.5e-4)
    seen, following = torch.zeros(REPLAY, 4), torch.zeros(REPLAY, 4)
    actions, rewards = torch.zeros(REPLAY, 1, dtype=torch.long), torch.zeros(REPLAY)
    noted = {False: 0, True: 0}
    newest = {False: bare.reset(seed=1)[0], True: watched.reset(seed=1)[0]}

    def iterate(env: Any) -> None:
        way = env is watched
        for _ in range(STEPS):
            at = noted[way] % REPLAY
            noted[way] += 1
            before = torch.as_tensor(newest[way])
            with torch.no_grad():
                action = int(network(before[None]).argmax(1)[0])
            observation, reward, terminated, truncated, _ = env.step(action)
            seen[at], following[at] = before, torch.as_tensor(observation)
            actions[at, 0], rewards[at] = action, float(reward)
            newest[way] = env.reset()[0] if terminated or truncated else observation
            if noted[way] % 10 == 0:
                rows = torch.randint(REPLAY, (128,))
                wanted = rewards[rows] + 0.99 * network(following[rows]).detach().amax(1)
                loss = (network(seen[rows]).gather(1, actions[rows]).squeeze(1) - wanted).square().mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

    iterate(watched)  # opens the session
    return bare, watched, iterate


LOOPS = {"gymnasium": gymnasium_loop, "ppo": unchanged_vector_loop, "dqn": unchanged_loop, "sb3": sb3_loop}


def main() -> None:
    """Train with the options in the arguments, and print the ratios."""
    import torch

    loop, seconds, pairs, attached = sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "1"
    torch.set_num_threads(1)
    bare, watched, train = LOOPS[loop]()
    iterate: dict[bool, Iterate] = {False: partial(train, bare), True: partial(train, watched)}
    print("ready", flush=True)
    # Not from `vars`: Python would then look up every attribute of the watched environments in a dictionary.
    script: WatchedScript = getattr(watched, "_watch" if loop in {"gymnasium", "sb3"} else "_pac_watch").script
    viewers = script.viewers  # the measurement starts when a viewer is connected
    limit = time.monotonic() + LIMIT
    while attached and not viewers.joined and time.monotonic() < limit:
        iterate[True]()
    iterate[False]()
    ratios = list(turns(iterate, seconds, pairs, postpone=partial(_postpone, script)))
    if attached and not viewers.joined:
        raise MeasurementFailed("no viewer connected until the end")
    print(json.dumps(ratios))
    watched.close()


if __name__ == "__main__":
    main()
