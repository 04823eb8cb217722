"""Describes any Gymnasium environment, and any parallel one of PettingZoo, as a task."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import itemgetter
from types import MappingProxyType
from typing import Any, TypeAlias

import gymnasium
import numpy as np

from ..errors import BadParameter
from ..fields import Field
from ..panels import Panel
from ..processes import ending_processes
from ..signals import kept_signals
from ..task import Outcome, Task
from .board import board_of
from .infos import numbers_in
from .making import create, drawing_modes, import_environment, is_parallel, literal
from .spaces import ObservationWriter, UnsupportedSpaces, describe_actions, writer_of
from .states import NotStorable, state_size

CONTROL = {
    "learning_rate": 1e-3,
    "gamma": 0.99,
    "gae_lambda": 0.95,
    "entropy_coefficient": 0.005,
    "batch": 2048,
    "epochs": 8,
    "minibatch": 512,
}
"""Settings that small control tasks learn with in a minute."""
PICTURES = {
    **CONTROL,
    "learning_rate": 2.5e-4,
    "entropy_coefficient": 0.01,
    "batch": 1024,
    "epochs": 3,
    "minibatch": 256,
}
"""Settings for observations that cost more to look at than to step to."""
LARGE = 32
"""A picture with sides longer than this is one of those."""
MaskReader: TypeAlias = Callable[[Mapping[str, Any]], Any]


def describe(spec: str, name: str, params: Mapping[str, str]) -> Task:
    """Describe an environment by making one and looking at its first observation; end the processes that it started.

    Args:
        spec: The whole text that the task was asked for by.
        name: `CartPole-v1` or another registered id, or `my_pkg.my_module:MyEnv`, a class or callable that the working
            directory or the installation has.
        params: Keyword arguments of the environment, as text.

    Raises:
        NoSuchEnvironment: Nothing has that name.
        UnsupportedSpaces: The actions or observations are of no kind that can be trained on.
        BadParameter: The environment refused its arguments or failed at its start.
    """
    values = {key: literal(text) for key, text in params.items()}
    import_environment(name)  # what its module starts serves all of its environments
    with ending_processes(), kept_signals():
        modes, note = drawing_modes(name, values), ""
        look = _probe(name, values, modes[0] if modes else None)
        for mode in (*modes[1:], None):
            if look.trouble:
                note = note or f"{name} cannot draw itself as it would: {look.trouble}"
                look = _probe(name, values, mode)
    return Task(
        spec=spec,
        name=name,
        title=_title(name),
        factory="pac.envs.gym.parallel:ParallelEnvironments"
        if look.parallel
        else "pac.envs.gym.adapter:GymEnvironments",
        observation=look.writer.item,
        slices=MappingProxyType(dict(look.writer.slices)),
        **look.actions,
        masked=look.masked,
        players=look.players,
        outcomes=(Outcome("terminated", "neutral"), Outcome("truncated", "neutral")),
        info=tuple(Field(name, "float32", per="seat" if look.parallel else "env") for name in look.info),
        panels=(look.panel,),
        boards=(look.board, Field("looked_at", "uint8", timed=False)),
        state=Field("state", "uint8", (look.state_bytes,), timed=False) if look.state_bytes else None,
        saves=bool(look.state_bytes),
        values=MappingProxyType(values),
        settings=MappingProxyType({"ppo": MappingProxyType(_settings(look))}),
        note=". ".join(
            filter(None, (note, look.forgets and f"{name} offers states that are not kept: {look.forgets}"))
        ),
    )


def _title(name: str) -> str:
    """Return the last part of a name, the module's where that is what PettingZoo calls all of its environments."""
    module, _, last = name.rpartition(":")
    return module.rpartition(".")[2] if module and last == "parallel_env" else last.rpartition("/")[2]


def mask_reader(env: gymnasium.Env[Any, Any], info: Mapping[str, Any], count: int) -> MaskReader | None:
    """Return how to learn which of `count` actions are legal: `info["action_mask"]`, `env.action_masks()`, or no way.

    Raises:
        BadParameter: The mask of now has another number of elements.
    """
    reader: MaskReader = itemgetter("action_mask")
    if "action_mask" not in info:
        if not env.has_wrapper_attr("action_masks"):
            return None
        masks = env.get_wrapper_attr("action_masks")
        reader = lambda _: masks()  # noqa: E731
    now = reader(info)
    flat_mask(now, count)
    # Most give their masks as they are stored, and are read at every step.
    plain = getattr(now, "shape", None) == (count,)
    return reader if plain else lambda info: flat_mask(reader(info), count)


def flat_mask(mask: Any, count: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return a mask as `(count,)` bools; of several components, those of each may stand in a tuple.

    Raises:
        BadParameter: It has another number of elements.
    """
    parts = mask if isinstance(mask, tuple) else (mask,)
    flat = np.concatenate([np.asarray(part, np.bool_).ravel() for part in parts])
    if len(flat) != count:
        raise BadParameter(f"an action mask has one element per action, {count} were expected and {len(flat)} came")
    return flat


@dataclass(frozen=True)
class _ProbeResult:
    """What one environment showed of itself.

    `trouble` says why it could not be drawn as it was asked to, `forgets` why the states that it offers are not kept.
    """

    writer: ObservationWriter
    actions: Mapping[str, Any]
    masked: bool
    players: int
    parallel: bool
    panel: Panel
    board: Field
    info: tuple[str, ...]
    trouble: str = ""
    state_bytes: int = 0
    forgets: str = ""


def _probe(name: str, values: Mapping[str, Any], mode: str | None) -> _ProbeResult:
    """Make an environment, begin an episode, draw it, close it."""
    env = create(name, values, mode)
    try:
        parallel = is_parallel(env)
        agents = list(env.possible_agents) if parallel else []
        actions, observations = (
            _common_spaces(name, env, agents) if parallel else (env.action_space, env.observation_space)
        )
        facts, writer = describe_actions(name, actions), writer_of(name, observations)
        try:
            first, info = env.reset(seed=0)
        except Exception as error:
            raise BadParameter(f"{name} failed at its first reset: {type(error).__name__}: {error}") from error
        if parallel:
            first, info = first[agents[0]], info.get(agents[0], {})
        seen = np.zeros(writer.item.stored_shape, writer.item.dtype)
        writer.write(first, seen)
        masked = "bounds" not in facts and (
            "action_mask" in info if parallel else mask_reader(env, info, facts["num_actions"]) is not None
        )
        drawn, trouble = None, ""
        if getattr(env, "render_mode", None) in {"rgb_array", "ansi"}:
            try:
                drawn = env.render()
                board_of(drawn, writer)
            except Exception as error:
                drawn, trouble = None, str(error)
        panel, board = board_of(drawn, writer)
        told = numbers_in(info)
        shown = (seen, np.zeros(facts["num_actions"], np.bool_), np.zeros(len(told), np.float32))
        state_bytes, forgets = _offered_state(env, shown)
    finally:
        env.close()
    players = max(1, len(agents))
    return _ProbeResult(writer, facts, masked, players, parallel, panel, board, told, trouble, state_bytes, forgets)


def _offered_state(env: Any, shown: Any) -> tuple[int, str]:
    """Return the bytes to keep free for a state, 0 where none can be kept, and why not if one is offered."""
    try:
        return state_size(env, shown), ""
    except NotStorable as error:
        return 0, str(error)
    except Exception as error:
        return 0, f"{type(error).__name__}: {error}"


def _settings(look: _ProbeResult) -> dict[str, Any]:
    """Return what PPO should begin with; a bonus for entropy would only widen what is drawn of a continuous action."""
    shape = look.writer.item.shape
    picture = look.writer.item.dtype == "uint8" and len(shape) > 1 and sorted(shape)[-2] > LARGE
    settings = PICTURES if picture else CONTROL
    return {**settings, "entropy_coefficient": 0.0} if "bounds" in look.actions else dict(settings)


def _common_spaces(name: str, env: Any, agents: list[Any]) -> tuple[Any, Any]:
    """Return the spaces that all agents share."""
    actions, observations = ([of(agent) for agent in agents] for of in (env.action_space, env.observation_space))
    for what, spaces in (("actions", actions), ("observations", observations)):
        for agent, space in zip(agents, spaces, strict=True):
            if space != spaces[0]:
                raise UnsupportedSpaces(
                    f"{name} has {what} {spaces[0]} for {agents[0]} and {space} for {agent}; one policy plays all "
                    "seats, so make them alike, for instance by padding"
                )
    return actions[0], observations[0]
