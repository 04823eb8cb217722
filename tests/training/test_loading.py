"""Loading the configuration from its sources, and the errors about values that do not fit."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import Field

from pac.backends import BACKENDS
from pac.envs import Names, PacError, UnknownName
from pac.envs.naming import REASONS, declared
from pac.envs.trust import Doubt, NotTrusted, accept
from pac.training.config import Config
from pac.training.loading import KEYS, NOT_RESUMED, BadConfiguration, effective_settings, load
from pac.training.settings import TrainerSettings, expected
from pac.training.trainers import BUILT_IN, TrainerKind, trainer_kind, trainer_names


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def refusal(**layers) -> str:
    layers.setdefault("environ", {})
    with pytest.raises(PacError) as caught:
        load(**layers)
    return str(caught.value)


def test_precedence(tmp_path):
    """A flag overrides a variable, which overrides the file, which overrides the default, which has no origin."""
    loaded = load(environ={})
    assert (loaded.config, loaded.origins) == (Config(trainer="ppo"), {})
    file = written(tmp_path / "a.yaml", "num_envs: 2\nseed: 2\nworkers: 2\n")
    environ = {"PAC_NUM_ENVS": "3", "PAC_SEED": "3"}
    loaded = load({"num_envs": 4}, file=file, environ=environ)
    assert (loaded.config.num_envs, loaded.config.seed, loaded.config.workers) == (4, 3, 2)
    labels = {key: origin.label for key, origin in loaded.origins.items()}
    assert labels == {"num_envs": "--num-envs", "seed": "PAC_SEED", "workers": f"workers in {file}"}


def test_aliases():
    """The TRAINING_ variables are accepted, and PAC_ variables override them. Others are not settings."""
    environ = {"TRAINING_NUM_ENVS": "5", "TRAINING_TRANSPORT": "inline", "TRAINING_GPU_INFERENCE": "false"}
    config = load(environ=environ).config
    assert (config.num_envs, config.backend, config.device) == (5, "inline", "cpu")
    assert load(environ={**environ, "PAC_NUM_ENVS": "6"}).config.num_envs == 6
    others = dict.fromkeys(("PAC_CACHE_DIR", "PAC_RUNTIME_DIR", "PAC_TOKEN", "TRAINING_DATA", "HOME"), "there")
    assert load(environ=others) == load(environ={})


def test_settings_from_every_layer(tmp_path):
    """A trainer's settings come from a section, a variable or a flag, with dashes or without."""
    file = written(tmp_path / "a.yaml", "ppo:\n  learning-rate: 1e-4\n  clip: 0.3\n  epochs: 2\n")
    loaded = load({"ppo.epochs": "5"}, file=file, environ={"PAC_PPO_CLIP": "0.1"})
    settings = effective_settings(loaded.config)
    assert (settings["learning_rate"], settings["clip"], settings["epochs"]) == (1e-4, 0.1, 5)


def test_the_default_trainer_is_that_of_the_task():
    """The default trainer of a Gymnasium environment is ppo, without loading it."""
    assert load({"task": "no_package.at_all:Env"}, environ={}).config.trainer == "ppo"
    assert load({"trainer": "random"}, environ={}).config.trainer == "random"


def test_settings_of_another_trainer(tmp_path):
    """The section of another trainer is checked and ignored."""
    file = written(tmp_path / "a.yaml", "trainer: random\nppo:\n  clip: 0.3\n")
    assert load(file=file, environ={}).config.settings == {}
    file = written(tmp_path / "b.yaml", "trainer: random\nppo:\n  clap: 0.3\n")
    assert "Did you mean clip?" in refusal(file=file)


def test_the_effective_configuration_is_a_file(tmp_path):
    """The effective configuration can be written as YAML and loaded again."""
    first = load({"num_envs": 4, "ppo.clip": "0.1"}, environ={}).config
    plain = first.model_dump(mode="json", exclude={"settings", "learn", "greedy"})
    file = written(tmp_path / "again.yaml", yaml.safe_dump({**plain, "ppo": effective_settings(first)}))
    again = load(file=file, environ={}).config
    assert effective_settings(again) == effective_settings(first)
    assert again.num_envs == 4


def test_a_resumed_run_keeps_its_configuration(tmp_path):
    """A resumed run keeps its configuration except for its limits, and flags override it."""
    folder = tmp_path / "first"
    (folder / "checkpoints").mkdir(parents=True)
    config = Config(task="drmario:level=2", trainer="ppo", num_envs=6, seconds=5, settings={"clip": 0.1})
    (folder / "run.json").write_text(json.dumps({"config": config.model_dump(mode="json")}))
    flags = {"resume": "first", "runs_dir": tmp_path, "num_envs": 3}
    loaded = load(flags, environ={}).config
    assert (loaded.task, loaded.num_envs, loaded.seconds) == ("drmario:level=2", 3, None)
    assert loaded.settings == {"clip": 0.1}
    assert load({**flags, "ppo.clip": "0.4"}, environ={}).config.settings == {"clip": "0.4"}
    del flags["num_envs"]
    assert load(flags, environ={}).config.num_envs == 6
    (folder / "run.json").write_text(json.dumps({"num_envs": 9, "config": config.model_dump(mode="json")}))
    assert load(flags, environ={}).config.num_envs == 9, "the last one"
    assert "--resume continues first" in refusal(flags={**flags, "name": "second"})


@pytest.mark.parametrize(
    ("text", "number"), [("500k", 500_000), ("2M", 2_000_000), ("1.5G", 1_500_000_000), ("1e6", 1_000_000), ("7", 7)]
)
def test_a_limit_may_have_a_unit(text, number):
    """As people write numbers of steps."""
    assert load({"steps": text}, environ={}).config.steps == number


@pytest.mark.parametrize(
    ("flags", "parts"),
    [
        ({"num_envs": "0"}, ["--num-envs", "from 1 to 1,000,000", "'0'"]),
        ({"num_envs": "10000000"}, ["--num-envs", "from 1 to 1,000,000"]),
        ({"num_envs": "many"}, ["a whole number", "'many'"]),
        ({"seconds": "-1"}, ["--seconds expects a number above 0"]),
        ({"steps": "0"}, ["--steps expects a whole number of at least 1"]),
        ({"steps": "0.0005k"}, ["--steps expects a whole number of at least 1, got '0.0005k'"]),
        ({"strict": "perhaps"}, ["--strict expects true or false"]),
        ({"trainer": "pppo"}, ["unknown trainer 'pppo'", "Did you mean ppo?"]),
        ({"backend": "shmem"}, ["unknown backend 'shmem'", "Did you mean shm?"]),
        ({"device": "gpu"}, ["unknown device 'gpu'", "cuda:K"]),
        ({"num_env": "4"}, ["unknown key 'num_env'", "Did you mean num_envs?"]),
        ({"ppo.learning_rat": "1"}, ["setting of ppo", "Did you mean learning_rate?"]),
        ({"td3.clip": "1"}, ["unknown trainer 'td3'"]),
        ({"ppo.max_grad_norm": "wide"}, ["--ppo.max-grad-norm expects a number above 0, got 'wide'"]),
        ({"ppo.epochs": True}, ["ppo.epochs expects a whole number from 1 to 1,000, got True"]),
        ({"ppo.learning_rate": "fast"}, ["--ppo.learning-rate expects a number of at least 0", "'fast'"]),
        ({"ppo.learning_rate": "-1"}, ["--ppo.learning-rate", "at least 0", "'-1'"]),
        ({"ppo.learning_rate": "nan"}, ["--ppo.learning-rate", "'nan'"]),
        ({"ppo.learning_rate": "9:1e-4,0:3e-4"}, ["--ppo.learning-rate", "increasing decisions"]),
        ({"ppo.learning_rate": "0:3e-4,late:1e-4"}, ["--ppo.learning-rate", "points"]),
        ({"ppo.max_grad_norm": "inf"}, ["--ppo.max-grad-norm expects a finite number above 0, got 'inf'"]),
        ({"ppo.batch": "8"}, ["ppo: minibatch", "must not exceed batch 8"]),
        ({"resume": "gone"}, ["unknown run 'gone'"]),
        ({"resume": ""}, ["--resume expects the name or folder of a run, got ''"]),
        (
            {"name": "../up"},
            ["--name expects the name of a folder, without a slash or unprintable characters, got '../up'"],
        ),
        ({"name": ".."}, ["--name expects the name of a folder"]),
        ({"name": ""}, ["--name expects the name of a folder"]),
    ],
)
def test_flags_that_do_not_fit(flags, parts, tmp_path):
    """The error about a flag is one line with what was expected and what was given."""
    text = refusal(flags={"runs_dir": tmp_path, **flags})
    assert "\n" not in text
    assert all(part in text for part in parts)


def test_variables_that_do_not_fit(tmp_path):
    """The error contains the variable's name, and for an unknown one the nearest known name; or it names the file."""
    assert refusal(environ={"PAC_NUM_ENVS": "0"}).startswith("PAC_NUM_ENVS expects a whole number")
    assert "Did you mean PAC_NUM_ENVS?" in refusal(environ={"PAC_NUMENVS": "4"})
    assert "Did you mean learning_rate?" in refusal(environ={"PAC_PPO_LEARNINGRATE": "4"})
    assert "PAC_PPO_MAX_GRAD_NORM expects" in refusal(environ={"PAC_PPO_MAX_GRAD_NORM": "0"})
    file = written(tmp_path / "a.yaml", "ppo:\n  max_grad_norm: wide\n")
    assert f"ppo.max_grad_norm in {file} expects a number above 0, got 'wide'" in refusal(file=file)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("num_envs: [", ["not valid YAML in line 1"]),
        ("- 1\n- 2\n", ["key: value", "list"]),
        ("seed: 1\nnum_envs: 2\nseed: 3\n", ["in line 3, column 1", "the key seed occurs twice"]),
        ("ppo:\n  clip: 0.1\n  clip: 0.2\n", ["in line 3, column 3", "the key clip occurs twice"]),
        ("num-envs: 1\nnum_envs: 2\n", ["num_envs occurs twice"]),
        ("ppo: {target-kl: 0.1, target_kl: 0.2}\n", ["ppo.target_kl occurs twice"]),
        ("num_env: 3\n", ["unknown key in", "'num_env'", "Did you mean num_envs?"]),
        ("num_envs: 0\n", ["num_envs in", "expects a whole number from 1"]),
        ("num_envs: yes\n", ["num_envs in", "expects a whole number from 1", "True"]),
        ("ppo: 3\n", ["ppo expects a section"]),
        ("learning_rate: 3\n", ["unknown key", "ppo.learning_rate"]),
    ],
)
def test_files_that_do_not_fit(text, parts, tmp_path):
    """The error about a file contains its path, the place and what was expected."""
    error = refusal(file=written(tmp_path / "a.yaml", text))
    assert "\n" not in error
    assert "a.yaml" in error
    assert all(part in error for part in parts)


BILLION = "\n".join(
    ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    + [f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 9)}]" for k in range(1, 30)]
    + ["num_envs: *a29"]
)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("task: " + "[" * 5_000, "nested too deeply", marks=pytest.mark.thorough),  # PyYAML takes 2 s
        ("task: " + "[" * 90 + "]" * 90, "nested more than 64 deep"),
        ("num_envs: " + "9" * 9000, "not valid YAML"),
        ("num_envs: 0x" + "f" * 9000, "more than 100 digits"),
        ("num_envs: 2001-99-99", "not valid YAML"),
        ("num_envs: !!bool maybe", "not valid YAML"),
        ("task: &a [*a]", "nested more than 64 deep"),
        (BILLION, "unknown key"),
        (f"num_envs: &x {[[1] * 50] * 50}", "a whole number"),
        ("task: " + "x" * 300_000, "larger than 262,144 bytes"),
    ],
    ids=range(10),
)
def test_malicious_files(text, reason, tmp_path):
    """Deep nesting, huge numbers and repetition are quick errors with the path of the file."""
    error = refusal(file=written(tmp_path / "a.yaml", text))
    assert "a.yaml" in error
    assert reason in error
    assert len(error) < 2000


def test_files_that_cannot_be_read(tmp_path):
    """The error says whether the path is a device, which has no end, a directory, is missing or is not text."""
    assert "it is a device" in refusal(file=Path("/dev/zero"))
    assert "is a directory" in refusal(file=tmp_path)
    assert "No such file" in refusal(file=tmp_path / "missing.yaml")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    assert "UTF-8" in refusal(file=tmp_path / "bytes.yaml")


def test_errors_are_bad_usage(tmp_path):
    """An unknown name is UnknownName, a value that does not fit BadConfiguration; an empty file changes nothing."""
    assert load(file=written(tmp_path / "a.yaml", ""), environ={}).config == load(environ={}).config
    with pytest.raises(UnknownName):
        load({"trainer": "x"}, environ={})
    with pytest.raises(BadConfiguration):
        load({"seed": "x"}, environ={})


def test_every_field_describes_its_values():
    """The description of `backend` is written by hand, so that the command line does not import the backends."""
    assert all(expected(Config, name) for name in Config.model_fields if name != "settings")
    description = Config.model_fields["backend"].description or ""
    assert all(name in description for name in BACKENDS)


FOREIGN = "some_module:SomeEnv"


def a_run(folder: Path, config: dict[str, Any]) -> Path:
    folder.mkdir()
    (folder / "run.json").write_text(json.dumps({"config": config}))
    return folder


def foreign_run(folder: Path) -> Path:
    return a_run(folder, {"task": FOREIGN, "trainer": "ppo"})


def test_a_task_in_a_file_needs_trust(tmp_path):
    """From a configuration or a run; the question contains the task and the file."""
    file = written(tmp_path / "a.yaml", f"task: {FOREIGN}\n")
    run, asked = foreign_run(tmp_path / "run"), []

    def vouch(doubt: Doubt, file: str) -> bool:
        asked.append((str(doubt), file))
        return True

    for layers in ({"file": file}, {"flags": {"resume": str(run)}}):
        with pytest.raises(NotTrusted, match="Add --trust"):
            load(**layers, environ={})
        assert load(**layers, environ={}, vouch=vouch).config.task == FOREIGN
    assert [file for _, file in asked] == [str(file), str(run / "run.json")]
    assert all(named.startswith(f"the task {FOREIGN!r}, ") for named, _ in asked)


def test_a_task_that_the_user_names_needs_no_trust(tmp_path, monkeypatch):
    """From a flag or a variable; the task of a run that a file resumes does."""
    monkeypatch.chdir(tmp_path)
    run = foreign_run(tmp_path / "run")
    assert load({"resume": str(run), "task": FOREIGN}, environ={}).config.task == FOREIGN
    assert load({"resume": str(run)}, environ={"PAC_TASK": FOREIGN}).config.task == FOREIGN
    with pytest.raises(NotTrusted, match=r"run\.json names the task 'some_module:SomeEnv'"):
        load(file=written(tmp_path / "a.yaml", f"resume: {run}\n"), environ={})


FIELDS = {key: Config.model_fields[key] for key in KEYS} | {
    f"{name}.{key}": field
    for name in trainer_names()
    for key, field in trainer_kind(name).settings_class.model_fields.items()
}
"""All options that a file can set, with their declarations, by the key of a configuration file."""


def test_every_option_declares_what_its_text_names():
    """An option that is added later is declared, too, in all trainers that are installed."""
    found = {key: declared(field.annotation, field.json_schema_extra) for key, field in FIELDS.items()}
    assert [key for key, names in found.items() if names is Names.ANYTHING] == []
    assert {key: names for key, names in found.items() if REASONS[names]} == {
        "task": Names.TASK,
        "wrap": Names.WRAPPERS,
        "ray_address": Names.SERVER,
        "runs_dir": Names.FOLDER,
        "on_finding": Names.COMMAND,
        "on_end": Names.COMMAND,
        "resume": Names.FOLDER,
        "workers": Names.PROCESSES,
        **{f"{name}.threads": Names.PROCESSES for name in ("ppo", "dqn", "iqn", "sac", "independent")},
    }


@pytest.mark.parametrize(
    "key", [pytest.param(key, marks=[pytest.mark.thorough] if "." in key else []) for key in FIELDS]
)
def test_a_file_needs_trust_for_what_its_options_name(key, tmp_path):
    """What a run or a configuration names is refused before it is used; flags and variables are not."""
    section, dot, setting = key.partition(".")
    names = declared(FIELDS[key].annotation, FIELDS[key].json_schema_extra)
    value = 2000 if names is Names.PROCESSES else "/some:thing"
    config = {"trainer": section, "settings": {setting: value}} if dot else {"trainer": "random", key: value}
    run = a_run(tmp_path / "run", config)
    file = written(
        tmp_path / "a.yaml", yaml.safe_dump({"trainer": section, section: {setting: value}} if dot else config)
    )
    doubted = bool(REASONS[names])
    assert refused(file=file) == doubted
    assert refused({"resume": str(run)}) == (doubted and key not in NOT_RESUMED)
    assert not refused({key: value})


def refused(flags: dict[str, Any] | None = None, **layers: Any) -> bool:
    """Return whether a configuration is not trusted; it may be wrong otherwise."""
    try:
        load(flags, environ={}, **layers)
    except NotTrusted:
        return True
    except PacError:
        pass
    return False


def test_an_option_of_a_package_needs_trust_unless_it_declares_that_it_names_nothing(tmp_path, monkeypatch):
    """A trainer whose settings name a file of weights does not open it, unless somebody vouches for the file."""

    class Settings(TrainerSettings):
        weights: str = "none"
        color: str = Field("red", json_schema_extra={"names": "nothing"})

    kind = replace(BUILT_IN["random"], name="pretrained", settings="pac.training.settings:TrainerSettings")
    monkeypatch.setattr(TrainerKind, "settings_class", property(lambda _: Settings))
    monkeypatch.setitem(BUILT_IN, "pretrained", kind)
    file = written(tmp_path / "a.yaml", "trainer: pretrained\npretrained: {weights: w.pt, color: blue}\n")
    with pytest.raises(NotTrusted, match=r"names the weights 'w\.pt'"):
        load(file=file, environ={})
    assert load(file=file, environ={}, vouch=accept).config.settings == {"weights": "w.pt", "color": "blue"}
    file = written(tmp_path / "a.yaml", "trainer: pretrained\npretrained: {weights: none, color: blue}\n")
    assert load(file=file, environ={}).config.settings["color"] == "blue"


def test_no_file_can_say_that_it_is_trusted(tmp_path):
    """Trust is neither a key of the configuration nor a variable."""
    assert "unknown key" in refusal(file=written(tmp_path / "a.yaml", "task: a:B\ntrust: true\n"))
    assert "unknown environment variable" in refusal(environ={"PAC_TRUST": "1"})
    run = foreign_run(tmp_path / "run")
    (run / "run.json").write_text(json.dumps({"config": {"task": FOREIGN, "trust": True}, "trust": True}))
    with pytest.raises(NotTrusted):
        load({"resume": str(run)}, environ={})
    assert load({"resume": str(run)}, environ={}, vouch=accept).config.task == FOREIGN
