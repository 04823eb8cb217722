"""Describes any Gymnasium environment, and any parallel environment of PettingZoo, as a task."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import Any, TypeAlias

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete

from ..errors import BadParameter, DoesNotFit
from ..family import literal
from ..fields import Field
from ..panels import Panel
from ..recommended import default_trainer, recommended
from ..spaces.actions import UnsupportedSpaces, describe_actions
from ..spaces.drawing import large_picture
from ..spaces.infos import numbers_in, values_in, with_room
from ..spaces.names import agent_names, names_of
from ..specs import split_wrappers
from ..task import Outcome, Task
from .adapted import RESULT_OF_RESET, is_of_caller
from .board import board_of
from .making import closed, create, drawing_modes, is_parallel
from .spaces import ObservationWriter, writer_of
from .states import NotStorable, state_size
from .wrapping import default_wrappers, resolved, score_of, value_ends

MaskReader: TypeAlias = Callable[[Mapping[str, Any]], Any]


@dataclass(frozen=True)
class DescribedTask:
    """What one attempt to describe an environment has found.

    Attributes:
        undrawn: Why it cannot be drawn as it was tried; empty if it was drawn, or if that was not tried.
    """

    task: Task
    undrawn: str


def describe(
    spec: str,
    name: str,
    params: Mapping[str, str],
    *,
    attempt: int = 0,
    note: str = "",
    steps: bool = True,
    on_mode: Callable[[str | None], object] = lambda _mode: None,
) -> DescribedTask:
    """Describe an environment by creating, resetting and drawing one.

    Args:
        spec: The spec of the task.
        name: `CartPole-v1` or another registered id, or `my_pkg.my_module:MyEnv`, a class or callable that can be
            imported from the working directory or the installed packages.
        params: Keyword arguments of the environment, as text.
        attempt: Which of its render modes to use; after them, it is not drawn.
        note: What users should know of earlier attempts.
        steps: Whether to make a step, to see which numbers its info has.
        on_mode: Called with the mode, before the environment is created.

    Raises:
        NoSuchEnvironment: No environment has that name.
        UnsupportedSpaces: The kind of action or observation space is not supported.
        BadParameter: The environment does not take its arguments, or its creation or first reset failed.
    """
    values = {key: literal(text) for key, text in params.items()}
    modes = (*drawing_modes(name, values), None)
    on_mode(mode := modes[min(attempt, len(modes) - 1)])
    given = split_wrappers(spec)[1]
    wrappers = resolved(given or default_wrappers(name, values))
    try:
        look = _probe(name, values, mode, wrappers, steps=steps)
    except DoesNotFit:
        if given:
            raise
        wrappers = ()  # somebody's own environment with an id like that of others
        look = _probe(name, values, mode, wrappers, steps=steps)
    unsaved = f"the states of {name} are not saved: {look.unsaved}" if look.unsaved else ""
    advice = recommended(name, look.writer.item, continuous="bounds" in look.actions, wrapped=bool(wrappers))
    task = Task(
        spec=spec,
        name=name,
        title=_title(name),
        factory="pac.envs.gym.parallel:ParallelEnvironments"
        if look.parallel
        else "pac.envs.gym.adapter:GymEnvironments",
        observation=look.writer.item,
        slices=look.writer.slices,
        **look.actions,
        agents=look.agents,
        masked=look.masked,
        players=look.players,
        outcomes=(Outcome("terminated", "neutral"), Outcome("truncated", "neutral")),
        info=tuple(Field(name, "float32", per="seat" if look.parallel else "env") for name in look.info),
        panels=(look.panel,),
        boards=(look.board, Field("looked_at", "uint8", timed=False)),
        large=large_picture(look.panel, look.board),
        state=Field("state", "uint8", (look.state_bytes,), timed=False) if look.state_bytes else None,
        saves=bool(look.state_bytes),
        values=values,
        wrappers=wrappers,
        value_ends=look.value_ends,
        own_score=look.score,
        trainer=default_trainer(name),
        settings={name: of.settings for name, of in advice.items()},
        settings_for={name: of.source for name, of in advice.items()},
        note=". ".join(
            filter(
                None,
                (
                    note,
                    _unread(name, look.writer.ignored),
                    look.left_out,
                    unsaved,
                    *_about_wrappers(name, values, given, wrappers, look),
                    advice["ppo"].note,
                ),
            )
        ),
    )
    return DescribedTask(task, look.render_error)


def _about_wrappers(
    name: str, values: Mapping[str, Any], given: Sequence[str], wrappers: Sequence[str], look: _ProbeResult
) -> Iterator[str]:
    standard = default_wrappers(name, values)
    if standard and not given and wrappers:
        yield f"{name} is wrapped by --wrap {' '.join(standard)}, as is usual; --wrap none leaves it as it is"
    elif standard and given and not wrappers:
        yield f"without wrappers, {name} is slow, and hardly learned: --wrap {' '.join(standard)} is the default"
    if look.score:
        yield "rewards are changed for the learner only: the returns shown are the environment's own score"


def _unread(name: str, ignored: Sequence[str]) -> str:
    return f"the text in the observations of {name} is not read: {', '.join(ignored)}" if ignored else ""


def _title(name: str) -> str:
    """Return the last part of a name; for PettingZoo's `parallel_env`, the last part of its module."""
    module, _, last = name.rpartition(":")
    return module.rpartition(".")[2] if module and last == "parallel_env" else last.rpartition("/")[2]


def mask_reader(env: gymnasium.Env[Any, Any], info: Mapping[str, Any], count: int) -> MaskReader | None:
    """Return a function that reads the mask of `count` actions, from the info or `env.action_masks()`; None if neither.

    Raises:
        BadParameter: The current mask has another number of elements.
    """
    reader: MaskReader = itemgetter("action_mask")
    if "action_mask" not in info:
        if not env.has_wrapper_attr("action_masks"):
            return None
        masks = env.get_wrapper_attr("action_masks")
        reader = lambda _: masks()  # noqa: E731
    now = reader(info)
    flat_mask(now, count)
    # Most masks need no conversion, which would cost time at every step.
    plain = getattr(now, "shape", None) == (count,)
    return reader if plain else lambda info: flat_mask(reader(info), count)


def flat_mask(mask: Any, count: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return a mask as `(count,)` bools; the mask of several components may be a tuple.

    Raises:
        BadParameter: The mask has another number of elements.
    """
    parts = mask if isinstance(mask, tuple) else (mask,)
    flat = np.concatenate([np.asarray(part, np.bool_).ravel() for part in parts])
    if len(flat) != count:
        raise BadParameter(f"an action mask has one element per action: expected {count}, got {len(flat)}")
    return flat


@dataclass(frozen=True)
class _ProbeResult:
    """What was found out about an environment.

    `render_error` is why it cannot be rendered, `left_out` which numbers of its infos are not shown, and `unsaved` why
    its states are not saved. Each is empty if there is no reason.
    """

    writer: ObservationWriter
    actions: Mapping[str, Any]
    masked: bool
    players: int
    agents: tuple[str, ...]
    parallel: bool
    panel: Panel
    board: Field
    info: tuple[str, ...]
    left_out: str = ""
    render_error: str = ""
    state_bytes: int = 0
    unsaved: str = ""
    value_ends: str = ""
    score: bool = False


def _probe(
    name: str, values: Mapping[str, Any], mode: str | None, wrappers: Sequence[str], *, steps: bool
) -> _ProbeResult:
    with closed(create(name, values, mode, wrappers)) as env:
        parallel = is_parallel(env)
        agents = list(env.possible_agents) if parallel else []
        actions, observations = (
            _common_spaces(name, env, agents) if parallel else (env.action_space, env.observation_space)
        )
        facts, writer = describe_actions(name, actions), writer_of(name, observations)
        if not parallel:
            named, writer.slices = _named(facts, writer, env)
            facts.update(named)
        try:
            first, infos = env.reset(seed=0)
        except Exception as error:
            must = f" (it must return, {RESULT_OF_RESET})" if is_of_caller(error) else ""
            raise BadParameter(f"{name} failed at its first reset: {type(error).__name__}: {error}{must}") from error
        first, info = (first[agents[0]], infos.get(agents[0], {})) if parallel else (first, infos)
        seen = np.zeros(writer.item.stored_shape, writer.item.dtype)
        writer.write(first, seen)
        masked = "bounds" not in facts and (
            "action_mask" in info if parallel else mask_reader(env, info, facts["num_actions"]) is not None
        )
        drawn, render_error = None, ""
        if getattr(env, "render_mode", None) in {"rgb_array", "ansi"}:
            try:
                drawn = env.render()
                board_of(drawn, writer)
            except Exception as error:
                drawn, render_error = None, str(error) or type(error).__name__
        panel, board = board_of(drawn, writer)
        stepped = _info_of_a_step(env, agents, info) if steps else {}
        scalars, left_out = with_room(numbers_in(chain(values_in(info), values_in(stepped))))
        shown = (seen, np.zeros(facts["num_actions"], np.bool_), np.zeros(len(scalars), np.float32))
        state_bytes, unsaved = _offered_state(env, shown)
        ends = value_ends(env) if value_ends(env) in scalars else ""
        score = score_of(env) is not None
    players = max(1, len(agents))
    return _ProbeResult(
        writer,
        facts,
        masked,
        players,
        agent_names(agents),
        parallel,
        panel,
        board,
        scalars,
        left_out,
        render_error,
        state_bytes,
        unsaved,
        ends,
        score,
    )


def _named(
    facts: Mapping[str, Any], writer: ObservationWriter, env: Any
) -> tuple[Mapping[str, Any], Mapping[str, tuple[int, int]]]:
    """Return the names of actions as a field of the task, and named parts of observations, where they are known."""
    continuous = "bounds" in facts
    layers, slices = [env], writer.slices
    while isinstance(layers[-1], gymnasium.Wrapper):
        layers.append(layers[-1].env)
    spec = layers[-1].spec
    env_id, count = spec.id if spec else "", facts["num_actions"]
    names = names_of(env_id, layers, count, writer.item.shape, continuous=continuous, asks=True)
    known = not names.actions or "choices" in facts or "component_names" in facts
    named = {} if known else {"component_names" if continuous else "action_names": names.actions}
    return named, slices or names.slices


def _info_of_a_step(env: Any, agents: Sequence[Any], info: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the info of a first step, which often has more numbers than that of a reset; reset again.

    It is empty if the step fails: the training will say why, if its own first step does.
    """
    try:
        if agents:
            spaces = {agent: env.action_space(agent) for agent in env.agents}
            found: Mapping[str, Any] = env.step({agent: _sample(space, {}) for agent, space in spaces.items()})[-1]
            found = found.get(agents[0], {})
        else:
            found = env.step(_sample(env.action_space, info))[-1]
        env.reset(seed=0)
    except (Exception, SystemExit):
        return {}
    return found if isinstance(found, Mapping) else {}


def _sample(space: Any, info: Mapping[str, Any]) -> Any:
    """Return an action that is the same each time, and legal if the info says which are."""
    space.seed(0)
    mask = info.get("action_mask")
    return (
        int(np.flatnonzero(mask)[0]) + int(space.start)
        if isinstance(space, Discrete) and mask is not None
        else space.sample()
    )


def _offered_state(env: Any, shown: Any) -> tuple[int, str]:
    """Return the bytes to reserve for a state, 0 if it cannot be saved, and the reason."""
    try:
        return state_size(env, shown), ""
    except NotStorable as error:
        return 0, str(error)
    except Exception as error:
        return 0, f"{type(error).__name__}: {error}"


def _common_spaces(name: str, env: Any, agents: list[Any]) -> tuple[Any, Any]:
    actions, observations = ([of(agent) for agent in agents] for of in (env.action_space, env.observation_space))
    for what, spaces in (("actions", actions), ("observations", observations)):
        for agent, space in zip(agents, spaces, strict=True):
            if space != spaces[0]:
                raise UnsupportedSpaces(
                    f"{name} has {what} {spaces[0]} for {agents[0]} and {space} for {agent}; one policy plays all "
                    "seats, so make them alike, for instance by padding"
                )
    return actions[0], observations[0]
