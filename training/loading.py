"""Loads a run's configuration: flags over environment variables over a file over a resumed run over the defaults."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ..backends import BACKENDS
from ..envs import BadParameter, UnknownName, find
from ..envs.errors import brief
from ..envs.files import KIB, UnreadableFile, read_yaml
from ..envs.trust import Vouch, check_trusted, refuse
from .config import RUNS, Config
from .device import CHOICES
from .flags import aliases
from .runs.folder import CARD, RunFolder
from .trainers import BUILT_IN, default_trainer, trainer_kind, trainer_names, trainer_settings

LIMIT = 256 * KIB
"""Bytes of a file of configuration."""
PREFIX = "PAC_"
NOT_SETTINGS = frozenset({"PAC_CACHE_DIR", "PAC_RUNTIME_DIR", "PAC_TOKEN"})
DEVICE = re.compile(r"auto|cpu|cuda(:\d+)?|mps")
KEYS = tuple(name for name in Config.model_fields if name not in {"settings", "learn", "greedy"})
"""What may be configured; the trainers' settings stand in a section each."""
WORDS = {"name": "a folder's name, without a slash or unprintable characters", "resume": "a run's name or folder"}
"""What some keys take, where the type does not say it."""
NEW_EACH_TIME = frozenset(
    {"steps", "frames", "episodes", "seconds", "runs_dir", "name", "resume", "linger", "breakpoints", "learn", "greedy"}
)
"""What a resumed run does not hand on."""


class BadConfiguration(BadParameter):
    """A configuration that cannot be read, or does not fit."""

    title = "Bad configuration"


@dataclass(frozen=True)
class Origin:
    """Where a value came from.

    Attributes:
        label: What to show for it, such as `--num-envs`, `PAC_NUM_ENVS` or `num_envs in a.yaml`.
        value: The value as it was given.
        file: The file that it is in, if it is in one.
    """

    label: str
    value: Any
    file: str = ""


@dataclass(frozen=True)
class Loaded:
    """A valid configuration, and where each value came from.

    Attributes:
        config: The configuration.
        origins: What was given, by key; a trainer's setting has the key `ppo.learning_rate`. The rest are defaults.
    """

    config: Config
    origins: Mapping[str, Origin]


def load(
    flags: Mapping[str, Any] | None = None,
    *,
    file: Path | None = None,
    environ: Mapping[str, str] | None = None,
    vouch: Vouch = refuse,
    **fixed: Any,
) -> Loaded:
    """Return the configuration, validated as far as that is possible without loading the task.

    A task that comes from a file is checked here. The session gets it from here and does not read it again.

    Args:
        flags: What the command line gave, by key: `num_envs`, `ppo.learning_rate`.
        file: A YAML file.
        environ: The environment variables; the process's own if None.
        vouch: Asked whether to trust a task that a file names and that may run code.
        **fixed: Fields that nothing overrides.

    Raises:
        NotTrusted: `vouch` refused the task.
        UnknownName: A key, a trainer or a backend is unknown.
        BadConfiguration: The file cannot be read, or a value does not fit.
    """
    given = {
        **(dict(_from_file(file)) if file is not None else {}),
        **dict(_from_environment(os.environ if environ is None else environ)),
        **dict(_from_flags(flags or {})),
    }
    given |= {key: Origin("the command", value) for key, value in fixed.items()}
    resume = given.get("resume")
    if resume is not None and resume.value:  # an empty one is refused below
        runs_dir = Path(given["runs_dir"].value if "runs_dir" in given else RUNS)
        given = {**dict(_from_run(RunFolder.find(runs_dir, str(resume.value)))), **given}
    task = given.get("task")
    if task is not None and task.file:
        check_trusted(str(task.value), task.file, vouch)
    return Loaded(_build(given), given)


def trainer_of(config: Config) -> str:
    """Return the trainer that is asked for, or else the one that the task recommends."""
    return config.trainer or default_trainer(config.task)


def effective_settings(config: Config) -> dict[str, Any]:
    """Return all settings of the trainer; loads the task, whose recommendations override the defaults."""
    return trainer_settings(trainer_of(config), find(config.task), config.settings)


# -- the layers -------------------------------------------------------------------------------------------------------


def _from_flags(flags: Mapping[str, Any]) -> Iterator[tuple[str, Origin]]:
    for key, value in flags.items():
        yield _known(key), Origin(f"--{key.replace('_', '-')}", value)


def _from_environment(environ: Mapping[str, str]) -> Iterator[tuple[str, Origin]]:
    for key, name, value in aliases(environ):
        yield key, Origin(name, value)
    names = {f"{PREFIX}{key.upper()}": key for key in KEYS}
    for name in sorted(environ):
        if not name.startswith(PREFIX) or name in NOT_SETTINGS:
            continue
        if name in names:
            yield names[name], Origin(name, environ[name])
        elif setting := _setting(name.removeprefix(PREFIX)):
            yield _known(setting), Origin(name, environ[name])
        else:
            raise UnknownName("environment variable", name, [*names, *NOT_SETTINGS])


def _setting(variable: str) -> str:
    """Return the key that `RANDOM_SEARCH_SPREAD` spells, `random-search.spread`; empty if it begins with no trainer."""
    text = variable.lower()
    sections = [name for name in trainer_names() if text.startswith(f"{name.replace('-', '_')}_")]
    section = max(sections, key=len, default="")
    return f"{section}.{text[len(section) + 1 :]}" if section else ""


def _from_file(path: Path) -> Iterator[tuple[str, Origin]]:
    for key, value in _read_yaml(path).items():
        if str(key) not in KEYS and str(key).replace("_", "-") in trainer_names():
            if not isinstance(value, Mapping):
                raise BadConfiguration(f"{path}: {key} is a section of `setting: value` lines, got {brief(value)}")
            for name, setting in value.items():
                yield _known(f"{key}.{name}", f" in {path}"), Origin(f"{key}.{name} in {path}", setting)
        else:
            yield _known(str(key), f" in {path}"), Origin(f"{key} in {path}", value, str(path))


def _read_yaml(path: Path) -> Mapping[Any, Any]:
    """Return the mapping that a file holds; an empty file is an empty one."""
    try:
        data = read_yaml(path, LIMIT, pipes=True)
    except UnreadableFile as error:
        raise BadConfiguration(f"--config {error}; give a YAML file of `key: value` lines") from None
    if data is None:
        return {}
    if not isinstance(data, Mapping):
        raise BadConfiguration(f"{path} must hold `key: value` lines, got {type(data).__name__}: {brief(data)}")
    return data


def _from_run(run: RunFolder) -> Iterator[tuple[str, Origin]]:
    saved = dict(run.card().get("config", {}))
    settings, trainer = saved.pop("settings", {}), saved.get("trainer", "")
    for key, value in saved.items():
        if key in KEYS and key not in NEW_EACH_TIME and value is not None:
            yield key, Origin(f"run {run.name}", value, str(run.path / CARD))
    for key, value in settings.items():
        yield f"{trainer}.{key}", Origin(f"run {run.name}", value)


def _known(key: str, where: str = "") -> str:
    """Return `key` as it is spelled in the configuration.

    Raises:
        UnknownName: It is none.
    """
    section, dot, setting = key.partition(".")
    section, setting = section.replace("-", "_"), setting.replace("-", "_")
    if not dot:
        if section not in KEYS:
            settings = [
                f"{kind.name}.{field}" for kind in BUILT_IN.values() for field in kind.settings_class.model_fields
            ]
            raise UnknownName(f"key{where}", section, [*KEYS, *get_close_matches(section, settings)])
        return section
    section = section.replace("_", "-")
    known = trainer_kind(section).settings_class.model_fields
    if setting not in known:
        raise UnknownName(f"setting of {section}{where}", setting, known)
    return f"{section}.{setting}"


# -- one object -------------------------------------------------------------------------------------------------------


def _build(given: Mapping[str, Origin]) -> Config:
    """Return the configuration; the settings are those of the chosen trainer, or of the task's own."""
    plain = {key: origin.value for key, origin in given.items() if "." not in key and origin.value is not None}
    trainer = str(plain.get("trainer") or default_trainer(str(plain.get("task", Config().task))))
    try:
        kind = trainer_kind(trainer)
        settings = {key.partition(".")[2]: given[key].value for key in given if key.startswith(f"{trainer}.")}
        if settings:
            kind.settings_class.read(trainer, settings)
        config = Config.model_validate({**plain, "trainer": trainer, "settings": settings})
    except ValidationError as error:
        raise BadConfiguration(sentence(error.errors()[0], given)) from None
    if config.resume and config.name:
        raise BadConfiguration(
            f"--name names a new run, and {config.resume} is to go on: leave out --name {config.name} or --resume"
        )
    if config.backend not in BACKENDS:
        raise UnknownName("backend", config.backend, BACKENDS)
    if not DEVICE.fullmatch(config.device):
        raise UnknownName("device", config.device, CHOICES.replace(" or", ",").split(", "))
    return config


def sentence(item: ErrorDetails, given: Mapping[str, Origin] | None = None) -> str:
    """Return what was expected of a field of `Config`, and what came, from an error of its validation."""
    key = str(item["loc"][0])
    origin = (given or {}).get(key)
    label = origin.label if origin else f"--{key.replace('_', '-')}"
    return f"{label} expects {expected(key)}, got {brief(item['input'])}"


def expected(key: str) -> str:
    """Return in words what the field `key` of `Config` takes."""
    if key in WORDS:
        return WORDS[key]
    schema = Config.model_json_schema()["properties"][key]
    schema = next((part for part in schema.get("anyOf", ()) if part["type"] != "null"), schema)
    if schema["type"] not in {"integer", "number"}:
        return {"boolean": "true or false", "object": "a section"}.get(schema["type"], "text")
    noun = "a whole number" if schema["type"] == "integer" else "a number"
    low, above, high = (schema.get(name) for name in ("minimum", "exclusiveMinimum", "maximum"))
    if schema["type"] == "integer" and above is not None:
        low, above = above + 1, None
    if low is not None and high is not None:
        return f"{noun} from {low:,} to {high:,}"
    return (
        f"{noun} above {above:g}" if above is not None else f"{noun} of at least {low:g}" if low is not None else noun
    )
