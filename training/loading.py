"""Loads a configuration: flags override environment variables, then a file, then the resumed run, then defaults."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ..backends import backend_names, default_num_envs
from ..envs import BadParameter, Parameter, Task, UnknownName, find
from ..envs.apart import MAKING_LIMIT
from ..envs.errors import brief
from ..envs.files import KIB, UnreadableFile, read_yaml
from ..envs.naming import declared
from ..envs.trust import Vouch, check_trusted, refuse
from .checkpoint_choice import LAST
from .config import RUNS, Config, StrictModel
from .device import CHOICES
from .runs.folder import METADATA, RunFolder
from .runs.identity import settings_of_device
from .settings import explain
from .trainers import BUILT_IN, default_trainer, trainer_kind, trainer_names, trainer_settings, transformed_task

MAX_BYTES = 256 * KIB
"""Size limit of a configuration file."""
PREFIX = "PAC_"
OTHER_VARIABLES = frozenset(
    {"PAC_CACHE_DIR", "PAC_DEVICE_MEMORY", "PAC_RUNTIME_DIR", "PAC_TOKEN", "PAC_WATCH", "PAC_WATCHED_RUNS"}
)
ALIASES = {"TRAINING_NUM_ENVS": "num_envs", "TRAINING_TRANSPORT": "backend"}
GPU_INFERENCE, GPU_COMBAT = "TRAINING_GPU_INFERENCE", "TRAINING_GPU_COMBAT"
WITHOUT_EFFECT = {
    "TRAINING_SOCKET_PATH": "has no effect on a session, which starts its own servers; pac-tui env-server uses it",
    "TRAINING_SHM_NAME": "has no effect: shared memory gets a random name",
}
DEVICE = re.compile(r"auto|cpu|cuda(:\d+)?|mps")
KEYS = tuple(name for name in Config.model_fields if name not in {"settings", "learn", "greedy"})
"""The keys of the configuration, without the trainers' sections."""
NOT_RESUMED = frozenset(
    {
        "steps",
        "frames",
        "episodes",
        "seconds",
        "until",
        "runs_dir",
        "name",
        "resume",
        "checkpoint",
        "linger",
        "breakpoints",
    }
)
"""Keys that a resumed run does not take over from its previous session."""


class BadConfiguration(BadParameter):
    """A configuration that cannot be read, or a value that does not fit."""

    title = "Bad configuration"


@dataclass(frozen=True)
class Origin:
    """A value and its source.

    Attributes:
        label: The source for people: `--num-envs`, `PAC_NUM_ENVS` or `num_envs in a.yaml`.
        file: Path of the file that contains it; empty if it is from elsewhere.
    """

    label: str
    value: Any
    file: str = ""


@dataclass(frozen=True)
class Loaded:
    """A valid configuration with the sources of its values.

    Attributes:
        origins: The given values by key, `num_envs` or `ppo.learning_rate`. All others are defaults.
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
    """Return the configuration, validated as far as possible without loading the task.

    What a file names is checked here, and only here: the session gets it from this process.

    Args:
        flags: Values from the command line by key: `num_envs`, `ppo.learning_rate`.
        file: A YAML file.
        environ: The environment variables; default `os.environ`.
        vouch: Asked whether to trust what a file names, see `envs/naming.py`.
        **fixed: Values that nothing overrides.

    Raises:
        NotTrusted: `vouch` refused what a file names.
        UnknownName: A key, trainer, backend or device is unknown.
        BadConfiguration: The file cannot be read, or a value does not fit.
    """
    given = {
        **(_from_file(file) if file is not None else {}),
        **dict(_from_environment(os.environ if environ is None else environ)),
        **{_known(key): Origin(f"--{key.replace('_', '-')}", value) for key, value in (flags or {}).items()},
        **{key: Origin("the command", value) for key, value in fixed.items()},
    }
    _check_trusted(Config, given, vouch)
    resume = given.get("resume")
    if resume is not None and resume.value:  # an empty name is refused below
        runs_dir = Path(given["runs_dir"].value if "runs_dir" in given else RUNS)
        saved = dict(_from_run(RunFolder.find(runs_dir, str(resume.value))))
        _check_trusted(Config, {key: saved[key] for key in saved.keys() - given.keys()}, vouch)
        given = {**saved, **given}
    return Loaded(_build(given, vouch), given)


def trainer_of(config: Config) -> str:
    """Return the configured trainer, or the one that the task recommends."""
    return config.trainer or default_trainer(config.spec)


def task_of(config: Config, on_wait: Callable[[float], object] = lambda _seconds: None) -> Task:
    """Return the configured task; a Gymnasium environment is made for that, within twice `hang_timeout` or 120 s.

    Args:
        on_wait: Called with the seconds that this has taken so far; see `find`.
    """
    return find(config.spec, limit=max(MAKING_LIMIT, 2 * config.hang_timeout), on_wait=on_wait)


def effective_settings(config: Config) -> dict[str, Any]:
    """Return all settings of the trainer. This loads the task, whose recommendations override the defaults."""
    return trainer_settings(trainer_of(config), task_of(config), config.settings)


def num_envs_of(config: Config) -> int:
    """Return the number of environments: the configured one, the task's, or the default of this machine."""
    task = transformed_task(trainer_of(config), task_of(config), effective_settings(config))
    return config.num_envs or usual_num_envs(config, task)


GPU_ENVS = 8_192
"""The default N of environments on a GPU. With more, steps are faster, and there are fewer updates."""


def usual_num_envs(config: Config, task: Task) -> int:
    """Return the number of environments of a task where none is configured."""
    on_gpu = config.backend == "device" and config.device.startswith("cuda")
    return task.num_envs or (GPU_ENVS if on_gpu else default_num_envs())


def unused_variables(environ: Mapping[str, str], device: str) -> list[str]:
    """Return one sentence per `TRAINING_...` variable that has no effect on a session whose policy runs on `device`."""
    unused = [f"{name} {reason}" for name, reason in WITHOUT_EFFECT.items() if name in environ]
    if _is_true(environ, GPU_INFERENCE) and device == "cpu":
        unused.append(f"{GPU_INFERENCE} has no effect: no GPU is used, the policy runs on the CPU")
    if _is_true(environ, GPU_COMBAT):
        unused.append(f"{GPU_COMBAT} has no effect: fights run on the CPU, in the workers")
    return unused


def _from_environment(environ: Mapping[str, str]) -> Iterator[tuple[str, Origin]]:
    for name, key in ALIASES.items():
        if name in environ:
            yield key, Origin(name, environ[name])
    if GPU_INFERENCE in environ:
        yield "device", Origin(GPU_INFERENCE, "auto" if _is_true(environ, GPU_INFERENCE) else "cpu")
    _is_true(environ, GPU_COMBAT)
    for name in sorted(environ):
        if name.startswith(PREFIX) and name not in OTHER_VARIABLES:
            yield _key_of(name), Origin(name, environ[name])


def _is_true(environ: Mapping[str, str], name: str) -> bool:
    return bool(Parameter(name, default=False).parse(environ.get(name, "false")))


def _key_of(variable: str) -> str:
    """Return the key that a variable sets: `num_envs` for PAC_NUM_ENVS, `ppo.clip` for PAC_PPO_CLIP."""
    variables = {f"{PREFIX}{key.upper()}": key for key in KEYS}
    if variable in variables:
        return variables[variable]
    text = variable.removeprefix(PREFIX).lower()
    sections = [name for name in trainer_names() if text.startswith(f"{name.replace('-', '_')}_")]
    if not sections:
        raise UnknownName("environment variable", variable, [*variables, *OTHER_VARIABLES])
    section = max(sections, key=len)  # random-search, not random
    return _known(f"{section}.{text[len(section) + 1 :]}")


def _from_file(path: Path) -> dict[str, Origin]:
    given: dict[str, Origin] = {}
    for name, value in _read_mapping(path).items():
        key = str(name)
        section = key not in KEYS and key.replace("_", "-") in trainer_names()
        if section and not isinstance(value, Mapping):
            raise BadConfiguration(f"{path}: {key} expects a section of `setting: value` lines, got {brief(value)}")
        parts = {f"{key}.{setting}": part for setting, part in value.items()} if section else {key: value}
        for label, part in parts.items():
            known = _known(label, f" in {path}")
            if known in given:
                raise BadConfiguration(f"{path}: {known} occurs twice; leave one out")
            given[known] = Origin(f"{label} in {path}", part, str(path))
    return given


def _read_mapping(path: Path) -> Mapping[Any, Any]:
    try:
        data = read_yaml(path, MAX_BYTES, pipes=True)
    except UnreadableFile as error:
        raise BadConfiguration(f"--config {error}; give a YAML file of `key: value` lines") from None
    if data is not None and not isinstance(data, Mapping):
        raise BadConfiguration(f"{path} must contain `key: value` lines, got {type(data).__name__}: {brief(data)}")
    return data or {}


def _from_run(run: RunFolder) -> Iterator[tuple[str, Origin]]:
    saved = dict(run.metadata().get("config", {}))
    for key in KEYS:
        if key not in NOT_RESUMED and saved.get(key) is not None:
            yield key, Origin(f"run {run.name}", saved[key], str(run.path / METADATA))
    if last := run.metadata().get("num_envs"):  # that of its end, which the app may have changed
        yield "num_envs", Origin(f"run {run.name}", last, str(run.path / METADATA))
    of_device = settings_of_device(run.metadata())
    for key, value in saved.get("settings", {}).items():
        label = f"run {run.name}, from its device" if key in of_device else f"run {run.name}"
        yield f"{saved.get('trainer', '')}.{key}", Origin(label, value, str(run.path / METADATA))


def _known(key: str, where: str = "") -> str:
    """Return `key` with the configuration's spelling, `num_envs` or `random-search.spread`.

    Raises:
        UnknownName: There is no such key.
    """
    section, dot, setting = key.partition(".")
    if not dot:
        plain = key.replace("-", "_")
        if plain not in KEYS:
            settings = [
                f"{kind.name}.{name}" for kind in BUILT_IN.values() for name in kind.settings_class.model_fields
            ]
            raise UnknownName(f"key{where}", plain, [*KEYS, *get_close_matches(plain, settings)])
        return plain
    section, setting = section.replace("_", "-"), setting.replace("-", "_")
    known = trainer_kind(section).settings_class.model_fields
    if setting not in known:
        raise UnknownName(f"setting of {section}{where}", setting, known)
    return f"{section}.{setting}"


def _check_trusted(model: type[StrictModel], given: Mapping[str, Origin], vouch: Vouch) -> None:
    """Check what files set, by what the fields of `model` declare."""
    for key, origin in given.items():
        field = model.model_fields.get(key)  # an unknown one is refused when the model is made
        if field and origin.file and origin.value not in (None, field.get_default()):
            check_trusted(key, origin.value, declared(field.annotation, field.json_schema_extra), origin.file, vouch)


def _build(given: Mapping[str, Origin], vouch: Vouch) -> Config:
    """Return the configuration with the settings of its trainer only."""
    plain = {key: origin.value for key, origin in given.items() if "." not in key and origin.value is not None}
    trainer = str(plain.get("trainer") or default_trainer(str(plain.get("task", Config().task))))
    kind = trainer_kind(trainer)
    section = {key.partition(".")[2]: given[key] for key in given if key.startswith(f"{trainer}.")}
    _check_trusted(kind.settings_class, section, vouch)
    settings = {key: origin.value for key, origin in section.items()}
    if settings:
        kind.settings_class.read(trainer, settings, {key: origin.label for key, origin in section.items()})
    try:
        config = Config.model_validate({**plain, "trainer": trainer, "settings": settings})
    except ValidationError as error:
        raise BadConfiguration(refusal(error, given)) from None
    if config.resume and config.name:
        raise BadConfiguration(f"--name names a new run, but --resume continues {config.resume}: leave out one of them")
    if config.checkpoint != LAST and not config.resume:
        raise BadConfiguration(f"--checkpoint {config.checkpoint} is one of a run: name the run with --resume")
    if config.backend not in backend_names():
        raise UnknownName("backend", config.backend, backend_names())
    if not DEVICE.fullmatch(config.device):
        raise UnknownName("device", config.device, CHOICES.replace(" or", ",").split(", "))
    return config


def refusal(error: ValidationError, given: Mapping[str, Origin] | None = None) -> str:
    """Return what `Config` expected and what was given; a value without a source is from a flag."""
    flags = {key: f"--{key.replace('_', '-')}" for key in Config.model_fields}
    return explain(Config, error, flags | {key: origin.label for key, origin in (given or {}).items()})
