"""Atari games as they are prepared for learning."""

from typing import Any

import gymnasium
import numpy as np
import pytest

ale_py = pytest.importorskip("ale_py")

from pac.envs.gym.atari import AtariGame  # noqa: E402

STEPS = 60


def game(repeats: float = 0.25) -> AtariGame:
    """Return a Breakout."""
    arguments: Any = {"frameskip": 1, "obs_type": "grayscale", "repeat_action_probability": repeats}
    return AtariGame(gymnasium.make("ALE/Breakout-v5", **arguments))


def played(env: AtariGame, seed: int) -> list[tuple[int, float]]:
    """Return what is seen and gained in an episode of random actions."""
    generator = np.random.default_rng(seed)
    seen = [(hash(env.reset(seed=seed)[0].tobytes()), 0.0)]
    for _ in range(STEPS):
        picture, reward, terminated, truncated, _ = env.step(generator.integers(4))
        seen.append((hash(picture.tobytes()), reward))
        if terminated or truncated:
            break
    return seen


def test_an_episode_depends_on_its_seed_only():
    """Not on what was played before, which the emulator keeps in part; other seeds give other episodes."""
    env, other = game(), game()
    first, second = played(env, 1), played(env, 2)
    assert first != second
    assert played(other, 2) == second
    assert played(other, 1) == first
    assert played(env, 1) == first


def taken(env: AtariGame, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the actions of the frames in which 0 and 3 were chosen alternately for a frame each."""
    found: list[int] = []
    step = env.env.step

    def noted(action: Any) -> Any:
        found.append(int(action))
        return step(action)

    monkeypatch.setattr(env.env, "step", noted)
    env.reset(seed=3)
    begun = len(found)
    for number in range(2 * STEPS):
        env._frame(3 * (number % 2))
    return found[begun:]


def test_as_many_actions_are_repeated_as_the_game_wants(monkeypatch):
    """A quarter of the frames repeat the action before, or none does; the emulator adds no repetitions of its own."""
    chosen = [3 * (number % 2) for number in range(2 * STEPS)]
    sticky, plain = taken(game(), monkeypatch), taken(game(0.0), monkeypatch)
    assert plain == chosen
    kept = np.mean([one != other for one, other in zip(sticky, chosen, strict=True)])
    assert 0.1 < kept < 0.4
    env = game()
    env.reset(seed=1)
    ale: Any = env.unwrapped
    assert ale.ale.getFloat("repeat_action_probability") == 0
