"""An episode as a file: what it was played on, its actions, and fingerprints of all that came of them.

A file is JSON lines: a header, the first state, a line for every step, and the end. A fingerprint is BLAKE2b, 8 bytes,
over a field's bytes, all seats; that of the trajectory goes over all of them. Boards stand in it only where playing it
again does not lead to the same.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from ...envs import BadParameter, Field, PacError, Task, find
from ...envs.fields import Array
from ...envs.trust import Vouch, check_trusted, refuse
from ..config import MAX_ENVS
from ..telemetry.moments import Source, boards_of, field_of, moment_dtype
from .replay import Differs, Machine, terms_of

FORMAT, VERSION = "pac-episode", 1
WANTED = "`r` in the app records episodes, into runs/NAME/episodes"
CHECKED = ("observation", "action_mask", "reward", "reward_terms", "terminated", "truncated", "outcome", "frames")
FIRST, LAST = CHECKED[:2], (*CHECKED, "final_observation")
"""The fields that a replay is compared by, in this order: after a step; in the first state; after the last step."""
DIGEST = 8
SUFFIX = ".jsonl"


class BadEpisode(BadParameter):
    """A file is not an episode of this version."""

    title = "Not an episode"


@dataclass(frozen=True)
class Step:
    """What came of one step; of the first state, which no action led to, `action` is None.

    Attributes:
        action: `(players, *action_shape)`.
        reward: The first seat's.
        prints: Fingerprints by field.
        boards: What panels drew, by field, if it was kept.
    """

    action: Array | None
    reward: float
    prints: Mapping[str, str]
    boards: Mapping[str, Array] = field(default_factory=dict)


@dataclass(frozen=True)
class Episode:
    """A recorded episode.

    Attributes:
        task: What was played.
        seed: The run's seed.
        env: Which environment, from 0.
        number: Which of its episodes, from 0.
        run: The run it was recorded in.
        replays: Whether playing it again led to the same when it was recorded.
        steps: The first state and all steps.
        state: The first state's bytes, where the seed does not lead to it.
    """

    task: Task
    seed: int
    env: int
    number: int
    run: str
    replays: bool
    steps: tuple[Step, ...]
    state: Array | None = None

    @property
    def length(self) -> int:
        """Number of steps."""
        return len(self.steps) - 1

    @property
    def trajectory(self) -> str:
        """The fingerprint of all of it."""
        digest = blake2b(digest_size=DIGEST)
        for step in self.steps:
            digest.update(b"" if step.action is None else np.asarray(step.action, "<f8").tobytes())
            digest.update("".join(step.prints[name] for name in sorted(step.prints)).encode())
        return digest.hexdigest()


def prints_of(task: Task, names: Sequence[str], row: Callable[[str], Array]) -> dict[str, str]:
    """Return the fingerprints of those fields that a task has; `row` returns the rows of the environment."""
    known = {item.name for item in task.fields}
    return {
        name: blake2b(np.ascontiguousarray(row(name)).tobytes(), digest_size=DIGEST).hexdigest()
        for name in names
        if name in known
    }


def write(path: Path, episode: Episode) -> None:
    """Write an episode, whole or not at all."""
    header = {
        "format": FORMAT,
        "version": VERSION,
        "task": episode.task.spec,
        "seed": episode.seed,
        "env": episode.env,
        "episode": episode.number,
        "run": episode.run,
        "replays": episode.replays,
        "steps": episode.length,
    }
    if episode.state is not None:
        header["state"] = _as_text(episode.state)
    lines = [header, *(_as_line(step) for step in episode.steps), {"trajectory": episode.trajectory}]
    beside = path.with_name(f".{path.name}")
    beside.write_text("".join(json.dumps(line) + "\n" for line in lines))
    beside.replace(path)


def _as_line(step: Step) -> dict[str, Any]:
    line: dict[str, Any] = {"prints": step.prints}
    if step.action is not None:
        line = {"action": step.action.tolist(), "reward": step.reward, **line}
    if step.boards:
        line["boards"] = {name: _as_text(board) for name, board in step.boards.items()}
    return line


def _as_text(array: Array) -> str:
    return base64.b64encode(zlib.compress(np.ascontiguousarray(array).tobytes())).decode()


def _from_text(text: str, item: Field) -> Array:
    """Decompress one row of a field, and at most that."""
    data = zlib.decompressobj().decompress(base64.b64decode(text), item.row_bytes)
    return np.frombuffer(data, item.dtype).reshape(item.stored_shape)


def read(path: Path, vouch: Vouch = refuse) -> Episode:
    """Read an episode.

    Args:
        path: The file.
        vouch: Asked whether to trust a task that may run code.

    Raises:
        NotTrusted: `vouch` refused the task.
        BadEpisode: The file cannot be read, is none, is cut short, or was changed.
        BadParameter: Its task is not known here, or cannot be made.
    """
    try:
        header, *lines, end = [json.loads(line) for line in path.read_text().splitlines()]
        if (header["format"], header["version"]) != (FORMAT, VERSION):
            raise BadEpisode(f"{path} is {header['format']} {header['version']}, {FORMAT} {VERSION} was expected")
        check_trusted(header["task"], str(path), vouch)
        task = find(header["task"])
        episode = Episode(
            task=task,
            seed=int(header["seed"]),
            env=_number(header["env"]),
            number=int(header["episode"]),
            run=str(header["run"]),
            replays=bool(header["replays"]),
            steps=tuple(_step(task, line) for line in lines),
            state=_from_text(header["state"], task.state) if task.state and task.saves and "state" in header else None,
        )
        wanted = end["trajectory"]
    except PacError:  # a sentence of its own: another version, a task that is not trusted, known or installed
        raise
    except OSError as error:
        raise BadEpisode(f"{path} cannot be read: {error.strerror}; {WANTED}") from error
    except (ValueError, KeyError, TypeError, AttributeError, zlib.error) as error:
        raise BadEpisode(f"{path} is not an episode that pac-tui recorded; {WANTED}") from error
    if len(lines) != header["steps"] + 1 or wanted != episode.trajectory:
        raise BadEpisode(f"{path} was cut short or changed: its trajectory is not the one that its end names")
    return episode


def _number(env: Any) -> int:
    """Return the number of an environment, for which there must be memory."""
    if not 0 <= int(env) < MAX_ENVS:
        raise ValueError(f"an environment is numbered 0 to {MAX_ENVS - 1:,}, got {env}")
    return int(env)


def _step(task: Task, line: Mapping[str, Any]) -> Step:
    action = None
    if "action" in line:
        item = field_of(task, "action")
        action = np.array(line["action"], item.dtype).reshape(task.players, *item.shape)
    boards = {}
    for item in boards_of(task):
        if item.name in line.get("boards", {}):
            boards[item.name] = _from_text(line["boards"][item.name], item)
    return Step(action, float(line.get("reward", 0.0)), dict(line["prints"]), boards)


def play(episode: Episode) -> Iterator[Machine]:
    """Play an episode again; yields the machine in its first state and after every step."""
    machine = Machine(episode.task, episode.seed, episode.env)
    try:
        machine.draw(wanted=True)
        if episode.state is None:
            machine.begin(episode.number)
        else:
            machine.restore(episode.state)
        yield machine
        for step in episode.steps[1:]:
            assert step.action is not None
            machine.draw(wanted=True)
            machine.step(step.action)
            yield machine
    finally:
        machine.close()


def check(episode: Episode) -> None:
    """Play an episode again and compare every field of every step with what was recorded.

    Raises:
        Differs: The first step and field that is another.
        PacError: An action is refused, or the environment failed.
    """
    for index, (machine, step) in enumerate(zip(play(episode), episode.steps, strict=True)):
        names = FIRST if index == 0 else LAST if index == episode.length else CHECKED
        found = prints_of(episode.task, names, machine.row)
        for name in names:
            if found.get(name) != step.prints.get(name):
                text = f"step {index}: {name} is {found.get(name)}, {step.prints.get(name)} was recorded"
                raise Differs(index, name, text)


def moments(episode: Episode, seat: int = 0) -> Array:
    """Return a seat's moments of an episode, `(length + 1,)` records: played again, or with the boards that were kept.

    Of an episode that does not replay, only the first seat's rewards are known.
    """
    found = np.zeros(len(episode.steps), moment_dtype(episode.task))
    terms = np.zeros((episode.task.players, len(episode.task.reward_terms)), "f4")
    machines = play(episode) if episode.replays else None
    for index, step in enumerate(episode.steps):
        moment = found[index : index + 1].reshape(())
        if machines is not None:
            machine = next(machines)
            machine.fill(moment, seat)
            terms = terms + terms_of(machine)
            moment["terms"], moment["source"] = terms[seat], Source.REBUILT
        else:
            moment["source"] = Source.STORED if step.boards else Source.MISSING
            moment["note"] = b"this environment is not deterministic"
            moment["reward"] = np.nan if seat else step.reward
            for name, board in step.boards.items():
                moment[f"board:{name}"] = board
        moment["env"], moment["step"], moment["now"], moment["value"] = 0, index, episode.length, np.nan
        moment["seat"] = seat
        if step.action is not None:
            moment["acted"], moment["action"] = 1, step.action[seat]
        if index < episode.length:
            following = episode.steps[index + 1].action
            assert following is not None
            moment["decided"], moment["next_action"] = 1, following[seat]
    return found
