"""The interfaces of environments that are watched: what the calls of each library's objects mean."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from time import perf_counter
from types import ModuleType
from typing import Any, TypeAlias

from . import groups
from .after_import import Hook
from .facts import chain, fact, id_of, kind_of, stored
from .followed import CannotWatch, Followed, action_of
from .intercept import Noter, follow_instances, here

AnyArgs: TypeAlias = tuple[Any, ...]
AnyKwargs: TypeAlias = Mapping[str, Any]
FIVE = 5
LAST_OBSERVATIONS = ("final_obs", "final_observation")
"""Keys of infos for the last observations of episodes whose environments were reset in the same step."""
NEXT, SAME, BY_HAND = "NextStep", "SameStep", "Disabled"
"""When a vector environment resets, by the values of Gymnasium's `AutoresetMode`."""


class SingleEnv(Followed):
    """A `gymnasium.Env`: a single environment, or a batch of several with arrays of rewards and flags."""

    drawer: Callable[[], Any] | None = None

    def kind(self, env: Any) -> str:
        """Return its class and its id."""
        return f"{kind_of(env)} {id_of(env)}"

    def first(self, args: AnyArgs, kwargs: AnyKwargs, result: Any) -> tuple[Any, Any]:  # noqa: ARG002
        """Return what a reset returned; in the old interface, only an observation."""
        if isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], Mapping | None):
            return result[0], result[1] or {}
        return result, {}

    def noter(self, log: Any) -> Noter:
        return log.noter(self.row, self.after)  # type: ignore[no-any-return]

    def wait_before(self, name: str, args: AnyArgs, kwargs: AnyKwargs) -> None:
        if name == "step":
            self.log.wait_for(self.row, action_of(args, kwargs))  # type: ignore[union-attr]

    def note(self, name: str, args: AnyArgs, kwargs: AnyKwargs, result: Any, entered: float) -> None:
        if name != "step":
            return
        if self.log is None:
            self._open(args[0], result)  # which may find that it is a batch
            self.note(name, args, kwargs, result, entered)
            return
        log: Any = self.log
        observation, reward, terminated, truncated, info = result
        resets = here.thread.resets
        end = (1 if terminated else 2 if truncated else 0) if resets else 0
        begun = resets and not end and log.settle(self.row)  # it reset itself in place of a step, after an end
        action = action_of(args, kwargs)
        log.note(self.row, action, entered, observation, reward, terminated, truncated, info, end, stepped=not begun)

    def begin(self, observations: Any, infos: Any, args: AnyArgs, kwargs: AnyKwargs) -> None:  # noqa: ARG002
        self.log.begin(self.row, observations)  # type: ignore[union-attr]
        self.log.seeded(self.row, kwargs.get("seed"))  # type: ignore[union-attr]

    def join_session(self, env: Any, result: Any) -> Any:
        """Open the session of its group, or join it."""
        from .row_log import RowLog
        from .script import ShownEnvs
        from .step_log import small_kind

        if not isinstance(result, tuple | list) or len(result) != FIVE:
            given = f"{len(result)} values" if isinstance(result, tuple | list) else "one value"
            raise CannotWatch(
                f"its step returned {given}, and watching needs Gymnasium's five: observation, reward, terminated, "
                "truncated, info"
            )
        over, reward = host_array(result[2]), host_array(result[1])
        if over.ndim == 1 and (over.size > 1 or fact(env, "num_envs") is not None):
            self.__class__ = BatchedEnv  # type: ignore[assignment]
            return self.join_session(env, result)
        assert self.group is not None
        group, observation = self.group, self._first[0]
        small, parts = small_kind(observation), reward.size if reward.size > 1 else 0
        shown = ShownEnvs(
            kind=kind_of(env),
            task=id_of(env),
            actions=fact(env, "action_space"),
            render=None if self.draws(env) is None else lambda row: _draw(group, row),
            observation=observation,
            make_log=lambda num_envs, action: RowLog(num_envs, action, small, parts),
            parts=parts,
            layers=chain(env),
        )
        session, count = group.session, len(group.members)
        if session is None or count < session.step_log.rows or session.step_log.ended:
            session = groups.open_session(group, shown, count)
        log: Any = session.step_log
        log.grow(count)
        for member in group.members:
            if member.log is None and member.alive:
                log.begin(member.row, member._first[0], dropped=True, partial=member.partial)  # noqa: SLF001
                if member is not self:
                    member.attach(log)
        session.mark_new()
        session.find_numbers((self._first[1],))
        return log

    def draws(self, env: Any) -> Callable[[], Any] | None:
        """Return what draws the environment; None if it cannot be drawn."""
        from .rendering import render_of_env

        if self.drawer is None:
            self.drawer = render_of_env(env)
        return self.drawer

    def close(self) -> None:
        if self.log is not None:
            self.log.settle(self.row)  # type: ignore[attr-defined]
        super().close()


def _draw(group: Any, row: int) -> Any:
    """Draw an environment of a group; None if it is gone."""
    env = group.environment(row)
    drawer = None if env is None else group.members[row].draws(env)
    return None if drawer is None else group.members[row].draw(drawer)


class VectorEnv(Followed):
    """A vector environment of Gymnasium."""

    batch = True
    others: tuple[str, ...] = ("step_async", "step_wait")
    waits = frozenset({"step", "step_async"})
    _mask: Any = None
    _sent: Any = None

    def kind(self, env: Any) -> str:
        """Return its class and the id of its environments."""
        return f"{kind_of(env)} {vector_id(env)}"

    def before(self, name: str, args: AnyArgs, kwargs: AnyKwargs) -> None:
        """Wait before a step; remember which environments a reset is for, before Gymnasium takes that out."""
        if name == "reset":
            options = kwargs.get("options")
            self._mask = options.get("reset_mask") if isinstance(options, Mapping) else None
        elif name in self.waits:
            super().before(name, args, kwargs)

    def wait_before(self, name: str, args: AnyArgs, kwargs: AnyKwargs) -> None:  # noqa: ARG002
        self.log.wait_for(action_of(args, kwargs))  # type: ignore[union-attr]

    def noter(self, log: Any) -> Noter:
        return log.noter(self.after)  # type: ignore[no-any-return]

    def first(self, args: AnyArgs, kwargs: AnyKwargs, result: Any) -> tuple[Any, Any]:  # noqa: ARG002
        return result[0], result[1]

    def begin(self, observations: Any, infos: Any, args: AnyArgs, kwargs: AnyKwargs) -> None:  # noqa: ARG002
        """Note a reset of all environments, or of those of the mask."""
        seed = kwargs.get("seed")
        self.log.seeded(0, seed)  # type: ignore[union-attr]
        self.session.begin(self._mask)  # type: ignore[union-attr]
        self.log.begin(observations, self._mask)  # type: ignore[union-attr]

    def note(self, name: str, args: AnyArgs, kwargs: AnyKwargs, result: Any, entered: float) -> None:
        """Note a step, or one of its halves."""
        if name == "step_async":
            self._sent = action_of(args, kwargs), entered
            return
        if name == "step_wait":
            if self._sent is None:
                return
            (action, entered), self._sent = self._sent, None
        else:
            action = action_of(args, kwargs)
        log: Any = self.log or self._open(args[0], result)
        log.note(action, entered, *self.parts_of(result))

    def parts_of(self, result: Any) -> tuple[Any, ...]:
        """Return observations, rewards, terminations, truncations, infos, and last observations of a step."""
        observations, rewards, terminated, truncated, infos = result
        return observations, rewards, terminated, truncated, infos, _last_observations(infos)

    def join_session(self, env: Any, result: Any) -> Any:
        """Open the session, or continue that of the batch before."""
        from .large_log import batch_logs
        from .rendering import render_of_rows
        from .script import ShownEnvs

        assert self.group is not None
        observations, infos = self._first
        reset, count = self.resets(env), len(host_array(result[1]))
        shown = ShownEnvs(
            kind=kind_of(env),
            task=vector_id(env),
            actions=self.actions(env),
            render=render_of_rows(env),
            observation=_row_of(observations, count),
            make_log=batch_logs(observations, begins_later=reset == NEXT),
            begins_at_once=reset == SAME,
            begins_later=reset == NEXT,
            layers=layers_of(env),
            workers=workers_of(env),
        )
        before = self.group.session
        session = groups.open_session(self.group, shown, count)
        if before is not None and session is before:
            session.begin()
            session.mark_new()
        session.step_log.begin(observations)  # type: ignore[attr-defined]
        session.find_numbers(infos)
        return session.step_log

    def actions(self, env: Any) -> Any:
        """Return the space of one environment's actions; None if it is unknown."""
        return fact(env, "single_action_space")

    def resets(self, env: Any) -> str:
        """Return when it resets environments."""
        mode = (fact(env, "metadata") or {}).get("autoreset_mode")
        if mode is None:
            return NEXT if _is_of_version_one(env) else SAME
        plain = re.sub("[-_ ]", "", str(getattr(mode, "value", mode))).lower()
        found = next((each for each in (NEXT, SAME, BY_HAND) if each.lower() == plain), None)
        if found is None:
            raise CannotWatch(f"its autoreset_mode is {mode!r}: set one of gymnasium.vector.AutoresetMode")
        return found


class BatchedEnv(VectorEnv):
    """A `gymnasium.Env` that is a batch of several environments, which it resets in the step of an end."""

    others = ()

    def first(self, args: AnyArgs, kwargs: AnyKwargs, result: Any) -> tuple[Any, Any]:
        return SingleEnv.first(self, args, kwargs, result)  # type: ignore[arg-type]

    def resets(self, env: Any) -> str:  # noqa: ARG002
        return SAME


class VecEnv(VectorEnv):
    """A vector environment of Stable-Baselines3."""

    def noter(self, log: Any) -> Noter:  # noqa: ARG002
        """Return what notes a call: results have another form."""
        return self.after

    def first(self, args: AnyArgs, kwargs: AnyKwargs, result: Any) -> tuple[Any, Any]:  # noqa: ARG002
        return result, fact(args[0], "reset_infos") or ()

    def actions(self, env: Any) -> Any:
        return fact(env, "action_space")

    def parts_of(self, result: Any) -> tuple[Any, ...]:
        observations, rewards, dones, infos = result
        dones = host_array(dones)
        if not dones.any():
            return observations, rewards, dones, dones, infos, None
        truncated = dones.copy()
        truncated[:] = [
            over and bool(info.get("TimeLimit.truncated", False)) for over, info in zip(dones, infos, strict=True)
        ]
        last = [info.get("terminal_observation") for info in infos]
        return observations, rewards, dones & ~truncated, truncated, infos, last

    def resets(self, env: Any) -> str:  # noqa: ARG002
        return SAME


class ParallelEnv(Followed):
    """A parallel environment of PettingZoo. An agent is shown as an environment."""

    batch = True

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._rows: dict[Any, int] = {}

    def kind(self, env: Any) -> str:
        """Return its class."""
        return kind_of(env)

    def first(self, args: AnyArgs, kwargs: AnyKwargs, result: Any) -> tuple[Any, Any]:  # noqa: ARG002
        """Return the observations and infos by agent."""
        return result if isinstance(result, tuple) and len(result) == 2 else (result, {})

    def begin(self, observations: Any, infos: Any, args: AnyArgs, kwargs: AnyKwargs) -> None:  # noqa: ARG002
        """Note a reset of all agents."""
        for agent, observation in observations.items():
            self.log.begin(self._row(agent), observation)  # type: ignore[union-attr]

    def wait_before(self, name: str, args: AnyArgs, kwargs: AnyKwargs) -> None:
        if name == "step":
            actions = action_of(args, kwargs)
            agent = next(iter(actions), None)
            if agent is not None:
                self.log.wait_for(self._row(agent), actions[agent])  # type: ignore[union-attr]

    def note(self, name: str, args: AnyArgs, kwargs: AnyKwargs, result: Any, entered: float) -> None:
        """Note a step of all agents that took part."""
        if name != "step":
            return
        log: Any = self.log or self._open(args[0], result)
        actions = action_of(args, kwargs) or {}
        observations, rewards, terminated, truncated, infos = result
        for agent, over in terminated.items():
            cut = truncated.get(agent, False)
            end = 1 if over else 2 if cut else 0
            log.note(
                self._row(agent),
                actions.get(agent),
                entered,
                observations.get(agent),
                rewards.get(agent, 0.0),
                over,
                cut,
                infos.get(agent),
                end,
            )
            entered = log.left  # the time of the step is counted once

    def _row(self, agent: Any) -> int:
        """Return the row of an agent; a new one for an agent that comes later."""
        row = self._rows.setdefault(agent, len(self._rows))
        if self.log is not None and row >= self.log.rows:
            self.log.grow(row + 1)  # type: ignore[attr-defined]
        return row

    def join_session(self, env: Any, result: Any) -> Any:  # noqa: ARG002
        """Open the session."""
        from ...envs.spaces.names import agent_names
        from .rendering import render_of_env
        from .row_log import RowLog
        from .script import ShownEnvs
        from .step_log import small_kind

        assert self.group is not None
        observations, _ = self._first
        agents = fact(env, "possible_agents") or fact(env, "agents") or list(observations)
        for agent in agents:
            self._row(agent)
        name = str((fact(env, "metadata") or {}).get("name") or kind_of(env))
        first = next(iter(observations.values()), None)
        drawn, small = render_of_env(env), small_kind(first)
        shown = ShownEnvs(
            kind=kind_of(env),
            task=name,
            actions=_space_of(env, agents[0]),
            render=None if drawn is None else lambda _row: drawn(),
            observation=first,
            make_log=lambda num_envs, action: RowLog(num_envs, action, small),
            shared=True,
            agents=lambda: agent_names(self._rows),
        )
        log: Any = groups.open_session(self.group, shown, len(self._rows)).step_log
        for agent, observation in observations.items():
            log.begin(self._row(agent), observation, dropped=True)
        return log


class TurnEnv(ParallelEnv):
    """An environment of PettingZoo in which agents take turns (AEC). An agent is shown as an environment."""

    others = ("last",)

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._given: dict[Any, Any] = {}
        self._turn: Any = None
        self.attention = (1,)

    def attach(self, log: Any) -> None:
        """Note steps in a log from now on; whose turn it is has to be known before each step."""
        super().attach(log)
        self.attention = (1,)

    def first(self, args: AnyArgs, kwargs: AnyKwargs, result: Any) -> tuple[Any, Any]:  # noqa: ARG002
        """Return nothing: agents observe when it is their turn."""
        self._given.clear()
        return {}, {}

    def before(self, name: str, args: AnyArgs, kwargs: AnyKwargs) -> None:
        """Wait before a step; remember whose turn it is. Note what a reset or `close` would forget."""
        self._turn = fact(args[0], "agent_selection") if name == "step" else None
        if name in {"reset", "close"} and self.log is not None and not self._over:
            try:
                self._note_rest(args[0])
            except Exception as error:
                self.fail(error)
        super().before(name, args, kwargs)

    def _note_rest(self, env: Any) -> None:
        """Note the steps that ended an agent's episode, but of which nobody has asked what came of them."""
        log: Any = self.log
        rewards, terminated, truncated = (
            fact(env, name) or {} for name in ("cumulative_rewards", "terminations", "truncations")
        )
        for agent, (action, spent) in self._given.items():
            over, cut = terminated.get(agent, False), truncated.get(agent, False)
            if over or cut:
                begun, end = perf_counter() - spent, 1 if over else 2
                log.note(self._row(agent), action, begun, None, rewards.get(agent, 0.0), over, cut, None, end)
        self._given.clear()

    def wait_before(self, name: str, args: AnyArgs, kwargs: AnyKwargs) -> None:
        if name == "step" and self.log.attention[0]:  # type: ignore[union-attr]
            self.log.wait_for(self._row(self._turn), action_of(args, kwargs))  # type: ignore[union-attr]

    def begin(self, observations: Any, infos: Any, args: AnyArgs, kwargs: AnyKwargs) -> None:  # noqa: ARG002
        for row in self._rows.values():
            self.log.begin(row, None)  # type: ignore[union-attr]

    def note(self, name: str, args: AnyArgs, kwargs: AnyKwargs, result: Any, entered: float) -> None:
        """Note the step of an agent when it is its turn again, and it learns what came of it."""
        agent = self._turn if name == "step" else fact(args[0], "agent_selection")
        if name == "step":
            action = action_of(args, kwargs)
            if action is not None:
                self._given[agent] = action, perf_counter() - entered
        elif name == "last":
            observation, reward, terminated, truncated, info = result
            if self.log is None:
                self._first = {agent: observation}, {}
                self._open(args[0], result)
            log: Any = self.log
            if agent in self._given:
                (action, spent), end = self._given.pop(agent), 1 if terminated else 2 if truncated else 0
                begun = perf_counter() - spent  # others have moved since
                log.note(self._row(agent), action, begun, observation, reward, terminated, truncated, info, end)
            else:
                log.begin(self._row(agent), observation)


def layers_of(env: Any) -> list[Any]:
    """Return the wrappers of a vector, and what is within: of environments in this process, the layers of the first."""
    *wrappers, base = chain(env)
    envs = stored(base, "envs")
    return [*wrappers, *(chain(envs[0]) if isinstance(envs, list | tuple) and envs else [base])]


def workers_of(env: Any) -> tuple[int, ...]:
    """Return the ids of the processes of a vector that steps each environment in one of its own."""
    processes = stored(chain(env)[-1], "processes")
    pids = [stored(process, "_popen") for process in processes] if isinstance(processes, list | tuple) else []
    return tuple(popen.pid for popen in pids if popen is not None)


def vector_id(env: Any) -> str:
    """Return the id of the environments of a vector, or their class where they have none."""
    base = chain(env)[-1]
    spec, envs = stored(fact(env, "spec"), "id"), stored(base, "envs")
    if spec:
        return str(spec)
    if isinstance(envs, list | tuple) and envs:
        return id_of(envs[0])
    if type(base).__name__ in {"AsyncVectorEnv", "SubprocVecEnv"}:
        if spec := stored(base.get_attr("spec")[0], "id"):
            return str(spec)
        texts = base.call("__str__") if hasattr(base, "call") else base.env_method("__str__", indices=[0])
        kind = re.search(r"<(\w+) instance>", str(texts[0]))
        if kind:
            return kind[1]
    return type(base).__name__.removesuffix("GymnasiumEnvPool")


def _is_of_version_one(env: Any) -> bool:
    """Whether a class is Gymnasium's own since vector environments reset in the step after an end.

    Those of others that do not say when they reset do it at once, nearly all.
    """
    version = str(getattr(sys.modules.get("gymnasium"), "__version__", "0"))
    return type(chain(env)[-1]).__module__.startswith("gymnasium.") and version >= "1"


def _space_of(env: Any, agent: Any) -> Any:
    try:
        return env.action_space(agent)
    except Exception:
        return None


def _last_observations(infos: Any) -> Any:
    """Return the last observations of episodes that a step has ended and whose environments it has reset."""
    if infos and isinstance(infos, dict):
        return next((infos[name] for name in LAST_OBSERVATIONS if name in infos), None)
    return None


def _row_of(batch: Any, count: int) -> Any:
    from .observations import row_of

    return row_of(batch, 0, int(count))


def host_array(batch: Any) -> Any:
    """Return a batch as an array of NumPy; imported when the script has imported NumPy itself."""
    from .observations import host_array as convert

    return convert(batch)


def environment_hooks() -> dict[str, Hook]:
    """Return the function to call after the import of each module that defines environments."""
    return {
        **{f"{name}.core": lambda module: follow_instances(module.Env, SingleEnv) for name in ("gymnasium", "gym")},
        **{
            f"{name}.vector.vector_env": lambda module: follow_instances(module.VectorEnv, VectorEnv)
            for name in ("gymnasium", "gym")
        },
        "stable_baselines3.common.vec_env.base_vec_env": lambda module: follow_instances(module.VecEnv, VecEnv),
        "pettingzoo.utils.env": _hook_petting_zoo,
    }


def _hook_petting_zoo(module: ModuleType) -> None:
    follow_instances(module.ParallelEnv, ParallelEnv)
    follow_instances(module.AECEnv, TurnEnv)
