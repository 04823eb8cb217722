"""Names of agents, of actions and of the numbers in observations: the environment's own, or documented ones.

Only what environments store is read, so that none of a script's code runs.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from itertools import chain
from typing import Any, NamedTuple

MOST_AGENTS, LONGEST = 256, 32
PLAIN = "pac.envs.", "stable_baselines3."
"""Modules of wrappers, besides Gymnasium's, of which only those derived from its wrappers of actions or observations
change what these mean."""
SCALING = frozenset({"ClipAction", "RescaleAction", "NormalizeObservation", "RescaleObservation"})
"""Wrappers that change numbers, but not what they mean."""
FREE, BALL = 0, 1
"""MuJoCo's kinds of joints with several coordinates."""
PLACES = {FREE: ("x", "y", "z", "w", "i", "j", "k"), BALL: ("w", "i", "j", "k")}
SPEEDS = {FREE: ("x", "y", "z", "roll", "pitch", "yaw"), BALL: ("roll", "pitch", "yaw")}


class EnvNames(NamedTuple):
    """What the numbers of an environment mean.

    Attributes:
        actions: Names of the choices, or of the components of a continuous action; empty if unknown.
        slices: Named ranges of a vector that is observed; empty if unknown.
    """

    actions: tuple[str, ...] = ()
    slices: Mapping[str, tuple[int, int]] = {}


def _of(actions: str, observation: str = "") -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(filter(None, actions.split(", "))), tuple(filter(None, observation.split(", ")))


MOUNTAIN = "position, velocity"
LANDER = "x, y, x velocity, y velocity, angle, angular velocity, left leg, right leg"
DOCUMENTED = {
    "CartPole": _of("left, right", "cart position, cart velocity, pole angle, pole velocity"),
    "MountainCar": _of("left, coast, right", MOUNTAIN),
    "MountainCarContinuous": _of("force", MOUNTAIN),
    "Acrobot": _of("torque -1, no torque, torque +1", "cos 1, sin 1, cos 2, sin 2, velocity 1, velocity 2"),
    "Pendulum": _of("torque", "cos, sin, velocity"),
    "LunarLander": _of("nothing, left engine, main engine, right engine", LANDER),
    "LunarLanderContinuous": _of("main engine, side engines", LANDER),
    "BipedalWalker": _of(
        "hip 1, knee 1, hip 2, knee 2",
        "hull angle, hull rotation, x velocity, y velocity, hip 1, hip 1 speed, knee 1, knee 1 speed, contact 1, "
        "hip 2, hip 2 speed, knee 2, knee 2 speed, contact 2, " + ", ".join(f"lidar {index}" for index in range(10)),
    ),
    "CarRacing": _of("steering, gas, brake"),
    "CarRacingDiscrete": _of("nothing, right, left, gas, brake"),
    "FrozenLake": _of("left, down, right, up"),
    "CliffWalking": _of("up, right, down, left"),
    "Taxi": _of("south, north, east, west, pick up, drop off"),
    "Blackjack": _of("stick, hit"),
}
"""Actions and observations of Gymnasium's environments by id without version, from its documentation."""


def agent_names(agents: Iterable[Any]) -> tuple[str, ...]:
    """Return the names of agents, not too long; none if there are very many."""
    names = tuple(str(agent)[:LONGEST] for agent in agents)
    return names if len(names) <= MOST_AGENTS else ()


def names_of(
    env_id: str, layers: Sequence[Any], count: int, shape: tuple[int, ...], *, continuous: bool, asks: bool = False
) -> EnvNames:
    """Return the names of actions and of the numbers in observations, as far as they are certain.

    Wrappers that change actions or observations may have given them another meaning: then there are no names.

    Args:
        env_id: The id of the environment, such as `CartPole-v1`.
        layers: Its wrappers, and the environment within them.
        count: Number of choices, or of components of a continuous action.
        shape: The shape of its observations.
        continuous: Whether actions are continuous.
        asks: Whether the environment may be asked, which runs its code: `get_action_meanings`, as of Atari games.
    """
    *wrappers, base = layers
    name = re.sub(r"-v\d+$", "", env_id.rpartition(":")[2])
    name += "Continuous" if continuous and f"{name}Continuous" in DOCUMENTED else ""
    name += "Discrete" if not continuous and f"{name}Discrete" in DOCUMENTED else ""
    actions, numbers = DOCUMENTED.get(name, ((), ())) if _of_gymnasium(base) else ((), ())
    simulated = _of_mujoco(base)
    actions = actions or (simulated.actions if continuous else _enumerated(base, count))
    if asks and not (actions or continuous):
        actions = _asked(base)
    slices: Mapping[str, tuple[int, int]] = {label: (at, at + 1) for at, label in enumerate(numbers)}
    slices = slices or (simulated.slices if _of_gymnasium(base) else {})
    end = max((last for _, last in slices.values()), default=0)
    return EnvNames(
        actions if len(actions) == count and _keep(wrappers, "Action") else (),
        slices if shape == (end,) and _keep(wrappers, "Observation") else {},
    )


def labels_of(slices: Mapping[str, tuple[int, int]], count: int) -> list[str]:
    """Return a label for each of the first numbers of a vector: the name of its range, or its index."""
    labels = [str(index) for index in range(count)]
    for name, (first, last) in slices.items():
        for index in range(first, min(last, count)):
            labels[index] = name if last == first + 1 else f"{name} {index - first}"
    return labels


def _of_gymnasium(env: Any) -> bool:
    return type(env).__module__.startswith(("gymnasium.", "gym."))


def _stored(env: Any) -> Mapping[str, Any]:
    found = getattr(env, "__dict__", {})
    return found if isinstance(found, dict) else {}


def _keep(wrappers: Iterable[Any], what: str) -> bool:
    """Whether actions or observations mean within wrappers what they mean outside: those of Gymnasium show that.

    Those in `PLAIN` are derived from Gymnasium's, too.
    """
    changing = (f"{what}Wrapper", f"Transform{what}")
    return all(
        (_of_gymnasium(each) or type(each).__module__.startswith(PLAIN))
        and (type(each).__name__ in SCALING or not any(base.__name__.endswith(changing) for base in type(each).__mro__))
        for each in wrappers
    )


def _enumerated(env: Any, count: int) -> tuple[str, ...]:
    """Return the names of actions of an enumeration that an environment or its class stores."""
    for name, stored in chain(_stored(env).items(), *(vars(base).items() for base in type(env).__mro__)):
        if "action" in str(name).lower():
            members = list(stored) if isinstance(stored, list | tuple | type(Enum)) and len(stored) == count else []
            kind = isinstance(stored, type(Enum))
            if members and all(isinstance(each, Enum) for each in members):
                if kind and [each.value for each in members] != list(range(count)):
                    continue
                return tuple(_worded(each.name) for each in members)
    return ()


def _asked(env: Any) -> tuple[str, ...]:
    """Return what an environment says that its actions mean."""
    try:
        return tuple(_worded(str(name))[:LONGEST] for name in env.get_action_meanings())
    except Exception:  # it has none, or does not know them yet
        return ()


def _worded(name: str) -> str:
    """Return the name of an action in words: `UPRIGHTFIRE` is `up right fire`."""
    directions = re.findall("UP|DOWN|LEFT|RIGHT|FIRE", name)
    return " ".join(directions if "".join(directions) == name else name.split("_")).lower()


def _of_mujoco(env: Any) -> EnvNames:
    """Return the names of actuators and joints in the model of one of Gymnasium's MuJoCo environments."""
    mujoco, known = sys.modules.get("mujoco"), _stored(env)
    structure = known.get("observation_structure")
    model: Any = known.get("model")
    if mujoco is None or type(model) is not mujoco.MjModel:
        return EnvNames()

    def called(kind: Any, index: int) -> str:
        return (mujoco.mj_id2name(model, kind, index) or "").removesuffix("_joint").replace("_", " ")

    joint, actuator = mujoco.mjtObj.mjOBJ_JOINT, mujoco.mjtObj.mjOBJ_ACTUATOR
    acts_on = model.actuator_trnid[:, 0].tolist()
    actions = [called(actuator, index) or called(joint, acts_on[index]) for index in range(model.nu)]
    slices: dict[str, tuple[int, int]] = {}
    if isinstance(structure, Mapping):
        joints = [(called(joint, index), int(kind)) for index, kind in enumerate(model.jnt_type)]
        places = [f"{name} {part}".strip() for name, kind in joints for part in PLACES.get(kind, ("",))]
        speeds = [f"{name} {part}".strip() + " speed" for name, kind in joints for part in SPEEDS.get(kind, ("",))]
        shown = {"qpos": places[int(structure.get("skipped_qpos", 0)) :], "qvel": speeds}
        end = 0
        for name, size in structure.items():
            if name.startswith("skipped"):
                continue
            first, end = end, end + int(size)
            singles = shown.get(name, [])
            if len(singles) == size:
                slices |= {label: (first + at, first + at + 1) for at, label in enumerate(singles)}
            elif size:
                slices[name] = first, end
    return EnvNames(tuple(actions), slices)
